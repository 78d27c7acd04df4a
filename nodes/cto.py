"""The CTO: filters the candidates, scores what is left, makes the best one the contract (CodeTeam, 3.2.4)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import ModelError, NodeError, ReplayMiss
from engine.models.base import Message
from engine.models.conversation import parse_json
from engine.models.structured import schema_faults
from engine.node import node
from engine.prompts import render
from engine.resources import schema_file
from nodes.cto_scores import Score, asked_score, computed_score, scores_fault, tie_break
from nodes.normalise import NormalisationError, normalise
from nodes.outline import outline
from nodes.requirement_markers import Markers
from nodes.shortening import Shortening
from nodes.sketch import has_shape
from nodes.sketch_checks import canonical
from nodes.sketch_measures import Measures, diversity

_PROMPTS = Path(__file__).parent / "prompts"

Candidate = Mapping[str, Any]


@node(reads=("document", "candidates"), writes=("verdict", "contract"), role="cto", calls=1)
async def adopt_sketch(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The verdict over all candidates, and the contract that the best one makes.

    Raises NodeError, with the reason for each candidate, when none is valid or none makes a contract.
    """
    document, candidates = inputs["document"], inputs["candidates"]
    valid = [one for one in candidates if one["valid"]]
    rejected = [{"seat": one["seat"], "why": _rejection(one)} for one in candidates if not one["valid"]]
    ranked, fallback = await _ranked(valid, document, ctx)
    ranking = [one.seat for one in ranked]
    contract = None
    while ranked and contract is None:
        best = next(one for one in valid if one["seat"] == ranked[0].seat)
        try:
            contract = normalise(best["sketch"], document)
        except NormalisationError as error:
            rejected.append({"seat": best["seat"], "why": f"makes no contract: {error}"})
            ranked = ranked[1:]
    if contract is None:
        raise NodeError(_none_valid(rejected), node=ctx.node)
    verdict = {
        "winner": ranked[0].seat,
        "why": _why(ranked, next(one for one in valid if one["seat"] == ranked[0].seat), fallback),
        "ranking": ranking,
        "scores": [one.to_json() for one in sorted(ranked, key=lambda score: score.seat)],
        "rejected": rejected,
        "tie_break": tie_break(ranked),
        "fallback": fallback,
        "diagnostics": diagnostics(candidates),
    }
    ctx.event("note", text=verdict["why"])
    return {"verdict": verdict, "contract": contract}


async def _ranked(
    valid: Sequence[Candidate], document: Mapping[str, Any], ctx: Context
) -> tuple[list[Score], str | None]:
    """The scores, the best first, and why they are the computed ones, if they are."""
    markers = Markers(document)
    computed = {one["seat"]: computed_score(one, markers) for one in valid}
    if not valid:
        return [], None
    answer, fallback = await _asked(valid, document, ctx)
    scores = list(computed.values())
    if answer is not None:
        scores = [asked_score(computed[one["candidate"]], one) for one in answer["scores"]]
    return sorted(scores, key=lambda score: score.rank), fallback


async def _asked(
    valid: Sequence[Candidate], document: Mapping[str, Any], ctx: Context
) -> tuple[Mapping[str, Any] | None, str | None]:
    """The CTO's scores, asked for a second time if they cannot be used; else None and why."""
    seats = [one["seat"] for one in valid]
    conversation = Shortening(_questions(valid, document), ctx)
    fault, turns = "", list[Message]()
    for step in ("scores", "scores again"):
        try:
            answer = await conversation.ask(partial(ctx.ask, schema=_scores_schema(), step=step), turns)
        except ReplayMiss:
            raise
        except ModelError as error:
            return None, f"the CTO could not be asked: {error}"
        data, fault = _read_scores(answer.text, seats)
        if data is not None:
            return data, None
        said = Message("assistant", answer.text or "(nothing)")
        turns = [said, *render(_PROMPTS / "cto_retry.md", fault=fault)]
    return None, f"the CTO's scores could not be used, twice: {fault}"


async def _questions(valid: Sequence[Candidate], document: Mapping[str, Any]) -> AsyncIterator[list[Message]]:
    """The question to the CTO, whole at first; then with the requirements' outline, then with the interfaces alone."""
    outlined = outline(document["sections"], first_lines=False)
    for text, brief in ((document["text"], False), (outlined, False), (outlined, True)):
        candidates = "\n\n".join(candidate_text(one, brief=brief) for one in valid)
        seats = ", ".join(str(one["seat"]) for one in valid)
        yield render(_PROMPTS / "cto.md", document=text, candidates=candidates, seats=seats)


