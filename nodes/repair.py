"""Sends findings back to the owners: the smallest set of files, every finding of a file together (CodeTeam, 3.2.5)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.node import node
from nodes.contract import Contract
from nodes.schedule import make_task


@node(reads=("contract", "issues"), writes=("tasks",))
async def requeue(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """One repair task per file that an open issue names as its minimal repair scope."""
    contract = Contract(inputs["contract"])
    by_file: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for issue in inputs["issues"]:
        for path in issue["repair"]:
            by_file[path].append(issue)
    for path, issues in by_file.items():
        ctx.event("note", text=f"{path} back to {contract.files[path]['owner']}: {len(issues)} issues")
    return {"tasks": [make_task(contract, path, by_file, "repair", by_file[path]) for path in contract.sorted(by_file)]}
