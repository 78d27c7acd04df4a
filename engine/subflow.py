"""A flow as a node of another: its own graph and state, the run's models, budget, sandbox and journal.

It has no checkpoints of its own. After a stop it begins again, and the journal gives it everything it had paid for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from engine.context import Context
from engine.flow.model import Flow
from engine.graph import FIRST, GraphState, compile_graph, load_values
from engine.node import NodeFunction
from engine.steps import Steps


def subflow_function(outer: Steps, flow: Flow) -> NodeFunction:
    """The node callable that runs `flow` to its end and gives back the state keys that both flows declare."""
    inside = replace(flow, finish=None)  # a spent budget ends the outer flow, which has its own way to finish

    async def run(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
        steps = Steps(inside, outer.effects, inputs, ctx.seed, f"{ctx.node}.{ctx.visit}.")
        graph = compile_graph(inside, steps, None)
        state = await graph.ainvoke(FIRST, {"recursion_limit": 1_000_000})
        values = load_values(steps, cast("GraphState", state))
        return {key: value for key, value in values.items() if key in outer.flow.state}

    return run
