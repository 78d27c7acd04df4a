"""Interface briefs: what a developer gets to know of another's file (CodeTeam, 3.2.5).

A brief is derived from the commit that wrote the file last: its code gives the interface, its message the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from engine.workspace import Workspace
from nodes.api import public_interface
from nodes.contract import Contract

_TRAILER = "Update-Reason: "


def brief(contract: Contract, path: str, record: Mapping[str, Any] | None, workspace: Workspace) -> str:
    """A brief as text: path, purpose, exported symbols with their signatures, latest update reason.

    `record` is the file's entry in the state key `files`; without one the sketch's declared signatures stand in.
    """
    entry = contract.files[path]
    head = f"### {path}\n{entry['purpose']}"
    written = None if record is None else workspace.read(record["commit"], path)
    if record is None or written is None:
        declared = "\n".join(one["signature"] for one in entry["public_api"])
        return f"{head}\nnot written yet; the contract declares:\n{declared or '(nothing)'}"
    return f"{head}\n{_interface(path, written.decode('utf-8', 'replace'))}\n{_reason(record, workspace)}".strip()


def commit_message(task: Mapping[str, Any], update_reason: Mapping[str, Any]) -> str:
    """The message of a finished task's commit, with its structured update reason."""
    verb = "Repair" if task["reason"] == "repair" else "Implement"
    return f"{verb} {task['path']}\n\n{_TRAILER}{json.dumps(update_reason, ensure_ascii=False, sort_keys=True)}\n"


def read_update_reason(message: str) -> dict[str, Any] | None:
    """The update reason of a commit message, or None."""
    for line in message.splitlines():
        if line.startswith(_TRAILER):
            data = json.loads(line.removeprefix(_TRAILER))
            return data if isinstance(data, dict) else None
    return None


def _interface(path: str, source: str) -> str:
    if not path.endswith(".py"):
        return f"{len(source.splitlines())} lines"
    try:
        symbols = public_interface(source)
    except SyntaxError as error:
        return f"does not parse: {error.msg} (line {error.lineno})"
    return "\n".join(("    " if "." in name else "") + declaration for name, declaration in symbols.items())


def _reason(record: Mapping[str, Any], workspace: Workspace) -> str:
    reason = read_update_reason(workspace.show(record["commit"]).message)
    if reason is None or reason["compatibility"] in ("new", "unchanged"):
        return ""
    return f"latest update ({reason['compatibility']}): {', '.join(reason['symbols'])}"
