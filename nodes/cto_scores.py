"""Scores of the candidates (CodeTeam, 3.2.4): what the CTO says, what is computed, and the order that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodes.requirement_markers import Markers
from nodes.sketch_measures import Measures, points, team_points

CRITERIA = ("structural_validity", "interface_consistency", "implementability", "team_fitness")
COMPUTED = CRITERIA[:2]


@dataclass(frozen=True)
class Score:
    """One candidate's score.

    points   by criterion, what counts; the first two criteria are always computed
    asked    by criterion, what the model gave; None without a usable answer
    """

    seat: int
    points: Mapping[str, int]
    reasons: Mapping[str, str]
    assumptions: tuple[str, ...]
    fan_out: float
    asked: Mapping[str, int] | None = field(default=None)

    @property
    def total(self) -> int:
        """0 to 8."""
        return sum(self.points.values())

    @property
    def rank(self) -> tuple[float, ...]:
        """The lowest is the best: total, then undeclared assumptions, then fan-out, then seat."""
        return (-self.total, len(self.assumptions), self.fan_out, self.seat)

    def to_json(self) -> dict[str, Any]:
        """The score as schemas/verdict.schema.json has it."""
        return {
            "seat": self.seat,
            "points": dict(self.points),
            "total": self.total,
            "reasons": dict(self.reasons),
            "asked": None if self.asked is None else dict(self.asked),
            "assumptions": list(self.assumptions),
            "fan_out": self.fan_out,
        }


def computed_score(candidate: Mapping[str, Any], markers: Markers) -> Score:
    """A score from measures alone. `markers` are those of the document whose sections have to be covered."""
    measures = Measures(candidate["sketch"])
    files, developers = len(measures.needs), len(candidate["sketch"]["developer_plan"]["owners"])
    missing = markers.uncovered(one for file in candidate["sketch"]["files"] for one in file.get("implements", []))
    found = {
        "structural_validity": points(measures.structure_faults, files),
        "interface_consistency": points(measures.interface_faults, measures.symbols) if measures.symbols else 0,
        "implementability": points([*missing, *measures.assumptions], markers.sections),
        "team_fitness": team_points(files, developers),
    }
    reasons = {
        "structural_validity": _reason(measures.structure_faults, "no loose or empty file"),
        "interface_consistency": _reason(measures.interface_faults, "all signatures typed, all types reachable")
        if measures.symbols
        else "no file exports anything",
        "implementability": _reason([f"no file implements '{one}'" for one in missing], "every section has its file"),
        "team_fitness": f"{files} files for {developers} developer{'s' if developers > 1 else ''}",
    }
    return Score(candidate["seat"], found, reasons, measures.assumptions, measures.fan_out)


def asked_score(computed: Score, record: Mapping[str, Any]) -> Score:
    """A score from the CTO's record: the computed criteria stand, the others are the model's."""
    asked = {name: record[name]["points"] for name in CRITERIA}
    own = {name: record[name]["reason"].strip() for name in CRITERIA}
    return Score(
        seat=computed.seat,
        points={name: computed.points[name] if name in COMPUTED else asked[name] for name in CRITERIA},
        reasons={
            name: f"{computed.reasons[name]} (the CTO: {own[name]})" if name in COMPUTED else own[name]
            for name in CRITERIA
        },
        assumptions=tuple(dict.fromkeys([*computed.assumptions, *record["undeclared_assumptions"]])),
        fan_out=computed.fan_out,
        asked=asked,
    )


def scores_fault(answer: Mapping[str, Any], seats: Sequence[int]) -> str | None:
    """Why an answer of the right shape cannot be used: a candidate that is missing, unknown or scored twice."""
    named = [one["candidate"] for one in answer["scores"]]
    for seat in seats:
        if named.count(seat) != 1:
            return f"candidate {seat} has {named.count(seat) or 'no'} records; each of {list(seats)} needs one"
    unknown = sorted(set(named) - set(seats))
    return f"there is no candidate {unknown[0]}; the candidates are {list(seats)}" if unknown else None


def tie_break(ranked: Sequence[Score]) -> str | None:
    """What put the first before the second when their totals are equal; None if nothing had to."""
    if len(ranked) < 2 or ranked[0].total != ranked[1].total:
        return None
    first, second = ranked[:2]
    if len(first.assumptions) != len(second.assumptions):
        return f"fewer undeclared assumptions ({len(first.assumptions)} against {len(second.assumptions)})"
    if first.fan_out != second.fan_out:
        return f"lower dependency fan-out ({first.fan_out:g} against {second.fan_out:g})"
    return "the earlier seat, all else being equal"


def _reason(faults: Sequence[str], none: str) -> str:
    if not faults:
        return none
    return "; ".join(faults[:3]) + (f"; {len(faults) - 3} more" if len(faults) > 3 else "")
