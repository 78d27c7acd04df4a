"""Makes a document with flaws whole enough to be looked at further, so that one fault does not hide the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.flow.source import Keys
from engine.flow.structure import Flaw

_PLACEHOLDER = {"call": "placeholder"}


def repaired(document: Mapping[str, Any], flaws: Iterable[Flaw]) -> dict[str, Any]:
    """A copy without the flawed parts. What others may refer to (nodes, inputs, state keys) keeps its name."""
    whole: dict[str, Any] = {**document}
    for section in ("nodes", "inputs", "state", "models"):
        if isinstance(whole.get(section), Mapping):
            whole[section] = dict(whole[section])
    for flaw in flaws:
        _mend(whole, flaw.path)
    whole.setdefault("name", "unnamed")
    if not isinstance(whole.get("nodes"), Mapping) or not whole["nodes"]:
        whole["nodes"] = {"missing": _PLACEHOLDER}
    return whole


def _mend(whole: dict[str, Any], path: Keys) -> None:
    section = str(path[0]) if path else ""
    if section == "nodes" and len(path) > 1:
        whole[section][path[1]] = _mended_node(whole[section][path[1]], path[2:])
    elif section == "inputs" and len(path) > 1:
        whole[section][path[1]] = {"type": "any"}
    elif section == "state" and len(path) > 1:
        whole[section][path[1]] = {"schema": {}}
    elif section == "models" and len(path) > 1:
        whole[section][path[1]] = {}
    else:
        whole.pop(section, None)


def _mended_node(node: Any, path: Keys) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        return _PLACEHOLDER
    kept = {key: value for key, value in node.items() if key != path[0]} if path else dict(node)
    if ("call" in kept) == ("flow" in kept):
        kept.pop("flow", None)
        kept["call"] = "placeholder"
    return kept
