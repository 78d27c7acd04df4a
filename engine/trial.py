"""Runs one node alone, in a folder of its own: the way to try a prompt, or a node that is being written."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.budget import Budget
from engine.contract import check_value
from engine.effects import Effects
from engine.errors import InputError
from engine.events import EventLog, Listener
from engine.flow.model import Flow
from engine.inputs import Inputs
from engine.journal import Journal
from engine.opening import RunOptions, open_tools
from engine.steps import Steps


@dataclass(frozen=True)
class Trial:
    """What came of a node: its output by state key, and what its model calls took."""

    output: Mapping[str, Any]
    calls: int
    tokens: int


async def try_node(
    flow: Flow,
    name: str,
    inputs: Inputs,
    state: Mapping[str, Any],
    options: RunOptions,
    folder: Path,
    listener: Listener = lambda event: None,
) -> Trial:
    """Run a node once over a state; what it writes is validated and not kept.

    Raises InputError for a node or a state key that the flow does not have, NodeError for what the node does wrong.
    """
    if name not in flow.nodes:
        raise InputError(f"flow '{flow.name}' has no node '{name}'; it has: {', '.join(flow.nodes)}")
    for key, value in state.items():
        if key not in flow.state:
            raise InputError(f"--state: flow '{flow.name}' has no state key '{key}'; it has: {', '.join(flow.state)}")
        check_value(name, flow.state[key], value, "is given")
    with closing(Journal(folder / "journal.sqlite")) as journal, closing(EventLog(folder / "events.jsonl")) as events:
        events.listen(listener)
        async with open_tools(flow, options) as tools:
            tools.relay.log = events
            budget = Budget(flow.budget, journal)
            before = journal.totals("model")
            effects = Effects(folder, journal, budget, events, tools.models, tools.sandbox, tools.limits)
            result = await Steps(flow, effects, inputs, options.seed).run(name, 1, state, None)
            after = journal.totals("model")
    return Trial(result.values, after.count - before.count, after.tokens - before.tokens)
