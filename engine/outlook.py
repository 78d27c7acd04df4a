"""What a flow would run, in what order, and how many model calls that takes, as far as it can be known beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.contract import declaration_for
from engine.errors import FlowrunError
from engine.flow.model import Expression, Flow, Node
from engine.inputs import Inputs


@dataclass(frozen=True)
class PlannedNode:
    """One node on the way from the start.

    runs     "yes", "no" (its `when` is false), or the condition that decides during the run
    items    how many items its map has: a number, the expression that decides during the run, or None without a map
    calls    model calls: a number where it is known, else words
    then     where it leads, with the guards
    """

    node: str
    call: str
    runs: str
    items: int | str | None
    calls: int | str
    then: tuple[str, ...]


def outlook(flow: Flow, inputs: Inputs) -> list[PlannedNode]:
    """The nodes in the order in which a run first comes to them, following edges in their order."""
    scope = {"inputs": inputs, "params": flow.params}
    return [_planned(flow, flow.nodes[name], scope) for name in _order(flow)]


def least_calls(plan: list[PlannedNode]) -> int:
    """The model calls that are known beforehand."""
    return sum(one.calls for one in plan if isinstance(one.calls, int))


def _order(flow: Flow) -> Iterator[str]:
    seen: set[str] = set()
    waiting = [flow.start]
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in flow.nodes:
            continue
        seen.add(name)
        yield name
        waiting = [edge.to for edge in flow.nodes[name].next] + waiting


def _planned(flow: Flow, node: Node, scope: Mapping[str, Any]) -> PlannedNode:
    runs: Any = "yes" if node.when is None else _known(node.when, scope)
    if isinstance(runs, bool):
        runs = "yes" if runs else "no"
    items = None if node.map is None else _known(node.map.over, scope)
    items = len(items) if isinstance(items, list) else items
    guarded = (f"{edge.to} when {edge.when.text}" if edge.when else edge.to for edge in node.next)
    calls = 0 if runs == "no" else _calls(declaration_for(flow, node).calls, items)
    return PlannedNode(node.name, node.call or f"flow {node.flow}", runs, items, calls, tuple(guarded))


def _calls(each: int | str, items: int | str | None) -> int | str:
    if items is None or not each:
        return each
    if isinstance(each, int) and isinstance(items, int):
        return each * items
    return f"{each} per item of {items}"


def _known(expression: Expression, scope: Mapping[str, Any]) -> Any:
    """An expression's value, or its text if it cannot be known before the run."""
    if "state." in expression.text:
        return expression.text
    try:
        return expression.evaluate(scope)
    except FlowrunError:
        return expression.text
