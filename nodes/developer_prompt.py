"""What a developer is asked: the parts of its prompt, those that all developers share first, and what is cut first."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nodes.compact import Cut, Prompt, dropped, shortened
from nodes.contract import Contract, module_name

_PROMPTS = Path(__file__).parent / "prompts"
_MOST_TRIES = 2  # shown to a developer
_SPANS = r"\n\n(?=\[[^\]\n]+\]\n)"
_PATCH_OR_FILE = (
    "If little changes, answer with a unified diff of ${path} in one block ```diff, its context lines exactly as they "
    "stand in the file; else with the whole content of the file in one fenced block. Nothing else."
)
_WHOLE_FILE = (
    "A repair of these faults has failed already. Think again about the cause, take another approach, and answer with "
    "the whole content of the file in one fenced block, and nothing else."
)

# What matters least is cut first. The contract's part of the file, its content and the findings' messages always stay.
CUTS: Sequence[Cut] = (
    ("tree", dropped),
    ("requirements", shortened(0.6, _SPANS)),
    ("briefs", shortened(0.6)),
    ("requirements", shortened(0.4, _SPANS)),
    ("briefs", shortened(0.4)),
    ("requirements", dropped),
)
REPAIR_CUTS: Sequence[Cut] = (
    CUTS[0],
    ("tried", dropped),
    *CUTS[1:],
    ("issues", shortened(0.4)),
)


def developer_prompt(
    contract: Contract,
    document: Mapping[str, Any],
    task: Mapping[str, Any],
    briefs: Sequence[str],
    current: str | None,
    tried: Sequence[tuple[str, str]],
) -> Prompt:
    """The prompt of a task. `tried` are earlier repairs of the same issues, as texts before and after."""
    path = task["path"]
    slots = {
        "stack": json.dumps(contract.data["tech_stack"], ensure_ascii=False),
        "dependencies": ", ".join(contract.data["dependencies"]) or "none beyond the standard library",
        "tree": "\n".join(contract.data["repo_tree"]),
        "path": path,
        "module": module_name(path) if path.endswith(".py") else "no Python module",
        "fragment": fragment(contract.files[path]),
        "requirements": requirement_spans(document, contract.files[path]),
        "briefs": "\n\n".join(briefs) or "(it depends on no file)",
    }
    if current is None:
        return Prompt(_PROMPTS / "develop.md", slots, CUTS)
    whole = bool(tried) or not current
    slots |= {
        "current": current,
        "issues": "\n\n".join(_issue_text(issue) for issue in task["issues"]),
        "tried": _tried_text(tried),
        "form": _WHOLE_FILE if whole else _PATCH_OR_FILE.replace("${path}", path),
    }
    return Prompt(_PROMPTS / "repair.md", slots, REPAIR_CUTS)


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


def _issue_text(issue: Mapping[str, Any]) -> str:
    parts = [f"{issue['category']}: {issue['message']}", issue["detail"]]
    if issue["test"]:
        parts.append(f"The test that shows it:\n{issue['test']}")
    return "\n".join(part for part in parts if part)


def _tried_text(tried: Sequence[tuple[str, str]]) -> str:
    if not tried:
        return "(nothing yet)"
    patches = ["\n".join(_patch(before, after)) or "(nothing was changed)" for before, after in tried[-_MOST_TRIES:]]
    return "\n\n".join(f"A repair that did not help:\n{patch}" for patch in patches)


def _patch(before: str, after: str) -> list[str]:
    return list(difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=1))
