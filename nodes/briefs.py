"""Interface briefs: what a developer gets to know of another's file (CodeTeam, 3.2.5).

A brief is derived from the commit that wrote the file last: its code gives the interface, its message the reason.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from engine.models.structured import schema_faults
from engine.resources import schema_file
from engine.workspace import Workspace
from nodes.api import public_interface
from nodes.contract import Contract

_TRAILER = "Update-Reason: "
_VERBS = {"write": "Implement", "repair": "Repair", "adapt": "Adapt"}


def brief(
    contract: Contract, path: str, record: Mapping[str, Any] | None, workspace: Workspace, *, git: bool = True
) -> str:
    """A brief as text: path, purpose, exported symbols with their signatures, latest update reason.

    record  the file's entry in the state key `files`; without one the sketch's declared signatures stand in
    git     False for a team without Git coordination: a brief is then what the sketch declares, and nothing later
    """
    entry = contract.files[path]
    head = f"### {path}\n{entry['purpose']}"
    written = None if record is None or not git else workspace.read(record["commit"], path)
    if record is None or written is None:
        declared = "\n".join(one["signature"] for one in entry["public_api"])
        state = "not written yet; " if record is None and git else ""
        return f"{head}\n{state}the contract declares:\n{declared or '(nothing)'}"
    return f"{head}\n{_interface(path, written.decode('utf-8', 'replace'))}\n{_reason(record, workspace)}".strip()


def commit_message(
    contract: Contract, task: Mapping[str, Any], symbols: Sequence[str], compatibility: str, *, git: bool = True
) -> str:
    """The message of a finished task's commit, with its structured update reason (schemas/update_reason.schema.json).

    A team without Git coordination has none.
    """
    subject = f"{_VERBS[task['kind']]} {task['path']}"
    if not git:
        return f"{subject}\n"
    reason = {
        "target": task["path"],
        "symbols": list(symbols),
        "compatibility": compatibility,
        "affected": contract.dependents[task["path"]],
    }
    if faults := schema_faults(reason, _reason_schema()):
        raise ValueError(f"update reason of {task['path']}: {'; '.join(faults)}")
    return f"{subject}\n\n{_TRAILER}{json.dumps(reason, ensure_ascii=False, sort_keys=True)}\n"


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


@cache
def _reason_schema() -> Mapping[str, Any]:
    schema: dict[str, Any] = json.loads(schema_file("update_reason").read_text(encoding="utf-8"))
    return schema
