"""The shape of a flow's graph: edges that lead somewhere, nodes that are reached, cycles that end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.flow.faults import Faults
from engine.flow.model import Flow, Node
from engine.flow.source import Keys
from engine.flow.structure import context
from engine.flow.suggestion import Hint

END = "END"
FAIL = "fail"
RESERVED = (END, FAIL)

Graph = Mapping[str, Sequence[str]]


def check_names(flow: Flow, faults: Faults) -> bool:
    """Report every name of a node that there is none of; whether all is well."""
    before = len(faults.found)
    known = (*flow.nodes, END)
    for path, name, also in _named(flow):
        if name not in flow.nodes and name not in also:
            faults.add(path, f"{context(path)}no node '{name}'", hint=Hint(name, known))
    for name in RESERVED:
        if name in flow.nodes:
            faults.add(("nodes", name), f"a node cannot be called '{name}': the word has a meaning in edges", key=True)
    return len(faults.found) == before


def check_nodes(flow: Flow, faults: Faults) -> None:
    """Report what keys of a node say about other keys of it that are not there, and edges that are never taken."""
    for name, node in flow.nodes.items():
        path: Keys = ("nodes", name)
        given = flow.document["nodes"][name]
        if "on_exhausted" in given and "max_visits" not in given:
            faults.add((*path, "on_exhausted"), f"{context(path)}'on_exhausted' needs 'max_visits'", key=True)
        if "on_item_error" in given and "map" not in given:
            faults.add((*path, "on_item_error"), f"{context(path)}'on_item_error' is for a node with a 'map'", key=True)
        _check_edges(node, faults)
    for name in flow.budget.get("nodes", {}):
        if name not in flow.nodes:
            message = f"budget: nodes: there is no node '{name}'"
            faults.add(("budget", "nodes", name), message, key=True, hint=Hint(name, tuple(flow.nodes)))
    if flow.budget.get("on_exceeded") == "finish" and flow.finish is None:
        faults.add(
            ("budget", "on_exceeded"),
            "budget: on_exceeded: 'finish' needs a node to go to: set 'finish' beside 'start'",
        )


def check_paths(flow: Flow, faults: Faults) -> None:
    """Report nodes that no way leads to, and cycles that nothing ends. All names must be right."""
    reached = reachable(ways(flow), [flow.start, *([flow.finish] if flow.finish else [])])
    for name in flow.nodes:
        if name not in reached:
            message = f"node '{name}': unreachable: no edges lead to it from '{flow.start}'"
            faults.add(("nodes", name), message, key=True)
    for cycle in unbounded_cycles(flow):
        first = min(cycle, key=list(flow.nodes).index) if len(flow.nodes) < 1000 else cycle[0]
        turned = [*cycle[cycle.index(first) :], *cycle[: cycle.index(first)], first]
        shown = turned if len(turned) <= 12 else [*turned[:10], "...", first]
        message = (
            f"node '{first}': a cycle that nothing ends: {' -> '.join(shown)}. Give one of these nodes 'max_visits'"
        )
        faults.add(("nodes", first), message, key=True)


def ways(flow: Flow) -> dict[str, list[str]]:
    """Where each node can lead, by its edges or because it was visited too often; without END."""
    return {
        name: [to for to in dict.fromkeys([edge.to for edge in node.next] + _exhausted(node)) if to in flow.nodes]
        for name, node in flow.nodes.items()
    }


def reachable(graph: Graph, starts: Sequence[str]) -> set[str]:
    """The nodes that ways lead to, the starts among them."""
    found: set[str] = set()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += graph[name]
    return found


def unbounded_cycles(flow: Flow) -> Iterator[list[str]]:
    """One cycle out of each set of nodes that lead to one another without a bound.

    A node with `max_visits` is passed only so often; after that the run is sent to `on_exhausted`, so that way counts.
    """
    graph = {
        name: [to for to in (_exhausted(node) if node.max_visits else edges) if to in flow.nodes]
        for (name, node), edges in zip(flow.nodes.items(), ways(flow).values(), strict=True)
    }
    for component in components(graph):
        if len(component) > 1 or component[0] in graph[component[0]]:
            yield _cycle(graph, set(component), component[0])


def components(graph: Graph) -> Iterator[list[str]]:
    """Strongly connected components (Tarjan, 1972), without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    inside: set[str] = set()
    for root in graph:
        trail = [] if root in number else [(root, iter(graph[root]))]
        if trail:
            number[root] = low[root] = len(number)
            stack.append(root)
            inside.add(root)
        while trail:
            name, following = trail[-1]
            to = next(following, None)
            if to is None:
                trail.pop()
                if trail:
                    low[trail[-1][0]] = min(low[trail[-1][0]], low[name])
                if low[name] == number[name]:
                    cut = stack.index(name) if len(stack) < 50 else _last_index(stack, name)
                    component, stack[cut:] = stack[cut:], []
                    inside.difference_update(component)
                    yield component
            elif to not in number:
                number[to] = low[to] = len(number)
                stack.append(to)
                inside.add(to)
                trail.append((to, iter(graph[to])))
            elif to in inside:
                low[name] = min(low[name], number[to])


def _last_index(stack: Sequence[str], name: str) -> int:
    return next(at for at in range(len(stack) - 1, -1, -1) if stack[at] == name)


def _cycle(graph: Graph, component: set[str], start: str) -> list[str]:
    """A shortest cycle through `start`."""
    came: dict[str, str] = {}
    waiting = [start]
    for name in waiting:
        for to in graph[name]:
            if to == start:
                path = [name]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if to in component and to not in came:
                came[to] = name
                waiting.append(to)
    raise AssertionError("a component of several nodes has a cycle through each of them")


def _exhausted(node: Node) -> list[str]:
    return [node.on_exhausted] if node.max_visits is not None else []


def _named(flow: Flow) -> Iterator[tuple[Keys, str, tuple[str, ...]]]:
    """Every place that names a node, the name, and what else it may be."""
    yield ("start",), flow.start, ()
    if flow.finish is not None:
        yield ("finish",), flow.finish, ()
    for name, node in flow.nodes.items():
        path: Keys = ("nodes", name, "next")
        listed = isinstance(flow.document["nodes"][name].get("next"), list)
        for number, edge in enumerate(node.next):
            yield (*path, number, "to") if listed else path, edge.to, (END,)
        yield ("nodes", name, "on_exhausted"), node.on_exhausted, RESERVED


def _check_edges(node: Node, faults: Faults) -> None:
    for number, edge in enumerate(node.next):
        path: Keys = ("nodes", node.name, "next", number)
        last = number == len(node.next) - 1
        if edge.when is None and not last:
            faults.add((*path[:-1], number + 1), f"{context(path[:-1])}never taken: the edge before it has no 'when'")
        if edge.when is not None and last:
            message = (
                f"{context(path)}the last edge has a 'when'; if it does not hold the run is stuck. Add {{to: END}}"
            )
            faults.add(path, message)
