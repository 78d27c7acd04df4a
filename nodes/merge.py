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

Tasks = Mapping[str, Mapping[str, Any]]


@node(
    reads=("contract", "head", "tasks", "files"),
    optional=("unwritten",),
    writes=("head", "files"),
    params=("git.enabled",),
)
async def merge_branches(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Commit each finished task of the wave on its owner's branch, merge the branches into main, check main out.

    Without Git coordination the wave is one commit on main. Everything starts from the head that the tasks started
    from, so a merge that was interrupted is made again whole.
    """
    contract, files, workspace = Contract(inputs["contract"]), inputs["files"], ctx.workspace
    unwritten = inputs.get("unwritten", {})
    tasks = {task["path"]: task for task in inputs["tasks"] if task["key"] in files and task["path"] not in unwritten}
    workspace.set_branch("main", inputs["head"])
    bring = _on_branches if ctx.params["git"]["enabled"] else _in_one_commit
    head, commits = bring(workspace, contract, tasks, files, inputs["head"])
    for branch in workspace.branches():
        if branch.startswith(TASK_BRANCHES):
            workspace.delete_branch(branch)
    workspace.checkout("main")
    return {"head": head, "files": {path: {**files[path], "commit": commit} for path, commit in commits.items()}}


def _on_branches(
    workspace: Workspace, contract: Contract, tasks: Tasks, files: Mapping[str, Any], start: str
) -> tuple[str, dict[str, str]]:
    head, commits = start, dict[str, str]()
    for owner in contract.data["developers"]:
        paths = contract.sorted(path for path, task in tasks.items() if task["lane"] == owner)
        if paths:
            workspace.set_branch(owner, start)
            commits |= {path: _commit(workspace, contract, tasks[path], files[path]) for path in paths}
            message = f"Merge {_files(len(paths))} of {owner}"
            head = workspace.merge("main", owner, message=message, author="cto")
    return head, commits


def _in_one_commit(
    workspace: Workspace, contract: Contract, tasks: Tasks, files: Mapping[str, Any], start: str
) -> tuple[str, dict[str, str]]:
    if not tasks:
        return start, {}
    written = {path: workspace.read(files[path]["commit"], path) for path in tasks}
    message = f"Write {_files(len(tasks))}\n"
    head = workspace.commit("main", written, message=message, author="team", allowed=list(tasks))
    return head, dict.fromkeys(tasks, head)


def _commit(workspace: Workspace, contract: Contract, task: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    return workspace.commit(
        task["lane"],
        {task["path"]: workspace.read(record["commit"], task["path"])},
        message=commit_message(contract, task, record["symbols"], record["compatibility"]),
        author=task["lane"],
        allowed=[task["path"]],
    )


def _files(count: int) -> str:
    return f"{count} file{'s' * (count > 1)}"
