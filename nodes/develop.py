"""A developer writes one file that it owns, from a compact context (CodeTeam, 3.2.5)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from engine.context import Context
from engine.errors import ModelError, ReplayMiss
from engine.node import node
from nodes import api
from nodes.briefs import brief, commit_message
from nodes.contract import Contract
from nodes.developer_prompt import developer_prompt
from nodes.writing import Writing

TASK_BRANCHES = "task/"


@node(
    reads=("contract", "document", "head"),
    optional=("files",),
    writes=("files", "unwritten"),
    params=("git.enabled", "context.max_tokens"),
    role="developer",
    calls=1,
)
async def implement_file(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Write, repair or adapt the task's file and commit it on a branch of its own.

    The context is the file's part of the contract, the requirements it names, its current content and the briefs of
    what it depends on; never another owner's file. A developer that cannot be asked leaves the file unwritten, with
    the reason; those who depend on it go on with what the contract says.
    """
    task, contract = inputs["task"], Contract(inputs["contract"])
    path, git = task["path"], ctx.params["git"]["enabled"]
    files = {**inputs.get("files", {}), **_finished_upstream(ctx)}
    previous = files.get(path)
    current = None if previous is None else _text(ctx, previous["commit"], path)

    def brief_of(one: str) -> str | None:
        return brief(contract, one, files.get(one), ctx.workspace, git=git) if one in contract.files else None

    briefs = [str(brief_of(one)) for one in contract.files[path]["depends_on"]]
    tried = _tried(task, previous, current, ctx)
    prompt = developer_prompt(contract, inputs["document"], task, briefs, current, tried)
    limit = min(ctx.params["context"]["max_tokens"], ctx.max_input_tokens)
    writing = Writing(path, prompt, limit, current, brief_of, ctx)
    try:
        content, left = await writing.content()
    except ReplayMiss:
        raise
    except ModelError as error:
        return {"unwritten": {path: str(error)}}
    symbols, compatibility = _interface_change(path, current, content)
    commit = ctx.workspace.commit(
        task_branch(path),
        {path: content.encode("utf-8", "replace")},
        message=commit_message(contract, task, symbols, compatibility, git=git),
        author=task["lane"],
        parents=[inputs["head"]],
        allowed=[path],
    )
    record = {
        "commit": commit,
        "mended": [issue["id"] for issue in task["issues"]],
        "earlier": [*previous["earlier"], {name: previous[name] for name in ("commit", "mended")}] if previous else [],
        "symbols": symbols,
        "compatibility": compatibility,
        "placeholders": left,
        "without": [one for one in contract.files[path]["depends_on"] if one not in files],
        "brief_requests": len(writing.briefs),
        "context_tokens": writing.context_tokens,
    }
    return {"files": {path: record}}


def task_branch(path: str) -> str:
    """The branch that holds one finished task until it is merged."""
    return TASK_BRANCHES + hashlib.sha256(path.encode()).hexdigest()[:12]


def _finished_upstream(ctx: Context) -> dict[str, Any]:
    return {path: record for output in ctx.upstream.values() for path, record in output.get("files", {}).items()}


def _text(ctx: Context, commit: str, path: str) -> str:
    return (ctx.workspace.read(commit, path) or b"").decode("utf-8", "replace")


def _tried(
    task: Mapping[str, Any], previous: Mapping[str, Any] | None, current: str | None, ctx: Context
) -> list[tuple[str, str]]:
    """What earlier repairs of the same issues did: the file's text before and after each, the first one first."""
    if previous is None or current is None:
        return []
    wanted = {issue["id"] for issue in task["issues"]}
    versions: Sequence[Mapping[str, Any]] = [*previous["earlier"], previous]
    return [
        (_text(ctx, before["commit"], task["path"]), _text(ctx, after["commit"], task["path"]))
        for before, after in pairwise(versions)
        if wanted & set(after["mended"])
    ]


def _interface_change(path: str, current: str | None, content: str) -> tuple[list[str], str]:
    """What a commit changes in the file's public interface, computed from the code, and whether users must follow."""
    old = None if current is None else _interface(path, current)
    symbols = api.changes(old or {}, _interface(path, content))
    return symbols, api.compatibility(old, symbols)


def _interface(path: str, source: str) -> api.Interface:
    if not path.endswith(".py"):
        return {}
    try:
        return api.public_interface(source)
    except SyntaxError:
        return {}
