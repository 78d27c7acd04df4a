"""`flowrun plan` and `flowrun node`: what a flow would do, and what one of its nodes does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.cli.run import options_of, read_pairs, runs_option, with_model_options
from engine.errors import InputError

if TYPE_CHECKING:
    from engine.flow.model import Flow

_INPUTS = click.option("--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE", help="An input of the flow.")
_SETS = click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value of the flow.")
_JSON = click.option("--json", "as_json", is_flag=True, help="For programs.")


@click.command()
@click.argument("flow")
@_INPUTS
@_SETS
@_JSON
def plan(flow: str, inputs: Sequence[str], sets: Sequence[str], as_json: bool) -> None:
    """What FLOW would run, in order, with its parameters and an estimate of model calls. Runs nothing."""
    from dataclasses import asdict

    from engine.flow import check_flow
    from engine.inputs import read_inputs
    from engine.outlook import least_calls, outlook

    loaded = check_flow(flow, sets=sets)
    given = read_inputs(loaded, read_pairs(inputs))
    planned = outlook(loaded, given)
    if as_json:
        nodes = [asdict(one) for one in planned]
        click.echo(json.dumps({"params": loaded.params, "nodes": nodes, "least_calls": least_calls(planned)}, indent=2))
        return
    click.echo(f"{loaded.name}: {loaded.summary}")
    for name, value in loaded.params.items():
        click.echo(f"  params.{name} = {json.dumps(value, ensure_ascii=False)}")
    for number, one in enumerate(planned, start=1):
        items = "" if one.items is None else f" x {one.items}"
        when = "" if one.runs == "yes" else f"  [runs: {one.runs}]"
        calls = f"  calls: {one.calls}" if one.calls else ""
        click.echo(f"{number:3}. {one.node}{items}{when}{calls}\n     {one.call} -> {', '.join(one.then)}")
    click.echo(f"model calls known beforehand: {least_calls(planned)}; budget: {json.dumps(loaded.budget)}")


@click.command()
@click.argument("flow")
@click.argument("name", metavar="NODE")
@_INPUTS
@_SETS
@click.option("--state", type=click.Path(path_type=Path), metavar="FILE", help="The state to run it over, as JSON.")
@click.option("--run", "source", metavar="RUN", help="Take state and repository from before the node in this run.")
@with_model_options
@runs_option
@_JSON
def node(
    flow: str,
    name: str,
    inputs: Sequence[str],
    sets: Sequence[str],
    state: Path | None,
    source: str | None,
    model: str | None,
    base_url: str | None,
    record: Path | None,
    replay_drift: Any,
    root: Path,
    as_json: bool,
) -> None:
    """Run NODE of FLOW alone and print what it writes, validated: the way to try a prompt.

    \b
    flowrun node codeteam preprocess --input requirements=README.md
    flowrun node codeteam cto --run last --model NAME
    """
    import asyncio
    import tempfile

    from engine.cli.progress import Progress
    from engine.flow import check_flow
    from engine.inputs import read_inputs
    from engine.opening import RunOptions
    from engine.runs import find_run
    from engine.trial import try_node

    loaded = check_flow(flow, sets=sets)
    listener = (lambda event: None) if as_json else Progress().show
    with tempfile.TemporaryDirectory(prefix="flowrun-node-") as folder:
        if source is not None:
            run = find_run(root, source)
            options = options_of(run, model, base_url, record, replay_drift)
            given, values = asyncio.run(_before(run.path, loaded, name, Path(folder)))
        else:
            options = RunOptions(model or _its_own(loaded), base_url, record, replay_drift or "refuse")
            given, values = read_inputs(loaded, read_pairs(inputs)), _read_state(state)
        trial = asyncio.run(try_node(loaded, name, given, values, options, Path(folder), listener))
    click.echo(json.dumps(trial.output, indent=None if as_json else 2, ensure_ascii=False))
    if not as_json:
        click.echo(f"{trial.calls} model calls, {trial.tokens} tokens", err=True)


COMMANDS = (plan, node)
_NO_MODEL = "script:engine.cli.try_out:no_model"


def _its_own(flow: Flow) -> str | None:
    """None, for the flow's own model, or one that only complains."""
    named = [flow.model, *flow.models.values()]
    return None if any(one.get("name") for one in named) else _NO_MODEL


def no_model(request: object) -> Exception:
    """What a node gets that asks a model though none was named."""
    return InputError("this node asks a model; name one with --model NAME, replay:FILE or mailbox:DIR")


def _read_state(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"--state {file}: cannot be read as JSON: {error}") from error
    if not isinstance(state, dict):
        raise InputError(f"--state {file}: must hold one JSON object, a value for each state key")
    return state


async def _before(run: Path, flow: Flow, name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Inputs and state before a node's first visit in a run; its journal and repository are copied into `folder`."""
    import shutil
    from contextlib import closing

    from engine.fork import fork_point
    from engine.inputs import kept_inputs
    from engine.journal import Journal
    from engine.runner import history_of
    from engine.runs import RunFolder

    step, plan = fork_point(await history_of(RunFolder(run)), name)
    with closing(Journal(run / "journal.sqlite")) as journal:
        journal.copy_for_fork(folder / "journal.sqlite", [(one.node, one.visit) for one in plan.reused])
        values = {key: journal.get(reference) for key, reference in step.values.items() if key in flow.state}
        inputs = kept_inputs(journal)
    if (run / "repo").is_dir():
        shutil.copytree(run / "repo", folder / "repo", symlinks=True)
    return inputs, values
