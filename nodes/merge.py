"""Brings finished tasks together: one branch per developer, one commit per file, merged into main.

Tasks finish in an order that depends on timing. Their commits are put on the branches in dependency order, so that the
same contents always give the same history.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.node import node
from engine.workspace import Workspace
from nodes.briefs import commit_message
from nodes.contract import Contract
from nodes.develop import TASK_BRANCHES


@node(reads=("contract", "head", "tasks", "files"), writes=("head", "files"))
async def merge_branches(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Commit each finished task of the wave on its owner's branch, merge the branches into main, check main out.

    Everything starts from the head that the tasks started from, so a merge that was interrupted is made again whole.
    """
    contract, files, workspace = Contract(inputs["contract"]), inputs["files"], ctx.workspace
    tasks = {task["path"]: task for task in inputs["tasks"] if task["path"] in files}
    head = inputs["head"]
    workspace.set_branch("main", head)
    commits: dict[str, str] = {}
    for owner in contract.data["developers"]:
        paths = contract.sorted(path for path, task in tasks.items() if task["owner"] == owner)
        if paths:
            workspace.set_branch(owner, inputs["head"])
            commits |= {path: _commit(workspace, tasks[path], files[path]) for path in paths}
            message = f"Merge {len(paths)} file{'s' * (len(paths) > 1)} of {owner}"
            head = workspace.merge("main", owner, message=message, author="cto")
    for branch in workspace.branches():
        if branch.startswith(TASK_BRANCHES):
            workspace.delete_branch(branch)
    workspace.checkout("main")
    return {"head": head, "files": {path: {**files[path], "commit": commit} for path, commit in commits.items()}}


def _commit(workspace: Workspace, task: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    return workspace.commit(
        task["owner"],
        {task["path"]: workspace.read(record["commit"], task["path"])},
        message=commit_message(task, record["update_reason"]),
        author=task["owner"],
        allowed=[task["path"]],
    )
