"""Hands out the tasks of the next wave (CodeTeam, Algorithm 1; the engine's map dispatches them without a barrier).

A wave is what happens between two looks at QA's findings: developers write new files and mend what QA found, and QA
tests what was written before. When nothing is left to write, the wave is a validation of the whole repository.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.context import Context
from engine.errors import InputError
from engine.node import node
from nodes.contract import Contract

TRIGGERS = ("layer", "batch", "end")
OWN_TESTS, PACKAGING = "own tests", "packaging"
ROUND_ROBIN = "round_robin"

Task = dict[str, Any]


@node(
    reads=("contract", "pending"),
    optional=("repairs", "untested"),
    writes=("tasks", "pending", "repairs", "runs", "unwritten"),
    params=("qa.trigger", "qa.batch", "qa.overlap", "allocation.mode"),
)
async def plan_tasks(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The tasks of the next wave, and what stays pending.

    The trigger says after what QA looks: "layer", every file whose dependencies are all written; "batch", the next
    `qa.batch` files in the order of their priority; "end", all files. With `qa.overlap` QA tests one wave's files
    while the next is written, else between the two.
    """
    contract, pending = Contract(inputs["contract"]), inputs["pending"]
    repairs, untested = inputs.get("repairs", []), inputs.get("untested", [])
    qa, in_order = ctx.params["qa"], ctx.params["allocation"]["mode"] == ROUND_ROBIN
    testing_first = untested and not qa["overlap"] and not repairs
    new = [] if testing_first else next_files(contract, pending, qa["trigger"], qa["batch"])
    work = {one["path"]: one["kind"] for one in repairs} | dict.fromkeys(new, "write")
    issues = {one["path"]: one["issues"] for one in repairs}
    tasks = [file_task(contract, path, kind, work, issues.get(path, ()), in_order) for path, kind in work.items()]
    still = [path for path in pending if path not in new]
    if not tasks and not still:
        tasks = whole_validation(contract)
    elif qa["overlap"] or not tasks:
        unsettled = {*work, *pending}
        tasks += [validation_task(path) for path in untested if not contract.relies_on(path, unsettled)]
    return {"tasks": tasks, "pending": still, "repairs": [], "runs": {}, "unwritten": {}}


def next_files(contract: Contract, pending: Sequence[str], trigger: str, batch: int) -> list[str]:
    """The files that are written before QA looks again, each after what it depends on."""
    if trigger == "end":
        return contract.sorted(pending)
    if trigger == "layer":
        return [path for path in contract.sorted(pending) if not set(pending) & set(contract.files[path]["depends_on"])]
    if trigger != "batch":
        raise InputError(f"params.qa.trigger: '{trigger}' is not known; it is one of: {', '.join(TRIGGERS)}")
    chosen: list[str] = []
    while len(chosen) < min(batch, len(pending)):
        open_ = set(pending) - set(chosen)
        ready = [path for path in open_ if open_.isdisjoint(contract.files[path]["depends_on"])]
        chosen.append(max(ready, key=contract.priority))
    return chosen


def file_task(
    contract: Contract,
    path: str,
    kind: str,
    wave: Collection[str],
    issues: Sequence[Mapping[str, Any]] = (),
    in_order: bool = False,
) -> Task:
    """A developer's task. Its dependencies are those that are worked on in the same wave.

    in_order  a developer takes its files in the order of the sketch, not by their priority
    """
    entry = contract.files[path]
    return {
        "key": path,
        "kind": kind,
        "path": path,
        "lane": entry["owner"],
        "depends_on": sorted(set(entry["depends_on"]) & set(wave)),
        "priority": [-entry["order"]] if in_order else contract.priority(path),
        "issues": list(issues),
    }


def validation_task(path: str) -> Task:
    """QA's task for one file."""
    return {**_qa_task(f"test:{path}", "test"), "path": path}


def whole_validation(contract: Contract) -> list[Task]:
    """Every test there is, the repository's own, and last, as it needs other packages, whether it can be installed."""
    tests = [validation_task(path) for path in contract.order if contract.is_testable(path)]
    tests.append(_qa_task(OWN_TESTS, OWN_TESTS))
    packaging = {**_qa_task(PACKAGING, PACKAGING), "depends_on": [one["key"] for one in tests]}
    return [*tests, packaging]


def _qa_task(key: str, kind: str) -> Task:
    lane = f"qa {key}"  # the parts of a validation do not wait for one another
    return {"key": key, "kind": kind, "path": "", "lane": lane, "depends_on": [], "priority": [0], "issues": []}
