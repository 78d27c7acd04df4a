"""What differs between two runs: flow, parameters, result, cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from engine.runs import RunFolder

_ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One value that differs: `part` is flow, model, result or cost, `name` a dotted path within it."""

    part: str
    name: str
    first: Any
    second: Any


def compare_runs(first: RunFolder, second: RunFolder) -> list[Difference]:
    """All differences between two runs, in the order flow, model, result, cost."""
    found = []
    records = first.record(), second.record()
    flows = [yaml.safe_load((run.path / "flow.yaml").read_text(encoding="utf-8")) for run in (first, second)]
    parts: dict[str, tuple[Any, Any]] = {
        "flow": (flows[0], flows[1]),
        "model": (records[0]["model"], records[1]["model"]),
        "result": _results(records),
        "cost": (records[0]["usage"] or {}, records[1]["usage"] or {}),
    }
    for part, (one, other) in parts.items():
        found += [Difference(part, name, *values) for name, *values in _unequal(one, other, "")]
    return found


def _results(records: tuple[Mapping[str, Any], Mapping[str, Any]]) -> tuple[Any, Any]:
    results = []
    for record in records:
        outcome = record["outcome"] or {}
        told = {name: outcome.get(name) for name in ("ok", "reason")}
        results.append({"status": record["status"], **told, **outcome.get("summary", {}), "head": record["head"]})
    return results[0], results[1]


def _unequal(one: Any, other: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in dict.fromkeys([*one, *other]):
            below = f"{path}.{name}" if path else str(name)
            yield from _unequal(one.get(name, _ABSENT), other.get(name, _ABSENT), below)
    elif one != other:
        yield path, one, other
