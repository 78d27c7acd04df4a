"""The sketch of a large project: its packages first, then the files of each package, side by side."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import ModelError, ReplayMiss
from engine.models.base import Answer, Message
from engine.prompts import render
from nodes.outline import asked_sections, tellings
from nodes.packages import ROOT, Packages, part_schema, part_shape_faults, plan_faults, plan_schema
from nodes.shortening import Shortening
from nodes.sketch import Draft, check_json, read_answer
from nodes.sketch_checks import Check
from nodes.submission import attempt, no_answer, sent_back

_PROMPTS = Path(__file__).parent / "prompts"
_FILE_PLACE = re.compile(r"files\[(\d+)\]")


@dataclass
class Hierarchy:
    """One architect's way to the sketch of a large project.

    slots     what its prompts say besides the document
    attempts  what it tried, as candidates record it: the plan's tries, then the rounds over the packages
    """

    document: Mapping[str, Any]
    slots: Mapping[str, str]
    references: str
    ctx: Context
    attempts: list[dict[str, Any]] = field(default_factory=list)

    async def plan(self, tries: int) -> Draft:
        """The packages of the project: the last draft of their plan, the valid one if any is. Raises ModelError."""
        conversation = Shortening(self._plan_questions(), self.ctx)
        draft, turns = Draft(None, ()), list[Message]()
        for number in range(1, tries + 1):
            send = partial(self.ctx.ask, schema=plan_schema(), step=f"packages {number}")
            answer = await conversation.ask(send, turns)
            draft = read_answer(answer, partial(plan_faults, requirements=self.document["text"]))
            self.attempts.append(attempt([answer], draft))
            if draft.valid:
                break
            turns = sent_back(answer, draft.checks)
        return draft

    async def _plan_questions(self) -> AsyncIterator[list[Message]]:
        references = self.references
        async for text in tellings(self.document, self.ctx, asked_sections(self.ctx)):
            for one in dict.fromkeys((references, "")):
                yield render(_PROMPTS / "packages.md", document=text, references=one, **self.slots)
            references = ""

    async def sketch(self, packages: Packages, rounds: int) -> Draft:
        """The sketch that the packages make; those that fail are asked again, the others are not."""
        parts = {one["name"]: _Part(self, packages, one) for one in packages.entries}
        draft, waiting = Draft(None, ()), list(parts)
        for number in range(1, rounds + 1):
            found = await asyncio.gather(*(parts[name].ask(number) for name in waiting), return_exceptions=True)
            for error in filter(None, found):  # raised only now, when none is left running
                raise error
            draft = self._joined(packages, parts)
            self.attempts.append(attempt([one for name in waiting if (one := parts[name].answer)], draft))
            waiting = [name for name in parts if parts[name].draft.checks]
            if not waiting:
                break
        return draft

    def _joined(self, packages: Packages, parts: Mapping[str, _Part]) -> Draft:
        """What the parts make together. A check that only the whole fails is handed to the package that it is about."""
        checks = [_in_package(name, check) for name, part in parts.items() for check in part.draft.checks]
        if any(part.draft.sketch is None or part.shapeless for part in parts.values()):
            return Draft(None, tuple(checks))
        sketch = packages.joined({name: part.draft.sketch or {} for name, part in parts.items()})
        if not checks:
            for check in check_json(sketch, self.document["text"]):
                found = _FILE_PLACE.match(check.place)
                path = sketch["files"][int(found[1])]["path"] if found else ""
                part = parts[packages.package_of(path) or next(iter(parts))]
                part.draft = Draft(part.draft.sketch, (*part.draft.checks, Check(check.code, "", check.message)))
                checks.append(check)
        return Draft(sketch, tuple(checks))


@dataclass
class _Part:
    """One package's files, as far as they are there."""

    whole: Hierarchy
    packages: Packages
    entry: Mapping[str, Any]
    draft: Draft = field(default_factory=lambda: Draft(None, ()))
    answer: Answer | None = None
    turns: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.conversation = Shortening(self._questions(), self.whole.ctx)

    @property
    def shapeless(self) -> bool:
        return any(one.code == "schema" for one in self.draft.checks)

    async def ask(self, number: int) -> None:
        """Ask for the files, with what the last answer failed. A model that cannot be asked is a failed check."""
        ctx, self.turns = self.whole.ctx, sent_back(self.answer, self.draft.checks) if self.answer else []
        place = [one["name"] for one in self.packages.entries].index(self.entry["name"]) + 1
        send = partial(ctx.ask, schema=part_schema(), step=f"package {place} draft {number}")
        try:
            self.answer = await self.conversation.ask(send, self.turns)
        except ReplayMiss:
            raise
        except ModelError as error:
            self.answer, self.draft = None, no_answer(error)
            return
        self.draft = read_answer(self.answer, self._faults)

    def _faults(self, data: Any) -> list[Check]:
        return part_shape_faults(data) or list(self.packages.part_faults(self.entry["name"], data))

    async def _questions(self) -> AsyncIterator[list[Message]]:
        slots = {name: self.whole.slots[name] for name in ("seat", "preference")}
        folders = [
            one if one != ROOT else "the root and all folders of no other package" for one in self.entry["folders"]
        ]
        wanted: Sequence[str] = self.entry["implements"]

        async def implemented(_: str) -> Sequence[str]:
            return wanted

        async for text in tellings(self.whole.document, self.whole.ctx, implemented):
            yield render(
                _PROMPTS / "package.md",
                document=text,
                plan=self.packages.text(),
                name=self.entry["name"],
                folders=", ".join(folders),
                **slots,
            )


def _in_package(name: str, check: Check) -> Check:
    return Check(check.code, check.place, f"package '{name[:60]}': {check.message}")
