"""A developer writes one file that it owns, from a compact context (CodeTeam, 3.2.5)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.models.base import Message
from engine.models.extraction import file_content, placeholders
from engine.node import node
from engine.prompts import render
from nodes import api
from nodes.briefs import brief, commit_message
from nodes.contract import Contract, module_name

TASK_BRANCHES = "task/"
_PROMPTS = Path(__file__).parent / "prompts"


@node(reads=("contract", "document", "head"), optional=("files", "tests"), writes=("files",), role="developer", calls=1)
async def implement_file(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Write or repair the task's file and commit it on a branch of its own.

    The context is the file's part of the contract, the requirements it names, its current content and the briefs of
    what it depends on; never another owner's file. A file with placeholders is sent back once.
    """
    task, contract = inputs["task"], Contract(inputs["contract"])
    path = task["path"]
    files = {**inputs.get("files", {}), **_finished_upstream(ctx)}
    previous = files.get(path)
    current = ctx.workspace.read(previous["commit"], path) if previous else None
    messages = _messages(inputs, contract, files, current, ctx)
    content = await _write(messages, path, ctx)
    left = placeholders(content, path)
    if left:
        reply = render(_PROMPTS / "placeholders.md", path=path, places="\n".join(f"- {one}" for one in left))
        content = await _write([*messages, Message("assistant", content), *reply], path, ctx, "complete")
        left = placeholders(content, path)
    reason = _update_reason(contract, path, current, content)
    commit = ctx.workspace.commit(
        task_branch(path),
        {path: content.encode("utf-8", "replace")},
        message=commit_message(task, reason),
        author=task["owner"],
        parents=[inputs["head"]],
        allowed=[path],
    )
    record = {
        "owner": task["owner"],
        "commit": commit,
        "update_reason": reason,
        "attempts": (previous["attempts"] if previous else 0) + 1,
        "placeholders": left,
    }
    return {"files": {path: record}}


def task_branch(path: str) -> str:
    """The branch that holds one finished task until it is merged."""
    return TASK_BRANCHES + hashlib.sha256(path.encode()).hexdigest()[:12]


def _finished_upstream(ctx: Context) -> dict[str, Any]:
    return {path: record for output in ctx.upstream.values() for path, record in output["files"].items()}


async def _write(messages: list[Message], path: str, ctx: Context, step: str = "") -> str:
    answer = await ctx.ask(messages, step=step)
    return file_content(answer.text, path)


def _messages(
    inputs: Mapping[str, Any], contract: Contract, files: Mapping[str, Any], current: bytes | None, ctx: Context
) -> list[Message]:
    task = inputs["task"]
    entry = contract.files[task["path"]]
    briefs = [brief(contract, one, files.get(one), ctx.workspace) for one in entry["depends_on"]]
    slots = {
        "stack": json.dumps(contract.data["tech_stack"], ensure_ascii=False),
        "dependencies": ", ".join(contract.data["dependencies"]) or "none beyond the standard library",
        "tree": outline(contract),
        "path": task["path"],
        "module": module_name(task["path"]) if task["path"].endswith(".py") else "no Python module",
        "fragment": fragment(entry),
        "requirements": requirement_spans(inputs["document"], entry),
        "briefs": "\n\n".join(briefs) or "(it depends on no file)",
    }
    if task["reason"] == "new":
        return render(_PROMPTS / "develop.md", **slots)
    tests = inputs.get("tests", {})
    return render(
        _PROMPTS / "repair.md",
        **slots,
        current=(current or b"").decode("utf-8", "replace"),
        issues="\n\n".join(_issue_text(issue, tests) for issue in task["issues"]),
    )


def outline(contract: Contract) -> str:
    """The tree with a line on each file's purpose."""
    return "\n".join(f"{path}: {contract.files[path]['purpose']}" for path in contract.data["repo_tree"])


def fragment(entry: Mapping[str, Any]) -> str:
    """A file's part of the contract as text."""
    uses = ", ".join(entry["uses"]) or "nothing"
    declared = "\n".join(one["signature"] if "." not in one["name"] else _member(one) for one in entry["public_api"])
    return f"purpose: {entry['purpose']}\nuses: {uses}\npublic interface:\n{declared or '(nothing is exported)'}"


def _member(symbol: Mapping[str, Any]) -> str:
    return f"    {symbol['signature']}    # of {symbol['name'].rpartition('.')[0]}"


def requirement_spans(document: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """The sections of the requirements that a file implements, with all below them; the whole document if none."""
    named = tuple(entry["requirements"])
    below = tuple(f"{marker}/" for marker in named)
    spans = [one for one in document["sections"] if one["marker"] in named or one["marker"].startswith(below)]
    return "\n\n".join(f"[{one['marker']}]\n{one['text']}" for one in spans) if spans else str(document["text"])


def _update_reason(contract: Contract, path: str, current: bytes | None, content: str) -> dict[str, Any]:
    old = None if current is None else _interface(path, current.decode("utf-8", "replace"))
    symbols = api.changes(old or {}, _interface(path, content))
    return {
        "target": path,
        "symbols": symbols,
        "compatibility": api.compatibility(old, symbols),
        "affected": contract.dependents[path],
    }


def _interface(path: str, source: str) -> api.Interface:
    if not path.endswith(".py"):
        return {}
    try:
        return api.public_interface(source)
    except SyntaxError:
        return {}


def _issue_text(issue: Mapping[str, Any], tests: Mapping[str, Any]) -> str:
    parts = [f"{issue['category']}: {issue['message']}", issue["detail"]]
    if issue["test"] in tests:
        parts.append(f"The test that shows it:\n{tests[issue['test']]['source']}")
    return "\n".join(part for part in parts if part)
