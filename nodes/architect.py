"""The architects: each claims modules and an intent, then drafts one sketch (CodeTeam, 3.2.3).

An architect sees what the others claimed, never their sketches. It checks its own sketch before it submits, and may try
again a bounded number of times.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import ModelError
from engine.models.base import Message, digest
from engine.node import node
from engine.prompts import render
from engine.resources import schema_file
from nodes.sketch import read_sketch, sketch_schema

_PROMPTS = Path(__file__).parent / "prompts"


@node(reads=("document",), writes=("claims",), params=("architects", "preferences"), role="architect")
async def claim_modules(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """One seat's claim: top-level module names and design intent, apart from what earlier seats claimed."""
    seat = inputs["seat"]
    preference = _preference(seat, ctx)
    earlier = [output["claims"] for output in ctx.upstream.values()]
    messages = render(
        _PROMPTS / "claim.md", document=inputs["document"]["text"], preference=preference, claims=_claims(earlier)
    )
    said = await ctx.ask_json(messages, _claim_schema(), step="claim")
    return {"claims": {"seat": seat, "preference": preference, "modules": said["modules"], "intent": said["intent"]}}


@node(
    reads=("document", "claims"),
    writes=("candidates",),
    params=("architects", "preferences", "self_check"),
    role="architect",
)
async def draft_sketch(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """One seat's candidate, with every attempt and its failed checks on record."""
    seat = inputs["seat"]
    own = next((one for one in inputs["claims"] if one["seat"] == seat), None)
    others = [one for one in inputs["claims"] if one["seat"] != seat]
    preference = _preference(seat, ctx)
    messages = render(
        _PROMPTS / "architect.md",
        document=inputs["document"]["text"],
        preference=preference,
        claim=_claims([own] if own else []),
        others=_claims(others),
    )
    attempts: list[dict[str, Any]] = []
    sketch: Mapping[str, Any] | None = None
    for attempt in range(ctx.params["self_check"] + 1):
        found, record, text = await _attempt(messages, attempt, ctx)
        attempts.append(record)
        sketch = found if found is not None else sketch
        if not record["checks"]:
            break
        failed = "\n".join(f"- {one['place'] or 'answer'}: {one['message']}" for one in record["checks"])
        messages = [*messages, Message("assistant", text or "(no answer)"), *_retry(failed)]
    valid = not attempts[-1]["checks"]
    return {
        "candidates": {"seat": seat, "preference": preference, "valid": valid, "sketch": sketch, "attempts": attempts}
    }


async def _attempt(
    messages: Sequence[Message], attempt: int, ctx: Context
) -> tuple[Mapping[str, Any] | None, dict[str, Any], str]:
    step = f"draft{attempt + 1}" if attempt else "draft"
    try:
        answer = await ctx.ask(messages, step=step, schema=sketch_schema())
    except ModelError as error:
        if attempt == 0:
            raise
        failed = [{"code": "no_answer", "place": "", "message": str(error)}]
        return None, {"digest": "", "parsed": False, "checks": failed, "input_tokens": 0, "output_tokens": 0}, ""
    sketch, checks = read_sketch(answer.text)
    record = {
        "digest": digest(answer.text),
        "parsed": sketch is not None,
        "checks": [asdict(one) for one in checks],
        "input_tokens": answer.input_tokens,
        "output_tokens": answer.output_tokens,
    }
    return sketch, record, answer.text


def _retry(failed: str) -> list[Message]:
    return render(_PROMPTS / "architect_retry.md", failed=failed)


def _preference(seat: int, ctx: Context) -> str:
    """The seat's design preference; which one it gets is drawn per seed."""
    drawn = list(ctx.params["preferences"])
    random.Random(ctx.seed).shuffle(drawn)  # noqa: S311 - a draw that must repeat, no secret
    return str(drawn[seat % len(drawn)]) if drawn else "your own judgement"


def _claims(claims: Sequence[Mapping[str, Any]]) -> str:
    lines = [f"- {', '.join(one['modules']) or '(no module names)'}: {one['intent']}" for one in claims]
    return "\n".join(lines) or "(none)"


def _claim_schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_file("claim").read_text(encoding="utf-8"))
    del schema["$schema"]
    return schema
