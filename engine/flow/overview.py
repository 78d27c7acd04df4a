"""What a flow is, in a few lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from engine.flow.diagrams import arrows, notes
from engine.flow.model import Flow


def overview(flow: Flow) -> str:
    """Name, inputs, parameters, nodes and where they lead."""
    lines = [f"{flow.name}: {flow.summary}" if flow.summary else flow.name]
    if flow.inputs:
        lines += ["", "inputs"]
        for given in flow.inputs.values():
            default = "required" if given.required else f"default {json.dumps(given.default, ensure_ascii=False)}"
            lines.append(f"  {given.name}  {given.type}, {default}{'  ' + given.help if given.help else ''}")
    if flow.params:
        lines += ["", "params"]
        lines += [f"  {name}  {json.dumps(value, ensure_ascii=False)}" for name, value in _dotted(flow.params)]
    lines += ["", "nodes"]
    ways: dict[str, list[str]] = {name: [] for name in flow.nodes}
    for arrow in arrows(flow):
        ways[arrow.start].append(f"{arrow.end} ({arrow.label})" if arrow.label else arrow.end)
    width = max(len(name) for name in flow.nodes)
    for name, node in flow.nodes.items():
        said = "; ".join(notes(node))
        lines.append(f"  {name:<{width}}  -> {', '.join(ways[name])}{'  [' + said + ']' if said else ''}")
    return "\n".join(lines) + "\n"


def _dotted(params: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Parameters by dotted name."""
    for name, value in params.items():
        if isinstance(value, Mapping) and value:
            yield from _dotted(value, f"{above}{name}.")
        else:
            yield above + name, value
