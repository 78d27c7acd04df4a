"""Architects compete (CodeTeam, 3.2.3): each in turn claims modules and an intent, then all draft at once."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import InputError, ModelError, ReplayMiss
from engine.models.base import Answer, Message
from engine.node import node
from engine.prompts import render
from engine.resources import schema_file
from nodes.outline import chosen_text, fitting_text
from nodes.sketch import Draft, read_draft, sketch_schema
from nodes.sketch_checks import Check

_PROMPTS = Path(__file__).parent / "prompts"
_MOST_SHOWN = 30


@node(reads=("document",), writes=("claims",), params=("preferences",), role="architect", calls=1)
async def claim_modules(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """What one architect claims, knowing what those before it claimed: module names and an intent, no sketch."""
    seat, preference = inputs["seat"], preference_of(inputs["seat"], ctx)
    earlier = [one["claims"] for one in ctx.upstream.values() if "claims" in one]
    messages = render(
        _PROMPTS / "claim.md",
        document=fitting_text(inputs["document"], ctx),
        claims=claims_text(earlier),
        seat=str(seat),
        preference=preference,
    )
    answer = await ctx.ask_json(messages, _claim_schema(), step="claim")
    modules = [" ".join(one.split())[:60] for one in answer["modules"]][:12]
    intent = " ".join(answer["intent"].split())[:300]
    return {"claims": {"seat": seat, "preference": preference, "modules": modules, "intent": intent}}


@node(
    reads=("document", "claims"),
    writes=("candidates",),
    params=("preferences", "self_check"),
    role="architect",
    calls=1,
)
async def draft_sketch(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """One architect's candidate: a sketch, checked, and drafted again at most `self_check` times, seeing failed checks.

    A model that cannot be asked is a failed check too: one architect that fails does not end planning.
    """
    seat, preference = inputs["seat"], preference_of(inputs["seat"], ctx)
    requirements = inputs["document"]["text"]
    try:
        document = await chosen_text(inputs["document"], ctx)
    except ReplayMiss:
        raise
    except ModelError as error:
        return {"candidates": _candidate(seat, preference, Draft(None, ()), [_no_answer(error)])}
    messages = render(
        _PROMPTS / "architect.md",
        document=document,
        claims=claims_text(inputs["claims"]),
        seat=str(seat),
        preference=preference,
        own=claims_text([one for one in inputs["claims"] if one["seat"] == seat]),
    )
    attempts: list[dict[str, Any]] = []
    draft = Draft(None, ())
    for attempt in range(ctx.params["self_check"] + 1):
        try:
            answer = await ctx.ask(messages, schema=sketch_schema(), step=f"draft {attempt + 1}")
        except ReplayMiss:
            raise
        except ModelError as error:
            attempts.append(_no_answer(error))
            break
        draft = read_draft(answer.text, requirements, cut_off=answer.finish_reason == "length")
        attempts.append(_attempt(answer, draft))
        if draft.valid:
            break
        checks = "\n".join(f"- {_line(one)}" for one in draft.checks[:_MOST_SHOWN])
        said = Message("assistant", answer.text or "(nothing)")
        messages = [*messages, said, *render(_PROMPTS / "architect_retry.md", checks=checks)]
    if not draft.valid:
        ctx.event("note", text=f"seat {seat} has no valid sketch: {_line(Check(**attempts[-1]['checks'][0]))}"[:300])
    return {"candidates": _candidate(seat, preference, draft, attempts)}


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


def _candidate(seat: int, preference: str, draft: Draft, attempts: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "seat": seat,
        "preference": preference,
        "valid": draft.valid,
        "sketch": draft.sketch,
        "attempts": attempts,
    }


def _no_answer(error: ModelError) -> dict[str, Any]:
    return _attempt(None, Draft(None, (Check("no_answer", "", str(error)),)))


def _attempt(answer: Answer | None, draft: Draft) -> dict[str, Any]:
    return {
        "digest": hashlib.sha256(answer.text.encode("utf-8", "replace")).hexdigest() if answer else "",
        "parsed": draft.parsed,
        "checks": [one.to_json() for one in draft.checks],
        "input_tokens": answer.input_tokens if answer else 0,
        "output_tokens": answer.output_tokens if answer else 0,
    }


def _line(check: Check) -> str:
    return f"{check.code} at {check.place}: {check.message}" if check.place else f"{check.code}: {check.message}"


@cache
def _claim_schema() -> Mapping[str, Any]:
    schema: dict[str, Any] = json.loads(schema_file("claim").read_text(encoding="utf-8"))
    return {name: value for name, value in schema.items() if name not in ("$schema", "description")}
