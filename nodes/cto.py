"""The CTO filters the candidates, scores them, and adopts one as the contract (CodeTeam, 3.2.4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import AnswerError, NodeError
from engine.node import node
from engine.prompts import render
from nodes.normalise import NormalisationError, normalise
from nodes.scoring import CRITERIA, Candidate, Score, api_names, diversity, ranked, score, tie_break

_PROMPTS = Path(__file__).parent / "prompts"


@node(reads=("document", "candidates"), writes=("verdict", "contract"), role="cto")
async def adopt_sketch(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Score every valid candidate, take the best that can be normalised, and say why.

    An answer that leaves a candidate out or names none is asked again once; then the computed order stands in, and the
    verdict says so. Raises NodeError, with the reason for each candidate, when none is valid.
    """
    candidates = inputs["candidates"]
    valid = [one for one in candidates if one["valid"]]
    rejected = [{"seat": one["seat"], "why": _why_rejected(one)} for one in candidates if not one["valid"]]
    if not valid:
        raise NodeError(_none_valid(rejected), node=ctx.node)
    judged, fallback = await _judge(inputs["document"], valid, ctx)
    ordered = ranked([score(one, judged.get(one["seat"])) for one in valid])
    markers = [section["marker"] for section in inputs["document"]["sections"]]
    contract, winner = _adopt(ordered, valid, markers, rejected, ctx)
    verdict = {
        "winner": winner["seat"],
        "why": _why(winner, ordered, fallback),
        "ranking": [one["seat"] for one in ordered],
        "scores": ordered,
        "rejected": rejected,
        "tie_break": tie_break(ordered),
        "fallback": fallback,
        "diagnostics": _diagnostics(candidates),
    }
    ctx.event("note", text=verdict["why"])
    return {"verdict": verdict, "contract": contract}


async def _judge(
    document: Mapping[str, Any], valid: Sequence[Candidate], ctx: Context
) -> tuple[dict[int, Mapping[str, Any]], str | None]:
    sketches = "\n\n".join(f"## Candidate {one['seat']}\n{_compact(one['sketch'])}" for one in valid)
    messages = render(_PROMPTS / "cto.md", document=document["text"], candidates=sketches)
    try:
        said = await ctx.ask_json(messages, _answer_schema([one["seat"] for one in valid]))
    except AnswerError as error:
        ctx.event("note", text=f"the CTO's scores cannot be used, so the computed order stands: {error}"[:300])
        return {}, f"the model's scores could not be used: {error}"
    return {int(seat): one for seat, one in said["scores"].items()}, None


def _answer_schema(seats: Sequence[int]) -> dict[str, Any]:
    """Exactly one record per candidate, every score from 0 to 2."""
    points = {name: {"type": "integer", "minimum": 0, "maximum": 2} for name in CRITERIA}
    reasons = {
        "type": "object",
        "additionalProperties": False,
        "required": list(CRITERIA),
        "properties": {name: {"type": "string"} for name in CRITERIA},
    }
    record = {
        "type": "object",
        "additionalProperties": False,
        "required": [*CRITERIA, "reasons", "assumptions"],
        "properties": {**points, "reasons": reasons, "assumptions": {"type": "array", "items": {"type": "string"}}},
    }
    names = [str(seat) for seat in seats]
    scores = {
        "type": "object",
        "additionalProperties": False,
        "required": names,
        "properties": dict.fromkeys(names, record),
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["scores"],
        "properties": {"scores": scores},
    }


def _adopt(
    ordered: Sequence[Score],
    valid: Sequence[Candidate],
    markers: Sequence[str],
    rejected: list[dict[str, Any]],
    ctx: Context,
) -> tuple[dict[str, Any], Score]:
    """The contract of the best candidate that can be normalised; the others are added to `rejected`."""
    sketches = {one["seat"]: one["sketch"] for one in valid}
    for one in ordered:
        try:
            return normalise(sketches[one["seat"]], markers), one
        except NormalisationError as error:
            rejected.append({"seat": one["seat"], "why": f"cannot be normalised: {error}"})
    raise NodeError(_none_valid(rejected), node=ctx.node)


def _why(winner: Score, ordered: Sequence[Score], fallback: str | None) -> str:
    totals = ", ".join(f"{one['seat']}: {one['total']}" for one in ordered)
    decided = tie_break(ordered)
    parts = [f"candidate {winner['seat']} with {winner['total']} of 8 points (by candidate: {totals})"]
    if decided and winner is ordered[0]:
        parts.append(f"tie decided by {decided}")
    if fallback:
        parts.append("in the computed order, since the model's scores could not be used")
    return "; ".join(parts)


def _why_rejected(candidate: Candidate) -> str:
    last = candidate["attempts"][-1]
    return "; ".join(f"{one['place']}: {one['message']}" if one["place"] else one["message"] for one in last["checks"])


def _none_valid(rejected: Sequence[Mapping[str, Any]]) -> str:
    reasons = "\n".join(f"  candidate {one['seat']}: {one['why']}" for one in rejected)
    return f"no architect submitted a valid sketch:\n{reasons or '  none was submitted'}"


def _diagnostics(candidates: Sequence[Candidate]) -> dict[str, Any]:
    drafts = [attempt for one in candidates for attempt in one["attempts"]]
    parsed = [one["sketch"] for one in candidates if one["valid"]]
    codes = Counter(code for draft in drafts for code in {check["code"] for check in draft["checks"]})
    return {
        "candidates": len(candidates),
        "parse_rate": _share([draft["parsed"] for draft in drafts]),
        "validity_rate": _share([not draft["checks"] for draft in drafts]),
        "failed_checks": dict(sorted(codes.items())),
        "path_diversity": diversity([{entry["path"] for entry in sketch["files"]} for sketch in parsed]),
        "api_diversity": diversity([api_names(sketch) for sketch in parsed]),
        "input_tokens": sum(draft["input_tokens"] for draft in drafts),
        "output_tokens": sum(draft["output_tokens"] for draft in drafts),
    }


def _share(values: Sequence[bool]) -> float:
    return round(sum(values) / len(values), 4) if values else 0.0


def _compact(sketch: Mapping[str, Any]) -> str:
    return json.dumps(sketch, ensure_ascii=False, separators=(",", ":"))
