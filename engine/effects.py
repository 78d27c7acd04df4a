"""The effects of a run: model calls, sandbox runs and retrievals, each through the journal, told as an event."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.budget import Budget
from engine.errors import Stopped
from engine.events import EventLog
from engine.journal import CONCLUSION, Journal, Totals
from engine.models.base import Answer, Decoding, Model, Request
from engine.models.tokens import estimate_messages
from engine.places import read_place
from engine.sandbox.base import Limits, Sandbox, SandboxResult
from engine.workspace import Workspace


@dataclass(frozen=True)
class Conclusion:
    """How a run ended, as its last node says: whether the goal was reached, why it ended, lines to show, and figures.

    figures  by name, for comparing runs: numbers, or lists and mappings of numbers
    """

    ok: bool
    reason: str
    summary: Mapping[str, str]
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RoleModel:
    """Which model answers for a role, and how."""

    model: Model
    decoding: Decoding
    max_input_tokens: int


@dataclass
class Effects:
    """What a run's nodes share.

    folder    the run's folder
    models    by role, with an entry "default"
    reruns    by node, how often its work was asked for anew
    approvals  what the user approved: node and visit
    stopping  set when the user asks to stop
    """

    folder: Path
    journal: Journal
    budget: Budget
    events: EventLog
    models: Mapping[str, RoleModel]
    sandbox: Sandbox
    limits: Limits
    reruns: Mapping[str, int] = field(default_factory=dict)
    approvals: Sequence[Mapping[str, Any]] = ()
    requirements: tuple[str, ...] = ()
    stopping: bool = False
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _installing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _missing: Mapping[str, str] | None = None
    reused: int = 0

    @cached_property
    def workspace(self) -> Workspace:
        """The run's Git repository; made on first use."""
        path = self.folder / "repo"
        return Workspace.open(path) if path.exists() else Workspace.create(path)

    def stop(self) -> None:
        """Make no further call. One that only waits for a person is given up."""
        self.stopping = True
        self._stop.set()

    def approved(self, node: str, visit: int) -> bool:
        """Whether the user approved this visit of a node."""
        return any((one["node"], one["visit"]) == (node, visit) for one in self.approvals)

    def role(self, name: str) -> RoleModel:
        """The model of a role, or the default one."""
        return self.models.get(name, self.models["default"])

    async def ask(self, request: Request, role: str) -> Answer:
        """One answer for a role, from the journal or the role's model."""
        model = self.role(role).model
        node = read_place(request.place).node

        async def perform() -> dict[str, Any]:
            self._go_on()
            with self.budget.call(node, _most_tokens(request)):
                return asdict(await self._answer(request, model))

        effect = await self.journal.effect("model", request.place, request.to_json(), perform, role)
        answer = Answer(**effect.result)
        if not effect.counted:
            self.budget.settle(node, Totals(1, answer.input_tokens + answer.output_tokens, answer.cost or 0.0))
        self.reused += effect.reused
        self.events.emit(
            "answer",
            place=request.place,
            role=role,
            reused=effect.reused,
            model=answer.model,
            finish_reason=answer.finish_reason,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cached_tokens=answer.cached_tokens,
            estimated=answer.estimated,
            cost=answer.cost,
            drifted=answer.drifted,
        )
        return answer

    async def item(
        self, place: str, request: Mapping[str, Any], perform: Callable[[], Awaitable[dict[str, Any]]]
    ) -> tuple[dict[str, Any], bool]:
        """What a map item gives back, from the journal or by doing it, and whether it was there."""
        effect = await self.journal.effect("item", place, request, perform)
        if effect.reused:
            calls, fresh = self.journal.use_place(place)
            self.reused += calls
            if fresh.count:
                self.budget.settle(read_place(place).node, fresh)
        return effect.result, effect.reused

    async def run(
        self, place: str, command: Sequence[str], files: Mapping[str, bytes], collect: Sequence[str], limits: Limits
    ) -> SandboxResult:
        """One sandbox run, from the journal or the sandbox."""
        request = {
            "command": list(command),
            "files": {path: hashlib.sha256(files[path]).hexdigest() for path in sorted(files)},
            "collect": sorted(collect),
            "limits": asdict(limits),
            "requirements": list(self.requirements),
            "sandbox": self.sandbox.name,
        }

        async def perform() -> dict[str, Any]:
            self._go_on()
            return _pack(await self.sandbox.run(command, files, limits=limits, collect=collect))

        effect = await self.journal.effect("sandbox", place, request, perform)
        result = _unpack(effect.result)
        self.events.emit(
            "sandbox",
            place=place,
            reused=effect.reused,
            ended=result.ended,
            exit_code=result.exit_code,
            seconds=result.duration,
        )
        return result

    async def retrieve(
        self, place: str, request: Mapping[str, Any], perform: Callable[[], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """What a search found, from the journal or by searching."""

        async def search() -> dict[str, Any]:
            self._go_on()
            return await perform()

        effect = await self.journal.effect("retrieval", place, request, search)
        self.events.emit("retrieval", place=place, reused=effect.reused)
        return effect.result

    async def require(self, requirements: Sequence[str]) -> Mapping[str, str]:
        """Switch the sandbox to an environment with these requirements; returns what could not be installed."""
        wanted = tuple(sorted(requirements))
        async with self._installing:  # the items of a map ask for the same at the same time
            if self._missing is None or wanted != self.requirements:
                self.requirements, self._missing = wanted, await self.sandbox.use(wanted)
                for name, reason in self._missing.items():
                    self.events.emit("requirement failed", name=name, reason=reason)
            return self._missing

    @property
    def conclusion(self) -> Conclusion | None:
        """What a node said about the run's end; kept in the journal, so that a stop right after it loses nothing."""
        kept = self.journal.meta(CONCLUSION)
        if not kept:
            return None
        ok, reason, summary, *figures = self.journal.get(kept)
        return Conclusion(ok, reason, dict(summary), dict(*figures))

    @conclusion.setter
    def conclusion(self, conclusion: Conclusion | None) -> None:
        told: list[Any] = []
        if conclusion is not None:
            lists = [list(one.items()) for one in (conclusion.summary, conclusion.figures)]
            told = [conclusion.ok, conclusion.reason, *lists]
        self.journal.set_meta(CONCLUSION, self.journal.put(told) if told else "")

    async def _answer(self, request: Request, model: Model) -> Answer:
        if not getattr(model, "waits_for_people", False):
            return await model.answer(request)
        answer, stop = asyncio.ensure_future(model.answer(request)), asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((answer, stop), return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise Stopped("stopped while waiting for an answer")
        finally:
            answer.cancel()
            stop.cancel()

    def _go_on(self) -> None:
        if self.stopping:
            raise Stopped("stopped before the next call")


def _most_tokens(request: Request) -> int:
    """The most that a request can take: what is asked, as estimated on every machine alike, and the whole answer."""
    return estimate_messages(request.messages) + request.decoding.max_output_tokens


def _pack(result: SandboxResult) -> dict[str, Any]:
    files = {path: base64.b64encode(content).decode() for path, content in result.files.items()}
    return {**asdict(result), "files": files}


def _unpack(data: Mapping[str, Any]) -> SandboxResult:
    files = {path: base64.b64decode(content) for path, content in data["files"].items()}
    return SandboxResult(**{**data, "files": files})
