"""What differs between runs: flow, parameters, result, figures, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from engine.runs import RunFolder

_ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One value, as each run has it: `part` is flow, model, result, figures or cost, `name` a dotted path within it."""

    part: str
    name: str
    values: tuple[Any, ...]


def compare_runs(runs: Sequence[RunFolder]) -> list[Difference]:
    """What differs between runs, in the order flow, model, result, figures, cost.

    Figures are there to be read side by side, so those that are the same in all runs are among them.
    """
    records = [run.record() for run in runs]
    flows = [yaml.safe_load((run.path / "flow.yaml").read_text(encoding="utf-8")) for run in runs]
    parts = {
        "flow": flows,
        "model": [one["model"] for one in records],
        "result": [_result(one) for one in records],
        "figures": [(one["outcome"] or {}).get("figures", {}) for one in records],
        "cost": [one["usage"] or {} for one in records],
    }
    return [
        Difference(part, name, values)
        for part, found in parts.items()
        for name, values in _leaves(found, "")
        if part == "figures" or any(one != values[0] for one in values)
    ]


def _result(record: Mapping[str, Any]) -> Mapping[str, Any]:
    outcome = record["outcome"] or {}
    told = {name: outcome.get(name) for name in ("ok", "reason")}
    return {"status": record["status"], **told, **outcome.get("summary", {}), "head": record["head"]}


def _leaves(values: Sequence[Any], path: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The values below `path` that are no mappings in all runs, with their paths."""
    if all(isinstance(one, Mapping) for one in values):
        for name in dict.fromkeys(name for one in values for name in one):
            below = f"{path}.{name}" if path else str(name)
            yield from _leaves([one.get(name, _ABSENT) for one in values], below)
    else:
        yield path, tuple(values)
