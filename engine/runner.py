"""Starts a run, or goes on with one: folder, models, sandbox, graph, record."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from engine.budget import Budget
from engine.contract import resolve_call
from engine.effects import Effects
from engine.errors import FlowrunError, InputError, Stopped
from engine.events import EventLog, Listener
from engine.flow.model import Flow
from engine.graph import GraphState, compile_graph
from engine.inputs import Inputs, without_texts
from engine.journal import Journal
from engine.opening import RunOptions, Tools, open_tools
from engine.runs import RunFolder, create_run
from engine.steps import Steps


@dataclass
class RunResult:
    """How a run ended. `status` is "finished", "stopped" or "failed"; `ok` whether it reached its goal."""

    run: RunFolder
    status: str
    ok: bool
    reason: str
    summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Handle:
    """A way to stop a running run: the first call lets what is running end, the second cancels it."""

    effects: Effects
    task: asyncio.Task[Any]

    def stop(self) -> None:
        """Ask the run to stop."""
        if self.effects.stopping:
            self.task.cancel()
        self.effects.stopping = True


@dataclass(frozen=True)
class Watch:
    """Who is told what: `listeners` every event, `on_start` the run's folder and the handle to stop it."""

    listeners: Sequence[Listener] = ()
    on_start: Callable[[RunFolder, Handle], None] = lambda run, handle: None


async def start_run(flow: Flow, inputs: Inputs, options: RunOptions, root: Path, watch: Watch = Watch()) -> RunResult:
    """Run a flow in a new folder below `root`. Raises InputError before anything is made if something is missing."""
    refuse_unsupported(flow)
    for node in flow.nodes.values():
        resolve_call(node)
    async with open_tools(flow, options) as tools:
        run = create_run(root, flow, _first_record(flow, inputs, options, tools))
        with run.locked():
            return await _execute(run, flow, inputs, options, tools, watch)


async def resume_run(run: RunFolder, flow: Flow, options: RunOptions, watch: Watch = Watch()) -> RunResult:
    """Go on with a run that was stopped or failed, where it was."""
    record = run.record()
    if record["status"] == "finished":
        raise InputError(f"run {run.id} is finished ({record['outcome']['reason']}); there is nothing to resume")
    with run.locked():
        async with open_tools(flow, options) as tools:
            return await _execute(run, flow, None, options, tools, watch)


def refuse_unsupported(flow: Flow) -> None:
    """Raise InputError for what the language has and this engine does not run yet."""
    for node in flow.nodes.values():
        if node.approve:
            raise InputError(f"{node.place}: node '{node.name}': 'approve' is not supported yet; remove it to run this")
        if node.flow:
            raise InputError(f"{node.place}: node '{node.name}': a flow as a node is not supported yet")
    if flow.sandbox.get("network"):
        raise InputError(f"{flow.name}: sandbox.network: a sandbox with a network is not supported; remove it")


async def _execute(
    run: RunFolder, flow: Flow, inputs: Inputs | None, options: RunOptions, tools: Tools, watch: Watch
) -> RunResult:
    events = EventLog(run.path / "events.jsonl")
    for listener in watch.listeners:
        events.listen(listener)
    journal = Journal(run.path / "journal.sqlite")
    try:
        budget = Budget(flow.budget, journal)
        effects = Effects(journal, budget, events, tools.models, tools.sandbox, tools.limits)
        steps = Steps(flow, effects, run.path, _kept_inputs(journal, inputs), options.seed)
        run.update(status="running")
        events.emit("run started", run=run.id, flow=flow.name)
        result = await _watched(run, flow, steps, watch)
        budget.save()
        _write_end(run, effects, result)
        return result
    finally:
        events.close()
        journal.close()


async def _watched(run: RunFolder, flow: Flow, steps: Steps, watch: Watch) -> RunResult:
    work = asyncio.ensure_future(_drive(run, flow, steps))
    watch.on_start(run, Handle(steps.effects, work))
    try:
        await work
    except asyncio.CancelledError:
        return RunResult(run, "stopped", False, "stopped at once")
    except Stopped as stop:
        return RunResult(run, "stopped", False, str(stop))
    except FlowrunError as error:
        return RunResult(run, "failed", False, str(error))
    if not steps.conclusions:
        return RunResult(run, "finished", True, "the flow came to its end")
    last = steps.conclusions[-1]
    return RunResult(run, "finished", last.ok, last.reason, last.summary)


async def _drive(run: RunFolder, flow: Flow, steps: Steps) -> None:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(str(run.path / "checkpoints.sqlite")) as checkpointer:
        graph = compile_graph(flow, steps, checkpointer)
        config: Any = {"configurable": {"thread_id": run.id}, "recursion_limit": 1_000_000}
        begun = (await graph.aget_state(config)).values
        first: GraphState | None = None if begun else {"values": {}, "visits": {}, "ended": ""}
        await graph.ainvoke(first, config, durability="sync")


def _kept_inputs(journal: Journal, inputs: Inputs | None) -> dict[str, Any]:
    """The inputs, kept in the journal at the start so that a resume does not depend on the user's files."""
    if inputs is not None:
        journal.set_meta("inputs", journal.put(inputs))
    kept: dict[str, Any] = journal.get(journal.meta("inputs"))
    return kept


def _first_record(flow: Flow, inputs: Inputs, options: RunOptions, tools: Tools) -> dict[str, Any]:
    return {
        "flow": {"name": flow.name, "digest": flow.digest, "files": list(flow.files)},
        "inputs": without_texts(inputs),
        "params": flow.params,
        "model": {role: {"name": one.model.name, **asdict(one.decoding)} for role, one in tools.models.items()},
        "options": options.to_json(),
        "sandbox": tools.sandbox.name,
        "versions": {
            "flowrun": version("flowrun"),
            "langgraph": version("langgraph"),
            "python": sys.version.split()[0],
        },
        "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "parent": None,
        "status": "new",
        "outcome": None,
        "usage": None,
    }


def _write_end(run: RunFolder, effects: Effects, result: RunResult) -> None:
    spent = effects.budget.spent
    usage = {
        "model_calls": int(spent["calls"]),
        "tokens": int(spent["tokens"]),
        "cost": spent["cost"],
        "seconds": round(spent["wall"], 1),
        "reused": effects.calls["reused"],
        "sandbox_runs": effects.journal.totals("sandbox").count,
    }
    outcome = {"ok": result.ok, "reason": result.reason, "summary": dict(result.summary)}
    run.update(status=result.status, outcome=outcome, usage=usage)
    effects.events.emit("run ended", status=result.status, ok=result.ok, why=result.reason, **usage)
