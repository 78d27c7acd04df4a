"""Architects compete (CodeTeam, 3.2.3): each in turn claims modules and an intent, then all draft at once."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import InputError, ModelError, ReplayMiss
from engine.models.base import Message
from engine.node import node
from engine.prompts import render
from engine.resources import schema_file
from nodes.hierarchy import Hierarchy
from nodes.outline import asked_sections, tellings
from nodes.packages import Packages, expected_files
from nodes.shortening import Shortening
from nodes.sketch import Draft, check_json, read_answer, sketch_schema
from nodes.submission import attempt, check_line, no_answer, sent_back, submission

_PROMPTS = Path(__file__).parent / "prompts"


@node(reads=("document",), writes=("claims",), params=("preferences",), role="architect", calls=1)
async def claim_modules(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """What one architect claims, knowing what those before it claimed: module names and an intent, no sketch."""
    seat, preference = inputs["seat"], preference_of(inputs["seat"], ctx)
    earlier = claims_text([one["claims"] for one in ctx.upstream.values() if "claims" in one])

    async def questions() -> AsyncIterator[list[Message]]:
        async for text in tellings(inputs["document"], ctx):
            slots = {"document": text, "claims": earlier, "seat": str(seat), "preference": preference}
            yield render(_PROMPTS / "claim.md", **slots)

    answer = await Shortening(questions(), ctx).ask(partial(ctx.ask_json, schema=_claim_schema(), step="claim"))
    modules = [" ".join(one.split())[:60] for one in answer["modules"]][:12]
    intent = " ".join(answer["intent"].split())[:300]
    return {"claims": {"seat": seat, "preference": preference, "modules": modules, "intent": intent}}


@node(
    reads=("document", "claims"),
    optional=("references",),
    writes=("candidates",),
    params=("preferences", "self_check", "hierarchical_over"),
    role="architect",
    calls=1,
)
async def draft_sketch(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """One architect's candidate: a sketch, checked, and drafted again at most `self_check` times, seeing failed checks.

    A project of more than `hierarchical_over` files is drafted package by package. A model that cannot be asked is a
    failed check too: one architect that fails does not end planning.
    """
    architect = _Architect(inputs, ctx)
    try:
        draft = await architect.draft()
    except ReplayMiss:
        raise
    except ModelError as error:
        draft = Draft(architect.last.sketch, no_answer(error).checks)
        architect.attempts.append(attempt([], draft))
    if not draft.valid:
        ctx.event("note", text=f"seat {architect.seat} has no valid sketch: {check_line(draft.checks[0])}"[:300])
    return {"candidates": submission(architect.seat, architect.preference, draft, architect.attempts)}


class _Architect:
    def __init__(self, inputs: Mapping[str, Any], ctx: Context) -> None:
        self.ctx, self.document, self.seat = ctx, inputs["document"], inputs["seat"]
        self.preference = preference_of(self.seat, ctx)
        self.references = _references_text(inputs.get("references"))
        self.attempts: list[dict[str, Any]] = []
        self.last = Draft(None, ())
        self.tries, self.over = ctx.params["self_check"] + 1, ctx.params["hierarchical_over"]
        self.slots = {
            "claims": claims_text(inputs["claims"]),
            "seat": str(self.seat),
            "preference": self.preference,
            "own": claims_text([one for one in inputs["claims"] if one["seat"] == self.seat]),
        }

    async def draft(self) -> Draft:
        """The last draft: the valid one if any is."""
        large = expected_files(self.document) > self.over
        return await (self._by_packages() if large else self._whole())

    async def _whole(self) -> Draft:
        conversation = Shortening(self._questions(), self.ctx)
        turns: list[Message] = []
        for number in range(1, self.tries + 1):
            send = partial(self.ctx.ask, schema=sketch_schema(), step=f"draft {number}")
            answer = await conversation.ask(send, turns)
            self.last = read_answer(answer, partial(check_json, requirements=self.document["text"]))
            self.attempts.append(attempt([answer], self.last))
            if self.last.valid or number == self.tries:
                break
            if answer.finish_reason == "length" or _listed(self.last) > self.over:
                return await self._by_packages()
            turns += sent_back(answer, self.last.checks)
        return self.last

    async def _by_packages(self) -> Draft:
        slots = {**self.slots, "over": str(self.over)}
        hierarchy = Hierarchy(self.document, slots, self.references, self.ctx, self.attempts)
        plan = await hierarchy.plan(self.tries)
        if not plan.valid or plan.sketch is None:
            return Draft(None, plan.checks)
        return await hierarchy.sketch(Packages(plan.sketch, self.document["text"]), self.tries)

    async def _questions(self) -> AsyncIterator[list[Message]]:
        """The question for a sketch; where it is too long, first without references, then with less of the document."""
        references = self.references
        async for text in tellings(self.document, self.ctx, asked_sections(self.ctx)):
            for one in dict.fromkeys((references, "")):
                yield render(_PROMPTS / "architect.md", document=text, references=one, **self.slots)
            references = ""


def preference_of(seat: int, ctx: Context) -> str:
    """The design preference of a seat. Which seat, and so which turn, gets which one is drawn from the run's seed."""
    preferences = list(ctx.params["preferences"])
    if not preferences:
        raise InputError("params.preferences: give at least one design preference")
    random.Random(ctx.seed).shuffle(preferences)  # noqa: S311 - no secret
    return str(preferences[seat % len(preferences)])


def claims_text(claims: Sequence[Mapping[str, Any]]) -> str:
    """Claims as lines of a prompt."""
    lines = (f"- architect {one['seat']}: {', '.join(one['modules'])}. {one['intent']}" for one in claims)
    return "\n".join(lines) or "(none yet)"


def _references_text(references: Mapping[str, Any] | None) -> str:
    """Design references as a part of a prompt, a blank line before and behind; empty if there are none."""
    if not references:
        return ""
    text = import_module("nodes.references.prompt").references_text(references).strip()
    return f"\n{text}\n" if text else ""


def _listed(draft: Draft) -> int:
    """How many files a draft lists, of whatever shape it is."""
    files = (draft.sketch or {}).get("files")
    return len(files) if isinstance(files, list) else 0


@cache
def _claim_schema() -> Mapping[str, Any]:
    schema: dict[str, Any] = json.loads(schema_file("claim").read_text(encoding="utf-8"))
    return {name: value for name, value in schema.items() if name not in ("$schema", "description")}