def _read_scores(text: str, seats: Sequence[int]) -> tuple[Mapping[str, Any] | None, str]:
    try:
        data = parse_json(text)
    except ValueError as error:
        return None, str(error)
    faults = schema_faults(data, _scores_schema())
    fault = "; ".join(faults) if faults else scores_fault(data, seats)
    return (None, fault) if fault else (data, "")


def candidate_text(candidate: Candidate, *, brief: bool = False) -> str:
    """A candidate as the CTO reads it: the whole sketch, compact; `brief` leaves out purposes and markers."""
    sketch = candidate["sketch"]
    lines = [
        f"## Candidate {candidate['seat']} ({candidate['preference']})",
        f"dependencies: {', '.join(sketch.get('dependencies', [])) or 'none'}",
        "developers: "
        + "; ".join(f"{one['id']} {one.get('focus', '')}".strip() for one in sketch["developer_plan"]["owners"]),
    ]
    for file in sketch["files"]:
        lines.append(f"### {file['path']} (developer {file['owner']}, {file.get('lines', 0)} lines)")
        lines += [] if brief else [file["purpose"]]
        lines += [f"    {one}" for one in file.get("public_api", [])]
        for name in ("depends_on",) if brief else ("depends_on", "implements"):
            if file.get(name):
                lines.append(f"{name.replace('_', ' ')}: {', '.join(file[name])}")
    return "\n".join(lines)


def diagnostics(candidates: Sequence[Candidate]) -> dict[str, Any]:
    """Planning's diagnostics (CodeTeam, 3.4): rates over the candidates, diversity over those that have a shape."""
    attempts = [attempt for one in candidates for attempt in one["attempts"]]
    shaped = [one for one in candidates if one["sketch"] is not None and has_shape(one["sketch"])]
    measures = [Measures(one["sketch"]) for one in shaped]
    failed = Counter(code for attempt in attempts for code in {check["code"] for check in attempt["checks"]})
    return {
        "candidates": len(candidates),
        "parse_rate": _share(one["sketch"] is not None for one in candidates),
        "validity_rate": _share(one["valid"] for one in candidates),
        "failed_checks": dict(sorted(failed.items())),
        "validity_by_check": {code: round(1 - failed[code] / len(attempts), 4) for code in sorted(failed)},
        "path_diversity": diversity([{canonical(f["path"]) for f in one["sketch"]["files"]} for one in shaped]),
        "api_diversity": diversity([{s.name for api in one.api.values() for s in api} for one in measures]),
        "input_tokens": sum(one["input_tokens"] for one in attempts),
        "output_tokens": sum(one["output_tokens"] for one in attempts),
    }


def _share(flags: Any) -> float:
    found = list(flags)
    return round(sum(found) / len(found), 4) if found else 0.0


def _rejection(candidate: Candidate) -> str:
    checks = candidate["attempts"][-1]["checks"]
    shown = "; ".join(check["message"] for check in checks[:3])
    return shown + (f"; {len(checks) - 3} more" if len(checks) > 3 else "")


def _none_valid(rejected: Sequence[Mapping[str, Any]]) -> str:
    if not rejected:
        return "no architect submitted a sketch: params.architects is 0"
    reasons = "\n".join(f"  seat {one['seat']}: {one['why']}" for one in rejected)
    return (
        f"none of the {len(rejected)} sketches can be used:\n{reasons}\n"
        "Try another model, or raise params.self_check so that architects may correct themselves more often"
    )


def _why(ranked: Sequence[Score], best: Candidate, fallback: str | None) -> str:
    files, team = len(best["sketch"]["files"]), len(best["sketch"]["developer_plan"]["owners"])
    text = f"seat {best['seat']} ({best['preference']}; {files} files, {team} developers)"
    text += f" with {ranked[0].total} of 8 points"
    if len(ranked) > 1:
        text += f", before seat {ranked[1].seat} with {ranked[1].total}"
    if reason := tie_break(ranked):
        text += f", by {reason}"
    return text + (f"; computed scores, since {fallback}" if fallback else "")


@cache
def _scores_schema() -> Mapping[str, Any]:
    schema: dict[str, Any] = json.loads(schema_file("scores").read_text(encoding="utf-8"))
    return {name: value for name, value in schema.items() if name not in ("$schema", "description")}
