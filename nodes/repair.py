"""Sends findings back to the owners: the smallest set of files, every finding of a file together (CodeTeam, 3.2.6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from engine.context import Context
from engine.node import node
from nodes.contract import Contract, is_test

_DEPENDENCY_AFTER = 2  # repairs of one file that did not help, before the file that it depends on is looked at


@node(reads=("contract", "issues"), optional=("repairs",), writes=("repairs",))
async def requeue(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """A repair per file that an open issue names, beside what is to be adapted already.

    An issue that stays after two repairs goes to the owner of what the file depends on.
    """
    contract = Contract(inputs["contract"])
    by_file: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for issue in inputs["issues"]:
        for path in repair_scope(issue, contract):
            by_file[path].append(issue)
    for path, issues in by_file.items():
        ctx.event("note", text=f"{path} back to {contract.files[path]['owner']}: {len(issues)} issues")
    repairs = [{"path": path, "kind": "repair", "issues": by_file[path]} for path in contract.sorted(by_file)]
    return {"repairs": [*repairs, *(one for one in inputs.get("repairs", []) if one["path"] not in by_file)]}


def repair_scope(issue: Mapping[str, Any], contract: Contract) -> Sequence[str]:
    """The files that an issue goes to: another suspect once two repairs of the likeliest one did not help."""
    tries = issue["seen"] - 1
    if tries < _DEPENDENCY_AFTER or issue["category"] in ("unwritten", "placeholder", "syntax"):
        return list(issue["repair"])
    needed = [path for path in contract.files[issue["repair"][0]]["depends_on"] if not is_test(path)]
    others = [path for path in dict.fromkeys([*issue["suspected"], *needed]) if path not in issue["repair"]]
    turn = (tries - _DEPENDENCY_AFTER) % (len(others) + 1)
    return [others[turn]] if turn < len(others) else list(issue["repair"])
