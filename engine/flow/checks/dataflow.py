"""Whether what is read was written before: by nodes as they declare it, and by the expressions around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.errors import FlowrunError
from engine.flow.checks.graph import ways
from engine.flow.expressions import Compiled
from engine.flow.faults import Faults
from engine.flow.model import Flow, Node
from engine.flow.scanner import ExpressionFault, Reference
from engine.flow.source import Keys
from engine.node import Declaration


@dataclass(frozen=True)
class Written:
    """The state keys that may have been written; `anything` once a node came by of which nothing is known."""

    keys: frozenset[str] = frozenset()
    anything: bool = False

    def __or__(self, other: Written) -> Written:
        return Written(self.keys | other.keys, self.anything or other.anything)

    def __contains__(self, key: str) -> bool:
        return self.anything or key in self.keys


def check_reads(
    flow: Flow,
    declarations: Mapping[str, Declaration],
    used: Iterable[tuple[Keys, Reference]],
    faults: Faults,
) -> None:
    """Report reads of what nothing before can have written. A node without a declaration may write anything."""
    writes = {name: _writes(flow, node, declarations.get(name)) for name, node in flow.nodes.items()}
    before = written_before(flow, writes)
    for name, declared in declarations.items():
        if is_off(flow, flow.nodes[name]):
            continue
        for key in declared.reads:
            if key in flow.state and key not in before[name]:
                path: Keys = ("nodes", name, "call" if flow.nodes[name].call else "flow")
                reader = flow.nodes[name].call or flow.nodes[name].flow
                faults.add(path, f"node '{name}': '{reader}' reads '{key}', which nothing before it writes")
    for path, reference in used:
        if path[0] != "nodes" or reference.path[0] != "state" or len(reference.path) < 2 or reference.in_has:
            continue
        node, key = str(path[1]), reference.path[1]
        known = before[node] | writes[node] if path[2] == "next" else before[node]
        if key in flow.state and key not in known:
            fault = ExpressionFault(f"'state.{key}' is read, which nothing before it writes", reference.offset)
            faults.add_expression(path, fault)


def written_before(flow: Flow, writes: Mapping[str, Written]) -> dict[str, Written]:
    """What may have been written when the run comes to each node, over all ways to it."""
    before = {name: Written() for name in flow.nodes}
    graph = ways(flow)
    waiting = dict.fromkeys(flow.nodes)
    while waiting:
        name = next(iter(waiting))
        del waiting[name]
        after = before[name] | writes[name]
        for to in [*graph[name], *([flow.finish] if flow.finish else [])]:
            joined = before[to] | after
            if joined != before[to]:
                before[to] = joined
                waiting[to] = None
    return before


def is_off(flow: Flow, node: Node) -> bool:
    """Whether a node's `when` is false whatever happens in a run."""
    when = node.when
    if (
        not isinstance(when, Compiled)
        or when.program is None
        or any(one.path[0] != "params" for one in when.references)
    ):
        return False
    try:
        return when.evaluate({"params": flow.params}) is False
    except FlowrunError:
        return False


def _writes(flow: Flow, node: Node, declared: Declaration | None) -> Written:
    if is_off(flow, node):
        return Written()
    return Written(anything=True) if declared is None else Written(frozenset(declared.writes))
