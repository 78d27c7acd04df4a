"""Hands out the file tasks up to the next QA (CodeTeam, Algorithm 1; the engine's map dispatches them)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.context import Context
from engine.errors import InputError
from engine.node import node
from nodes.contract import Contract


@node(reads=("contract", "pending"), writes=("tasks", "pending"), params=("qa.trigger",))
async def plan_tasks(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The next wave of tasks, and what stays pending.

    With the trigger "layer" a wave is every file whose dependencies are all written; with "end" it is all of them.
    """
    contract = Contract(inputs["contract"])
    pending = set(inputs["pending"])
    trigger = ctx.params["qa"]["trigger"]
    if trigger == "layer":
        wave = {path for path in pending if pending.isdisjoint(contract.files[path]["depends_on"])}
    elif trigger == "end":
        wave = pending
    else:
        raise InputError(f"params.qa.trigger: '{trigger}' is not known; it is one of: layer, end")
    tasks = [make_task(contract, path, wave, "new") for path in contract.sorted(wave)]
    return {"tasks": tasks, "pending": [path for path in inputs["pending"] if path not in wave]}


def make_task(
    contract: Contract, path: str, wave: Iterable[str], reason: str, issues: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """One file task. Its dependencies are those that are worked on in the same wave."""
    entry = contract.files[path]
    return {
        "path": path,
        "owner": entry["owner"],
        "reason": reason,
        "depends_on": sorted(set(entry["depends_on"]) & set(wave)),
        "priority": contract.priority(path),
        "issues": list(issues),
    }
