"""A node's context for tests: what `engine.context.Context` offers, over a scripted model and without a journal."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.effects import Conclusion
from engine.models.base import Answer, Decoding, Message, Request
from engine.models.conversation import complete_json, complete_text
from engine.models.scripted import Script, ScriptedModel
from engine.node import NodeFunction
from engine.sandbox.base import SandboxResult
from engine.workspace import Workspace

Commands = Callable[[Sequence[str], Mapping[str, bytes]], SandboxResult]


def run_node(function: NodeFunction, inputs: Mapping[str, Any], context: FakeContext) -> dict[str, Any]:
    """What a node returns, or raises."""

    async def call() -> dict[str, Any]:
        return await function(inputs, context.as_context())

    return asyncio.run(call())


@dataclass
class FakeContext:
    """Pass it where a node wants its context: `run_node(function, inputs, FakeContext(script, params={...}))`.

    script       a function of the request, or a list of answers (text, Answer or an exception to raise)
    commands     what a sandbox run gives back; without it a run is an error of the test
    events       (kind, data) of every event; `requests` is what the model was asked; `conclusions` as the node said
    """

    script: Script = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    upstream: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    node: str = "node"
    item: str | None = None
    visit: int = 1
    seed: int = 0
    role: str = "default"
    ended: str | None = None
    max_input_tokens: int = 128_000
    time_limit: float = 30.0
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="flowrun-test-")))
    commands: Commands | None = None
    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    conclusions: list[Conclusion] = field(default_factory=list)
    required: list[str] = field(default_factory=list)
    retrievals: list[Mapping[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = ScriptedModel(self.script)

    @property
    def requests(self) -> list[Request]:
        return self.model.requests

    @property
    def workspace(self) -> Workspace:
        path = self.folder / "repo"
        return Workspace.open(path) if path.exists() else Workspace.create(path)

    def as_context(self) -> Any:
        """Itself, for callables that are typed to take a Context."""
        return self

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        step: str = "",
        role: str | None = None,
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
    ) -> Answer:
        return await complete_text(self.model.answer, self._request(messages, step, schema, sample))

    async def ask_json(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        step: str = "",
        role: str | None = None,
        sample: int = 0,
    ) -> Any:
        data, _ = await complete_json(self.model.answer, self._request(messages, step, schema, sample))
        return data

    async def run(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        collect: Sequence[str] = (),
        seconds: float | None = None,
    ) -> SandboxResult:
        assert self.commands is not None, f"this test has no sandbox, but {list(command)} was run"
        return self.commands(command, files)

    async def retrieve(
        self, request: Mapping[str, Any], perform: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        self.retrievals.append(request)
        return await perform()

    async def require(self, requirements: Sequence[str]) -> Mapping[str, str]:
        self.required += requirements
        return {}

    def event(self, kind: str, **data: Any) -> None:
        self.events.append((kind, data))

    def report(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def conclude(
        self, ok: bool, reason: str, summary: Mapping[str, str], figures: Mapping[str, Any] | None = None
    ) -> None:
        self.conclusions.append(Conclusion(ok, reason, dict(summary), dict(figures or {})))

    def _request(
        self, messages: Sequence[Message], step: str, schema: Mapping[str, Any] | None, sample: int
    ) -> Request:
        item = "" if self.item is None else f"/{self.item}"
        place = f"{self.node}{item}#{self.visit}" + (f":{step}" if step else "")
        return Request(place, self.model.name, tuple(messages), Decoding(), schema, sample)
