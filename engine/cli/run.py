"""`flowrun run` and `flowrun resume`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from engine.cli.plain import drop_output
from engine.errors import InputError

if TYPE_CHECKING:
    from engine.history import Plan
    from engine.opening import RunOptions
    from engine.runner import Handle, RunResult, Watch
    from engine.runs import RunFolder

Start = Callable[["Watch"], Coroutine[Any, Any, "RunResult | None"]]

runs_option = click.option(
    "--runs",
    "root",
    type=click.Path(path_type=Path),
    default=Path("runs"),
    show_default=True,
    help="Folder of the runs.",
)
quiet_option = click.option("--quiet", "-q", is_flag=True, help="Only the summary.")
model_options = [
    click.option(
        "--model",
        metavar="NAME",
        help="A model's name, replay:FILE, or mailbox:DIR; in the place of all models that the flow names, roles' too.",
    ),
    click.option(
        "--base-url",
        metavar="URL",
        help="An OpenAI-compatible endpoint, for all roles; key in OPENAI_API_KEY, or as model.api_key_env says.",
    ),
    click.option("--record", type=click.Path(path_type=Path), metavar="FILE", help="Keep what the model says."),
    click.option(
        "--replay-drift",
        type=click.Choice(["refuse", "warn"]),
        default=None,
        help="Whether a recorded answer may serve when only its place matches.  [default: refuse]",
    ),
]

unsafe_option = click.option(
    "--unsafe-no-sandbox",
    "unprotected",
    is_flag=True,
    help="Run generated code without a sandbox, with all your rights: on a machine that may be lost.",
)


def with_model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose a model."""
    for option in reversed(model_options):
        command = option(command)
    return command


@click.command()
@click.argument("flow")
@click.option(
    "--input", "-i", "inputs", multiple=True, metavar="NAME=VALUE", help="An input of the flow; a file by path."
)
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value of the flow (params.x=3).")
@click.option("--set-file", "set_files", multiple=True, metavar="PATH=FILE", help="The same, with a file's text.")
@with_model_options
@unsafe_option
@click.option("--seed", type=int, default=0, show_default=True, help="For everything drawn by chance.")
@runs_option
@quiet_option
def run(
    flow: str,
    inputs: Sequence[str],
    sets: Sequence[str],
    set_files: Sequence[str],
    model: str | None,
    base_url: str | None,
    record: Path | None,
    replay_drift: Literal["refuse", "warn"] | None,
    unprotected: bool,
    seed: int,
    root: Path,
    quiet: bool,
) -> int:
    """Run FLOW, a file or the name of a flow that comes with flowrun."""
    from engine.flow import check_flow
    from engine.inputs import read_inputs
    from engine.opening import RunOptions
    from engine.runner import start_run

    loaded = check_flow(flow, sets=sets, set_files=set_files)
    given = read_inputs(loaded, read_pairs(inputs))
    options = RunOptions(model, base_url, record, replay_drift or "refuse", seed, unprotected)
    return _run_to_end(lambda watch: start_run(loaded, given, options, root, watch), quiet, unprotected=unprotected)


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--flow", metavar="FILE", help="Go on with this flow instead of the run's own.")
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value of the flow (params.x=3).")
@click.option("--rerun", metavar="NODE", help="Do this node anew, and what follows, with new answers.")
@click.option("--dry-run", is_flag=True, help="Only say what would be reused and run.")
@click.option(
    "--changed-inputs", type=click.Choice(["keep", "use"]), help="What to do about an input file that changed."
)
@click.option("--discard-changes", is_flag=True, help="Throw away what was changed by hand in the repository.")
@with_model_options
@unsafe_option
@runs_option
@quiet_option
def resume(
    name: str,
    flow: str | None,
    sets: Sequence[str],
    rerun: str | None,
    dry_run: bool,
    changed_inputs: Literal["keep", "use"] | None,
    discard_changes: bool,
    model: str | None,
    base_url: str | None,
    record: Path | None,
    replay_drift: Literal["refuse", "warn"] | None,
    unprotected: bool,
    root: Path,
    quiet: bool,
) -> int:
    """Go on with RUN (an id, its beginning, or "last") where it was stopped.

    After an edit (--flow, --set) only what depends on the edit is done again.
    """
    from engine.flow import check_flow
    from engine.runner import ResumeChoices, resume_run
    from engine.runs import find_run

    found = find_run(root, name)
    options = options_of(found, model, base_url, record, replay_drift, unprotected)
    loaded = check_flow(flow or str(found.path / "flow.yaml"), sets=sets)
    choices = ResumeChoices(rerun, changed_inputs or "refuse", discard_changes)
    return _run_to_end(lambda watch: resume_run(found, loaded, options, choices, watch), quiet, dry_run, unprotected)


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--at", required=True, metavar="NODE[:ROUND]", help="The step to begin at; the first round by default.")
@click.option("--flow", metavar="FILE", help="Run this flow from there on instead of the run's own.")
@click.option("--set", "sets", multiple=True, metavar="PATH=VALUE", help="Change a value of the flow (params.x=3).")
@click.option("--dry-run", is_flag=True, help="Only say what would be shared and run.")
@with_model_options
@unsafe_option
@runs_option
@quiet_option
def fork(
    name: str,
    at: str,
    flow: str | None,
    sets: Sequence[str],
    dry_run: bool,
    model: str | None,
    base_url: str | None,
    record: Path | None,
    replay_drift: Literal["refuse", "warn"] | None,
    unprotected: bool,
    root: Path,
    quiet: bool,
) -> int:
    """Begin a new run in the middle of RUN: both share all that came before, and pay for it once.

    \b
    flowrun fork last --at schedule --set qa.trigger=end
    """
    from engine.flow import check_flow
    from engine.runner import fork_run
    from engine.runs import find_run

    found = find_run(root, name)
    options = options_of(found, model, base_url, record, replay_drift, unprotected)
    loaded = check_flow(flow or str(found.path / "flow.yaml"), sets=sets)
    return _run_to_end(lambda watch: fork_run(found, at, loaded, options, root, watch), quiet, dry_run, unprotected)


