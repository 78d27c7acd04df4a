"""What an architect submits: its sketch, valid or not, and every attempt at it (schemas/candidates.schema.json)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import ModelError
from engine.models.base import Answer, Message
from engine.prompts import render
from nodes.sketch import Draft
from nodes.sketch_checks import Check

_RETRY = Path(__file__).parent / "prompts" / "architect_retry.md"
_MOST_SHOWN = 30


def submission(seat: int, preference: str, draft: Draft, attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """A candidate. `attempts` ends with the one that made the draft."""
    return {
        "seat": seat,
        "preference": preference,
        "valid": draft.valid,
        "sketch": draft.sketch,
        "attempts": attempts,
    }


def attempt(answers: Sequence[Answer], draft: Draft) -> dict[str, Any]:
    """An attempt: one answer, or the answers that make one sketch together; none where the model could not be asked."""
    said = "\0".join(one.text for one in answers)
    return {
        "digest": hashlib.sha256(said.encode("utf-8", "replace")).hexdigest() if answers else "",
        "parsed": draft.parsed,
        "checks": [one.to_json() for one in draft.checks],
        "input_tokens": sum(one.input_tokens for one in answers),
        "output_tokens": sum(one.output_tokens for one in answers),
    }


def no_answer(error: ModelError) -> Draft:
    """The draft of an architect whose model could not be asked."""
    return Draft(None, (Check("no_answer", "", str(error)),))


def sent_back(answer: Answer, checks: Sequence[Check]) -> list[Message]:
    """The turns that send a draft back with the checks that it failed."""
    lines = "\n".join(f"- {check_line(one)}" for one in checks[:_MOST_SHOWN])
    return [Message("assistant", answer.text or "(nothing)"), *render(_RETRY, checks=lines)]


def check_line(check: Check) -> str:
    """A failed check in one line."""
    return f"{check.code} at {check.place}: {check.message}" if check.place else f"{check.code}: {check.message}"
