"""A flow as a LangGraph state graph.

LangGraph carries the coarse graph and its checkpoints. What it holds is small: for each state key the hash of its value
in the journal, how often each node was visited, and whether the budget has ended the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypedDict, cast

from engine.errors import BudgetExceeded, JournalError, NodeError, Stopped, Waiting
from engine.flow.model import Edge, Flow, Node
from engine.models.base import digest
from engine.steps import Steps

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

END_NAME = "END"
FORMAT = 1


class GraphState(TypedDict):
    """What LangGraph checkpoints.

    format  of this state
    ended  the budget's message once a limit was reached, else empty
    seal   a digest of the rest, so that a damaged checkpoint is noticed
    """

    format: int
    values: dict[str, str]
    visits: dict[str, int]
    ended: str
    seal: str


def sealed(values: dict[str, str], visits: dict[str, int], ended: str) -> GraphState:
    """A state with its seal."""
    seal = digest([FORMAT, values, visits, ended])
    return {"format": FORMAT, "values": values, "visits": visits, "ended": ended, "seal": seal}


FIRST = sealed({}, {}, "")


def compile_graph(
    flow: Flow, steps: Steps | None, checkpointer: BaseCheckpointSaver[str] | None
) -> CompiledStateGraph[GraphState, None, GraphState, GraphState]:
    """The graph of a flow; without `steps` it can be asked for its checkpoints and not be run."""
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(GraphState)
    runner = cast("Steps", steps)
    for name, node in flow.nodes.items():
        graph.add_node(name, _step(node, runner))
        targets = {target: (END if target == END_NAME else target) for target in _targets(node, flow)}
        graph.add_conditional_edges(name, _router(node, flow, runner), targets)  # type: ignore[arg-type]
    graph.add_edge(START, flow.start)
    return graph.compile(checkpointer=checkpointer)


def load_values(steps: Steps, state: GraphState) -> dict[str, Any]:
    """The state's values behind their hashes. Raises JournalError for a newer state, or one whose seal is broken."""
    if state["format"] > FORMAT:
        raise JournalError(
            f"checkpoint format {state['format']} is newer than this flowrun knows ({FORMAT}); update it"
        )
    if state["seal"] != digest([state["format"], state["values"], state["visits"], state["ended"]]):
        raise JournalError("the checkpoint is damaged: its seal does not fit what it holds")
    return {key: steps.effects.journal.get(reference) for key, reference in state["values"].items()}


def _step(node: Node, steps: Steps) -> Any:
    async def run(state: GraphState) -> dict[str, Any]:
        if steps.effects.stopping:
            raise Stopped(f"stopped before node '{node.name}'")
        values = load_values(steps, state)
        visits = {**state["visits"], node.name: state["visits"].get(node.name, 0) + 1}
        if node.approve and not steps.effects.approved(steps.prefix + node.name, visits[node.name]):
            raise Waiting(steps.prefix + node.name, visits[node.name])
        if node.when is not None and not node.when.evaluate(steps.scope(values)):
            steps.effects.events.emit("node skipped", node=steps.prefix + node.name)
            return dict(sealed(state["values"], visits, state["ended"]))
        try:
            result = await steps.run(node.name, visits[node.name], values, state["ended"] or None)
            written, exceeded = result.values, result.exceeded
        except BudgetExceeded as error:
            written, exceeded = {}, error
        if exceeded is not None:
            _bring_to_an_end(exceeded, steps)
        references = {key: steps.effects.journal.put(value) for key, value in written.items()}
        ended = state["ended"] or (str(exceeded) if exceeded else "")
        return dict(sealed({**state["values"], **references}, visits, ended))

    return run


def _bring_to_an_end(exceeded: BudgetExceeded, steps: Steps) -> None:
    steps.effects.events.emit("budget exceeded", why=str(exceeded))
    if steps.effects.budget.on_exceeded == "pause":
        raise Stopped(f"paused: {exceeded}; raise the limit with --set and resume")
    if steps.effects.budget.on_exceeded == "fail" or steps.flow.finish is None:
        raise exceeded


def _router(node: Node, flow: Flow, steps: Steps) -> Callable[[GraphState], Awaitable[str]]:
    async def route(state: GraphState) -> str:
        if state["ended"] and flow.finish is not None and not state["visits"].get(flow.finish):
            return flow.finish
        scope = steps.scope(load_values(steps, state))
        for edge in node.next:
            if edge.when is None or edge.when.evaluate(scope):
                return _within_bound(node, edge, flow, state)
        raise NodeError("none of its edges' guards holds; add a last edge without 'when'", node=node.name)

    return route


def _within_bound(node: Node, edge: Edge, flow: Flow, state: GraphState) -> str:
    if edge.to == END_NAME:
        return edge.to
    target = flow.nodes[edge.to]
    if target.max_visits is None or state["visits"].get(target.name, 0) < target.max_visits:
        return target.name
    if target.on_exhausted == "fail":
        raise NodeError(f"'{target.name}' was visited {target.max_visits} times, its max_visits", node=node.name)
    return target.on_exhausted


def _targets(node: Node, flow: Flow) -> set[str]:
    targets = {edge.to for edge in node.next}
    targets |= {flow.nodes[to].on_exhausted for to in targets if to != END_NAME} - {"fail"}
    return targets | ({flow.finish} if flow.finish else set())