@click.command()
@click.argument("name", metavar="RUN")
@runs_option
@quiet_option
@click.pass_context
def approve(ctx: click.Context, name: str, root: Path, quiet: bool) -> int:
    """Let RUN go on past the node before which it waits, and go on."""
    from engine.records import approve
    from engine.runs import find_run

    approve(find_run(root, name))
    code: int = ctx.invoke(resume, name=name, root=root, quiet=quiet)
    return code


@click.command()
@click.argument("name", metavar="RUN")
@click.option("--why", default="", help="Kept in the run's record.")
@runs_option
def reject(name: str, why: str, root: Path) -> int:
    """End RUN at the node before which it waits."""
    from engine.cli.summary import print_summary
    from engine.records import reject
    from engine.runs import find_run

    found = find_run(root, name)
    reject(found, why)
    print_summary(found)
    return 1


COMMANDS = (run, resume, fork, approve, reject)


def options_of(
    run: RunFolder,
    model: str | None,
    base_url: str | None,
    record: Path | None,
    replay_drift: Literal["refuse", "warn"] | None,
    unprotected: bool = False,
) -> RunOptions:
    """A run's options, with what the user chose now; to be without a sandbox is never taken over."""
    from dataclasses import replace

    from engine.models import ModelSpec
    from engine.opening import RunOptions

    before = RunOptions.from_json(run.record()["options"])
    if model is not None and ModelSpec(model).kind != ModelSpec(before.model or "").kind:
        before = replace(before, base_url=None, replay_drift="refuse")  # they were said of another kind of model
    return RunOptions(
        model or before.model,
        base_url or before.base_url,
        record or before.record,
        replay_drift or before.replay_drift,
        before.seed,
        unprotected,
    )


def read_pairs(given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` options as a dict. Raises InputError for one without a name."""
    pairs = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise InputError(f"--input {one}: write it as NAME=VALUE, for example requirements=README.md")
        pairs[name] = value
    return pairs


def _run_to_end(start: Start, quiet: bool, dry_run: bool = False, unprotected: bool = False) -> int:
    import asyncio

    from engine.cli.progress import Progress
    from engine.cli.summary import print_summary
    from engine.runner import Watch

    def planned(plan: Plan) -> bool:
        if dry_run or not quiet:
            click.echo("\n".join(plan.lines()))
        return not dry_run

    async def work() -> RunResult | None:
        listeners = () if quiet else (Progress().show,)
        return await start(Watch(listeners, _on_start(quiet), planned))

    if unprotected and not dry_run:
        click.echo("UNPROTECTED (--unsafe-no-sandbox): generated code runs with all your rights", err=True)
    result = asyncio.run(work())
    if result is None:
        return 0
    try:
        print_summary(result.run)
        sys.stdout.flush()
    except OSError:  # the run's result does not depend on who reads it
        drop_output()
    return result.exit_code


def _on_start(quiet: bool) -> Callable[[RunFolder, Handle], None]:
    import asyncio

    def started(run: RunFolder, handle: Handle) -> None:
        if not quiet:
            with suppress(OSError):
                click.echo(f"run {run.id} in {run.path}")

        def interrupted() -> None:
            again = (
                "stopping at once"
                if handle.stopping
                else "stopping when the calls under way have ended; again to stop at once"
            )
            handle.stop()
            with suppress(OSError):
                click.echo(f"\n{again}", err=True)

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, interrupted)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, handle.stop_at_once)

    return started
