"""Starts a run, or goes on with one: folder, models, sandbox, graph, record."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.budget import Budget
from engine.contract import declaration_for, declared_roles
from engine.effects import Conclusion, Effects
from engine.errors import FlowrunError, InputError, JournalError, Stopped, Waiting
from engine.events import EventLog, Listener
from engine.flow import load_flow
from engine.flow.model import Flow
from engine.fork import create_fork, fork_point
from engine.graph import FIRST, compile_graph
from engine.history import Plan, Step, changed_nodes, plan_resume, read_history
from engine.inputs import Inputs, changed_inputs, keep_inputs, kept_inputs
from engine.journal import Journal
from engine.opening import RunOptions, Tools, open_tools
from engine.records import first_record, refuse_changed_repository, repository_head, resumed
from engine.runs import RunFolder, create_run
from engine.steps import Steps

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


@dataclass
class RunResult:
    """How a run ended.

    status     "finished", "stopped", "waiting" (for approval) or "failed"
    ok         whether it reached its goal
    exit_code  what the command line ends with
    waiting    the node and visit that want approval
    """

    run: RunFolder
    status: str
    ok: bool
    reason: str
    summary: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0
    waiting: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Handle:
    """A way to stop a running run: the first call lets what is running end, the second cancels it."""

    effects: Effects
    task: asyncio.Task[Any]

    @property
    def stopping(self) -> bool:
        """Whether the run was asked to stop."""
        return self.effects.stopping

    def stop(self) -> None:
        """Ask the run to stop."""
        if self.effects.stopping:
            self.task.cancel()
        self.effects.stop()

    def stop_at_once(self) -> None:
        """Stop without waiting for the calls under way."""
        self.effects.stop()
        self.task.cancel()


@dataclass(frozen=True)
class Watch:
    """Who is told what.

    listeners  every event
    on_start   the run's folder and the handle to stop it
    on_plan    how a run goes on; nothing is done if it returns False
    """

    listeners: Sequence[Listener] = ()
    on_start: Callable[[RunFolder, Handle], None] = lambda run, handle: None
    on_plan: Callable[[Plan], bool] = lambda plan: True


@dataclass(frozen=True)
class ResumeChoices:
    """What the user said about going on.

    rerun    a node whose work is done anew, with new answers
    inputs   what to do about an input file that changed: refuse, keep what the run began with, or use the new one
    discard  throw away what was changed by hand in the repository
    """

    rerun: str | None = None
    inputs: Literal["refuse", "keep", "use"] = "refuse"
    discard: bool = False


async def start_run(
    flow: Flow, inputs: Inputs, options: RunOptions, root: Path, watch: Watch = Watch(), *, tools: Tools | None = None
) -> RunResult:
    """Run a flow in a new folder below `root`, with `tools` that are open already or those that the flow names.

    Raises InputError before anything is made if something is missing.
    """
    refuse_unsupported(flow)
    for node in flow.nodes.values():
        declaration_for(flow, node)
    async with _opened(tools, flow, options) as tools:
        record = first_record(flow, inputs, options, tools)
        run = create_run(root, flow, record, lambda folder: keep_inputs(folder, inputs))
        with run.locked():
            return await _execute(run, flow, options, tools, watch, None)


async def resume_run(
    run: RunFolder,
    flow: Flow,
    options: RunOptions,
    choices: ResumeChoices = ResumeChoices(),
    watch: Watch = Watch(),
    *,
    tools: Tools | None = None,
) -> RunResult | None:
    """Go on with a run: where it was stopped, or, after an edit, at the first step that depends on the edit.

    None if `watch.on_plan` said not to. Raises InputError for what was changed behind the run's back.
    """
    refuse_unsupported(flow)
    refuse_incomplete(run)
    with run.locked():
        record = run.record()
        inputs = changed_inputs(record["inputs"], choices.inputs)
        refuse_changed_repository(run, record, choices.discard)
        old = load_flow(str(run.path / "flow.yaml"))
        if old.digest != record["flow"]["digest"]:
            raise InputError(
                f"{run.path / 'flow.yaml'}: changed since the run; put it back, and edit with --flow or --set"
            )
        steps = await _history(run, old)
        over = record["status"] == "finished"
        plan = plan_resume(steps, old, flow, inputs=inputs, rerun=choices.rerun, over=over) if steps else None
        if plan is not None and not watch.on_plan(plan):
            return None
        async with _opened(tools, flow, options) as tools:
            run.update(**resumed(record, flow, options, tools, plan, choices.rerun))
            run.write_flow(flow)
            if inputs:
                keep_inputs(run.path, inputs)
            return await _execute(run, flow, options, tools, watch, plan)


def _opened(tools: Tools | None, flow: Flow, options: RunOptions) -> AbstractAsyncContextManager[Tools]:
    return open_tools(flow, options) if tools is None else nullcontext(tools)


async def fork_run(
    parent: RunFolder, at: str, flow: Flow, options: RunOptions, root: Path, watch: Watch = Watch()
) -> RunResult | None:
    """Begin a new run at a step of an old one, with this flow. None if `watch.on_plan` said not to."""
    refuse_unsupported(flow)
    refuse_incomplete(parent)
    old = load_flow(str(parent.path / "flow.yaml"))
    step, plan = fork_point(await _history(parent, old), at)
    edited = changed_nodes(old, flow)
    early = [f"{one.node} ({edited[one.node]})" for one in plan.reused if one.node in edited]
    if early:
        raise InputError(
            f"--at {at}: the edit touches what comes before: {early[0]}; fork there, or leave it as it was"
        )
    if step.node not in flow.nodes:
        raise InputError(f"--at {at}: the flow has no such node; it has: {', '.join(flow.nodes)}")
    if not watch.on_plan(plan):
        return None
    async with open_tools(flow, options) as tools:
        run = create_fork(parent, root, flow, step, plan, first_record(flow, {}, options, tools))
        with run.locked():
            return await _execute(run, flow, options, tools, watch, plan)


def refuse_incomplete(run: RunFolder) -> None:
    """Raise InputError if a run's folder lacks a file that cannot be made anew."""
    for name in ("flow.yaml", "journal.sqlite"):
        file = run.path / name
        if not file.is_file() or not file.stat().st_size:
            raise InputError(f"{file}: is gone or empty; restore it, or run the flow anew")


