"""What a run shows about its mechanisms (CodeTeam, 3.5): the figures that its ablations are compared by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from engine.errors import InputError

Figures = dict[str, Any]

PLANNING = ("parse_rate", "validity_rate", "path_diversity", "api_diversity")


def planning_figures(verdict: Mapping[str, Any] | None) -> Figures:
    """Parse and validity rate of the sketches, and how much they differ (mean pairwise Jaccard distance, 0 to 1)."""
    found = (verdict or {}).get("diagnostics", {})
    return {name: found[name] for name in PLANNING if name in found}


def coordination_figures(rounds: Sequence[Mapping[str, Any]]) -> Figures:
    """QA rounds, interface mismatches, brief requests, requeued dependents, and tokens of a developer's call.

    `scores` are the shares of tests that passed, one per validation that ran any.
    """
    contexts = [tokens for one in rounds for tokens in one["context_tokens"]]
    classes: Counter[str] = Counter()
    for one in rounds:
        classes.update(one["failure_classes"])
    return {
        "qa_rounds": max((one["round"] for one in rounds), default=0),
        "validations": len(rounds),
        "mismatches": sum(one["mismatches"] for one in rounds),
        "failures": {name: classes.get(name, 0) for name in ("packaging", "import", "api_mismatch", "logic")},
        "requeued_dependents": sum(len(one["requeued"]) for one in rounds),
        "repairs": sum(len(one["written"]) for one in rounds)
        - len({path for one in rounds for path in one["written"]}),
        "brief_requests": sum(one["brief_requests"] for one in rounds),
        "context_mean": round(fmean(contexts)) if contexts else 0,
        "context_median": round(median(contexts)) if contexts else 0,
        "scores": [round(one["tests_passed"] / one["tests_run"], 4) for one in rounds if one["tests_run"]],
    }


def size_figures(repository: Mapping[str, bytes], reference: str) -> Figures:
    """Files and lines of Python that are no comment and not blank; with a reference folder also how far they are off.

    The error is |generated - reference| / reference. Raises InputError if there is no such folder.
    """
    files, lines = len(repository), _python_lines(repository)
    if not reference:
        return {"files": files, "python_lines": lines}
    wanted = _read_reference(Path(reference))
    wanted_lines = _python_lines(wanted)
    return {
        "files": files,
        "python_lines": lines,
        "files_error": _error(files, len(wanted)),
        "python_lines_error": _error(lines, wanted_lines),
    }


def _python_lines(repository: Mapping[str, bytes]) -> int:
    lines = (line.strip() for path in repository if path.endswith(".py") for line in repository[path].splitlines())
    return sum(bool(line) and not line.startswith(b"#") for line in lines)


def _error(found: int, wanted: int) -> float:
    return round(abs(found - wanted) / wanted, 4) if wanted else float(found)


def _read_reference(folder: Path) -> dict[str, bytes]:
    if not folder.is_dir():
        raise InputError(f"params.reference: there is no folder '{folder}'")
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.suffix == ".py" else b""
        for path in paths
        if ".git" not in path.relative_to(folder).parts
    }
