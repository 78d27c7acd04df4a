"""Scores of candidate sketches, and their order (CodeTeam, 3.2.4): four criteria of 0 to 2 points, 8 in all.

Structural validity and interface consistency are computed from the sketch; the model judges the other two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import Any

from nodes.contract import is_source
from nodes.sketch import path_of, symbols_of

CRITERIA = ("structural_validity", "interface_consistency", "implementability", "team_fitness")
JUDGED = ("implementability", "team_fitness")

Candidate = Mapping[str, Any]
Score = dict[str, Any]


def score(candidate: Candidate, judged: Mapping[str, Any] | None) -> Score:
    """A candidate's score record. `judged` is what the model said of it, None without a usable answer.

    Without one the judged criteria get the middle mark, so that the computed ones decide.
    """
    sketch = candidate["sketch"]
    asked = {name: judged[name] for name in CRITERIA} if judged else None
    computed = {"structural_validity": _structure(candidate), "interface_consistency": _interfaces(sketch)}
    points = {name: computed[name] if name in computed else (asked or {}).get(name, 1) for name in CRITERIA}
    return {
        "seat": candidate["seat"],
        "points": points,
        "total": sum(points.values()),
        "reasons": dict(judged["reasons"]) if judged else {},
        "asked": asked,
        "assumptions": list(judged["assumptions"]) if judged else [],
        "fan_out": fan_out(sketch),
    }


def ranked(scores: Sequence[Score]) -> list[Score]:
    """Best first: total, then fewer undeclared assumptions, then lower fan-out, then the earlier seat."""
    return sorted(scores, key=lambda one: (-one["total"], len(one["assumptions"]), one["fan_out"], one["seat"]))


def tie_break(ordered: Sequence[Score]) -> str | None:
    """What decided between the two best, if their totals are equal."""
    if len(ordered) < 2 or ordered[0]["total"] != ordered[1]["total"]:
        return None
    first, second = ordered[0], ordered[1]
    if len(first["assumptions"]) != len(second["assumptions"]):
        return f"fewer undeclared assumptions ({len(first['assumptions'])} against {len(second['assumptions'])})"
    if first["fan_out"] != second["fan_out"]:
        return f"lower fan-out between modules ({first['fan_out']:.2f} against {second['fan_out']:.2f})"
    return "the earlier seat, all else being equal"


def fan_out(sketch: Mapping[str, Any]) -> float:
    """Mean number of other source files that a source file depends on."""
    sources = [entry for entry in sketch["files"] if is_source(entry["path"])]
    counts = [
        len({path for path in map(path_of, entry["depends_on"]) if is_source(path) and path != entry["path"]})
        for entry in sources
    ]
    return round(fmean(counts), 4) if counts else 0.0


def diversity(sets: Sequence[set[str]]) -> float | None:
    """Mean pairwise Jaccard distance; None for fewer than two sets."""
    distances = [
        1 - len(one & other) / len(one | other) if one | other else 0.0 for one, other in combinations(sets, 2)
    ]
    return round(fmean(distances), 4) if distances else None


def api_names(sketch: Mapping[str, Any]) -> set[str]:
    """The names of all exported symbols that can be read."""
    names = set()
    for entry in sketch["files"]:
        try:
            names |= {one.name for one in symbols_of(entry)}
        except ValueError:
            continue
    return names


def _structure(candidate: Candidate) -> int:
    """2 points if the first draft was valid, 1 if a later one is."""
    return 2 if not candidate["attempts"][0]["checks"] else 1


def _interfaces(sketch: Mapping[str, Any]) -> int:
    """2 points if every source file that is depended on exports something with types, 1 if it exports something."""
    needed = {path_of(one) for entry in sketch["files"] for one in entry["depends_on"]}
    served = [entry for entry in sketch["files"] if entry["path"] in needed and is_source(entry["path"])]
    plain = [entry for entry in served if not entry["path"].endswith("__init__.py")]
    if any(not entry["public_api"] for entry in plain):
        return 0
    functions = [one.signature for entry in plain for one in symbols_of(entry) if one.kind == "function"]
    return 2 if all("->" in one for one in functions) else 1