def refuse_unsupported(flow: Flow) -> None:
    """Raise InputError for what the language has and this engine does not run yet."""
    for node in flow.nodes.values():
        if node.flow and node.map is not None:
            raise InputError(f"{node.place}: node '{node.name}': a flow as a node cannot have a map yet; remove 'map'")


async def _execute(
    run: RunFolder, flow: Flow, options: RunOptions, tools: Tools, watch: Watch, plan: Plan | None
) -> RunResult:
    events = EventLog(run.path / "events.jsonl")
    for listener in watch.listeners:
        events.listen(listener)
    tools.relay.log = events
    journal = Journal(run.path / "journal.sqlite")
    try:
        budget = Budget(flow.budget, journal)
        told = run.record()
        effects = Effects(run.path, journal, budget, events, tools.models, tools.sandbox, tools.limits)
        effects.reruns, effects.approvals = told["reruns"], told["approvals"]
        steps = Steps(flow, effects, kept_inputs(journal), options.seed)
        if (run.path / "repo").is_dir():
            effects.workspace.release_locks()
        run.update(status="running", head=None)  # what is there now is only known at the end
        events.emit("run started", run=run.id, flow=flow.name)
        for role in sorted(flow.models.keys() - (roles := declared_roles(flow))):
            said = f"models.{role} has no effect: no node has this role; they have: {', '.join(sorted(roles))}"
            events.emit("model warning", what=said)
        if options.unprotected:
            events.emit("unprotected", why="--unsafe-no-sandbox")
        result = await _watched(run, flow, steps, watch, plan)
        budget.save()
        _write_end(run, effects, result)
        return result
    except OSError as error:
        raise JournalError(
            f"{run.path}: {error.strerror or error}; make room, then: flowrun resume {run.id}"
        ) from error
    finally:
        with suppress(OSError):
            events.close()
        journal.close()


