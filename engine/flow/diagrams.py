"""A flow as text for drawing programs: Mermaid and Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from engine.flow.model import Flow, Node
from engine.flow.nodes import PLACEHOLDER

END = "END"


@dataclass(frozen=True)
class Arrow:
    """A way from a node on. `label` is its guard; `kind` tells why it is taken."""

    start: str
    end: str
    label: str = ""
    kind: Literal["edge", "exhausted"] = "edge"


def arrows(flow: Flow) -> Iterator[Arrow]:
    """Every way of a flow, guards as written. What is not given by `next` has the kind "exhausted"."""
    for node in flow.nodes.values():
        for edge in node.next:
            yield Arrow(node.name, edge.to, edge.when.text if edge.when else "")
        if node.max_visits is not None and node.on_exhausted != "fail":
            yield Arrow(node.name, node.on_exhausted, f"after {node.max_visits} visits", "exhausted")


def notes(node: Node) -> list[str]:
    """What there is to say about a node besides its name, one line each."""
    found = []
    if node.flow:
        found.append(f"flow {node.flow}")
    if node.call == PLACEHOLDER:
        found.append("placeholder")
    if node.map:
        lane = f", lane {node.map.lane.text}" if node.map.lane else ""
        found.append(f"per {node.map.name} of {node.map.over.text}{lane}")
    if node.when:
        found.append(f"when {node.when.text}")
    if node.max_visits:
        found.append(f"at most {node.max_visits} visits")
    if node.approve:
        found.append("after approval")
    return found


def mermaid(flow: Flow) -> str:
    """A flow as a Mermaid flowchart."""
    names = {name: f"n{number}" for number, name in enumerate((*flow.nodes, END))}
    lines = ["flowchart TD"]
    for name, node in flow.nodes.items():
        text = "<br/>".join(_mermaid_text(one) for one in (name, *notes(node)))
        left, right = ("[[", "]]") if node.map or node.flow else ("[", "]")
        lines.append(f'    {names[name]}{left}"{text}"{right}')
    lines.append(f'    {names[END]}(["{END}"])')
    for arrow in arrows(flow):
        line = "-.->" if arrow.kind != "edge" else "-->"
        label = f'|"{_mermaid_text(arrow.label)}"|' if arrow.label else ""
        lines.append(f"    {names[arrow.start]} {line}{label} {names[arrow.end]}")
    return "\n".join(lines) + "\n"


def dot(flow: Flow) -> str:
    """A flow as a Graphviz digraph."""
    lines = [f"digraph {_dot_text(flow.name)} {{", "    node [shape=box, style=rounded];"]
    for name, node in flow.nodes.items():
        label = _dot_text("\n".join((name, *notes(node))))
        shape = ", peripheries=2" if node.map or node.flow else ""
        lines.append(f"    {_dot_text(name)} [label={label}{shape}];")
    lines.append(f"    {END} [shape=oval];")
    for arrow in arrows(flow):
        parts = [f"label={_dot_text(arrow.label)}"] if arrow.label else []
        parts += ["style=dashed"] if arrow.kind != "edge" else []
        attributes = f" [{', '.join(parts)}]" if parts else ""
        lines.append(f"    {_dot_text(arrow.start)} -> {_dot_text(arrow.end)}{attributes};")
    return "\n".join([*lines, "}"]) + "\n"


def _mermaid_text(text: str) -> str:
    special = {"&": "#amp;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "#": "#35;", "`": "#96;", "\n": " "}
    return "".join(special.get(one, one) for one in text)


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
