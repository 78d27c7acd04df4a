"""What run.json says about how a run was made, and what must not have changed since."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from engine.errors import InputError
from engine.flow.model import Flow
from engine.history import Plan
from engine.inputs import Inputs, without_texts
from engine.opening import RunOptions, Tools
from engine.runs import RunFolder
from engine.workspace import Workspace


def first_record(flow: Flow, inputs: Inputs, options: RunOptions, tools: Tools) -> dict[str, Any]:
    """The record of a run that is about to start."""
    return {
        **_how(flow, options, tools),
        "inputs": without_texts(inputs),
        "versions": {
            "flowrun": version("flowrun"),
            "langgraph": version("langgraph"),
            "python": sys.version.split()[0],
        },
        "unprotected": options.unprotected,
        "created": _now(),
        "parent": None,
        "thread": secrets.token_hex(8),
        "reruns": {},
        "approvals": [],
        "resumed": [],
        "status": "new",
        "outcome": None,
        "usage": None,
        "head": None,
        "waiting": None,
    }


def resumed(
    record: Mapping[str, Any], flow: Flow, options: RunOptions, tools: Tools, plan: Plan | None, rerun: str | None
) -> dict[str, Any]:
    """What changes in the record of a run that goes on. Raises InputError if another model would go on with it."""
    how = _how(flow, options, tools)
    asked = record["options"]["model"] != options.model or record["options"]["base_url"] != options.base_url
    names = [{role: one["name"] for role, one in found["model"].items()} for found in (record, how)]
    if names[0] != names[1] and not asked and record["flow"]["digest"] == flow.digest:
        raise InputError(
            f"the run was made with {_named(names[0])}, but {options.model} is now {_named(names[1])}; "
            "say which one to go on with: --model NAME"
        )
    reruns = dict(record["reruns"])
    if rerun is not None:
        reruns[rerun] = reruns.get(rerun, 0) + 1
    at = plan.next if plan else None
    step = {"node": at.node, "visit": at.visit} if at else {}
    note = {"at": _now(), **step, "why": plan.why if plan else "it had not begun", "flow": flow.digest}
    unprotected = record.get("unprotected", False) or options.unprotected  # once it was, it stays so
    return {**how, "unprotected": unprotected, "reruns": reruns, "resumed": [*record["resumed"], note]}


def approve(run: RunFolder) -> None:
    """Write down that the visit before which the run waits may be made. Raises InputError if it waits for nothing."""
    with run.locked():
        record = run.record()
        at = _waited_for(run, record)
        run.update(approvals=[*record["approvals"], {**at, "at": _now()}], status="stopped", waiting=None)


def reject(run: RunFolder, why: str) -> None:
    """End a run that waits for approval. Raises InputError if it waits for nothing."""
    with run.locked():
        at = _waited_for(run, run.record())
        reason = f"rejected before node '{at['node']}' (visit {at['visit']})" + (f": {why}" if why else "")
        run.update(status="finished", outcome={"ok": False, "reason": reason, "summary": {}}, waiting=None)


def _waited_for(run: RunFolder, record: Mapping[str, Any]) -> Mapping[str, Any]:
    waiting: Mapping[str, Any] | None = record["waiting"]
    if waiting is None:
        raise InputError(f"run {run.id} does not wait for approval; it is {record['status']}")
    return waiting


def repository_head(run: RunFolder) -> str | None:
    """The commit that the run's repository has checked out, or None."""
    path = run.path / "repo"
    return Workspace.open(path).tip("main") if path.is_dir() else None


def refuse_changed_repository(run: RunFolder, record: Mapping[str, Any], discard: bool) -> None:
    """Raise InputError if somebody changed the repository since the run stopped, unless that may be thrown away."""
    if record["head"] is not None and not (run.path / "repo").is_dir():
        raise InputError(f"{run.path / 'repo'}: the run's repository is gone; restore it, or run the flow anew")
    if discard or record["head"] is None:
        return
    found = Workspace.open(run.path / "repo").status()
    if repository_head(run) != record["head"]:
        found = ["the branch main", *found]
    if found:
        raise InputError(
            f"{run.path / 'repo'}: changed by hand since the run stopped: {', '.join(found[:5])}. "
            "Keep a copy of what you want, then resume with --discard-changes"
        )


def _how(flow: Flow, options: RunOptions, tools: Tools) -> dict[str, Any]:
    return {
        "flow": {"name": flow.name, "digest": flow.digest, "files": list(flow.files)},
        "params": flow.params,
        "model": {role: {"name": one.model.name, **asdict(one.decoding)} for role, one in tools.models.items()},
        "options": options.to_json(),
        "sandbox": tools.sandbox.name,
    }


def _named(names: Mapping[str, str]) -> str:
    return ", ".join(sorted(set(names.values())))


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