async def _watched(run: RunFolder, flow: Flow, steps: Steps, watch: Watch, plan: Plan | None) -> RunResult:
    work = asyncio.ensure_future(_drive(run, flow, steps, plan))
    watch.on_start(run, Handle(steps.effects, work))
    try:
        await work
    except asyncio.CancelledError:
        return RunResult(run, "stopped", False, "stopped at once", exit_code=Stopped.exit_code)
    except Waiting as wait:
        at = {"node": wait.node, "visit": wait.visit}
        return RunResult(run, "waiting", False, str(wait), exit_code=wait.exit_code, waiting=at)
    except Stopped as stop:
        return RunResult(run, "stopped", False, str(stop), exit_code=stop.exit_code)
    except FlowrunError as error:
        return RunResult(run, "failed", False, str(error), exit_code=error.exit_code)
    last = steps.effects.conclusion or Conclusion(True, "the flow came to its end", {})
    return RunResult(run, "finished", last.ok, last.reason, last.summary, last.figures, 0 if last.ok else 1)


async def _drive(run: RunFolder, flow: Flow, steps: Steps, plan: Plan | None) -> None:
    async with _checkpoints(run) as saver:
        graph = compile_graph(flow, steps, saver)
        first = FIRST if plan is None else None
        goes_back = plan is not None and plan.next is not None and plan.next.done
        if goes_back or plan is None:
            steps.effects.conclusion = None
        at = plan.next.config if plan and plan.next and goes_back else _thread(run)
        config: Any = {**at, "recursion_limit": 1_000_000}
        await graph.ainvoke(first, config, durability="sync")


@asynccontextmanager
async def _checkpoints(run: RunFolder) -> AsyncIterator[AsyncSqliteSaver]:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    file = run.path / "checkpoints.sqlite"
    try:
        async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
            yield saver
    except sqlite3.Error as error:
        if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
            raise JournalError(f"{file}: {error}; free space, then resume") from error
        raise _damaged(file, error) from error


def _damaged(file: Path, error: Exception) -> JournalError:
    return JournalError(
        f"{file}: damaged: {error}. Remove that file and resume: the run begins again, and its journal has "
        "every answer that it paid for"
    )


def _thread(run: RunFolder) -> RunnableConfig:
    return {"configurable": {"thread_id": run.record()["thread"]}}


async def history_of(run: RunFolder) -> list[Step]:
    """What a run has done so far, by its own flow."""
    return await _history(run, load_flow(str(run.path / "flow.yaml")))


async def _history(run: RunFolder, flow: Flow) -> list[Step]:
    async with _checkpoints(run) as saver:
        try:
            return await read_history(flow, saver, _thread(run))
        except (ValueError, KeyError, TypeError, IndexError) as error:  # what a damaged checkpoint decodes to
            raise _damaged(run.path / "checkpoints.sqlite", error) from error


def _write_end(run: RunFolder, effects: Effects, result: RunResult) -> None:
    spent = effects.budget.spent
    roles = effects.journal.usage_by_role()
    usage = {
        "model_calls": int(spent["calls"]),
        "tokens": int(spent["tokens"]),
        "input_tokens": sum(one.input_tokens for one in roles.values()),
        "cached_tokens": sum(one.cached_tokens for one in roles.values()),
        "drifted": sum(one.drifted for one in roles.values()),
        "cost": spent["cost"],
        "seconds": round(spent["wall"], 1),
        "reused": effects.reused,
        "sandbox_runs": effects.journal.totals("sandbox").count,
        "roles": {role: asdict(one) for role, one in roles.items()},
    }
    outcome = {"ok": result.ok, "reason": result.reason}
    outcome |= {"summary": dict(result.summary), "figures": dict(result.figures)}
    run.update(status=result.status, outcome=outcome, usage=usage, head=repository_head(run), waiting=result.waiting)
    effects.events.emit("run ended", status=result.status, ok=result.ok, why=result.reason, **usage)
