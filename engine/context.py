"""What a node may do beyond computing: ask a model, run a command, search, touch the repository, tell what happened.

Model calls, commands and searches go through the journal, so a node that is run again after a stop gets the recorded
results at once. Work in the repository is repeatable by itself: the same content gives the same commit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.effects import Conclusion, Effects
from engine.models.base import Answer, Message, Request
from engine.models.conversation import complete_json, complete_text
from engine.places import Place
from engine.sandbox.base import SandboxResult
from engine.workspace import Workspace


@dataclass(frozen=True)
class Context:
    """Handed to every node call.

    node, item, visit  which node, which item of its map (None outside a map), which visit of the node (from 1)
    params    the declared parameters, nested as in the flow
    upstream  in a map: what the items in `after` returned, by key; an item that failed is missing
    seed      of the run; anything drawn by chance is drawn from it
    ended     why the run is being brought to its end before the flow's own end, or None
    """

    node: str
    item: str | None
    visit: int
    params: Mapping[str, Any]
    upstream: Mapping[str, Mapping[str, Any]]
    seed: int
    role: str
    ended: str | None
    effects: Effects

    @property
    def workspace(self) -> Workspace:
        """The run's Git repository."""
        return self.effects.workspace

    @property
    def max_input_tokens(self) -> int:
        """How much the node's own model reads."""
        return self.effects.role(self.role).max_input_tokens

    @property
    def time_limit(self) -> float:
        """The seconds that one command may take in the sandbox."""
        return self.effects.limits.timeout

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        step: str = "",
        role: str | None = None,
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
    ) -> Answer:
        """A text answer; one that was cut off is continued and joined.

        `step` names this call among the node's others in records ("claim"). `schema` asks for JSON of that shape
        without checking it. Raises ModelError.
        """
        role = role or self.role
        request = self._request(messages, step, role, schema, sample)
        return await complete_text(lambda one: self.effects.ask(one, role), request)

    async def ask_json(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        step: str = "",
        role: str | None = None,
        sample: int = 0,
    ) -> Any:
        """An answer that satisfies `schema`; one re-ask carries what was wrong. Raises AnswerError, ModelError."""
        role = role or self.role
        request = self._request(messages, step, role, schema, sample)
        data, _ = await complete_json(lambda one: self.effects.ask(one, role), request)
        return data

    async def run(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        collect: Sequence[str] = (),
        seconds: float | None = None,
    ) -> SandboxResult:
        """Run a command over files in the run's sandbox, for the flow's time limit or `seconds`."""
        limits = self.effects.limits if seconds is None else replace(self.effects.limits, timeout=seconds)
        return await self.effects.run(self._place(""), command, files, collect, limits)

    async def retrieve(
        self, request: Mapping[str, Any], perform: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """What `perform` finds: plain data. `request` is all that it depends on, with a digest of what is searched."""
        return await self.effects.retrieve(self._place(""), request, perform)

    async def require(self, requirements: Sequence[str]) -> Mapping[str, str]:
        """Install requirement specifiers for later `run` calls, from wheels only; returns what failed, and why."""
        return await self.effects.require(requirements)

    def event(self, kind: str, **data: Any) -> None:
        """One line in events.jsonl and, where it matters, on the terminal."""
        self.effects.events.emit(kind, place=self._place(""), **data)

    def report(self, name: str, text: str) -> str:
        """Write a report for the user beside the repository, in the run's folder; returns where it is."""
        path = self.effects.folder / name
        path.write_text(text, encoding="utf-8", errors="replace")
        return str(path)

    def conclude(
        self, ok: bool, reason: str, summary: Mapping[str, str], figures: Mapping[str, Any] | None = None
    ) -> None:
        """Say how the run ended: for the record, the terminal, the exit code, and for comparing runs."""
        self.effects.conclusion = Conclusion(ok, reason, dict(summary), dict(figures or {}))

    def _request(
        self,
        messages: Sequence[Message],
        step: str,
        role: str,
        schema: Mapping[str, Any] | None,
        sample: int,
    ) -> Request:
        model = self.effects.role(role)
        return Request(self._place(step), model.model.name, tuple(messages), model.decoding, schema, sample)

    def _place(self, step: str) -> str:
        return str(Place(self.node, self.visit, self.item, step, self.effects.reruns.get(self.node, 0)))
