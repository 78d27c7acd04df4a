"""`flowrun runs`: what ran."""

from __future__ import annotations

import json
from pathlib import Path

import click

from engine.cli.plain import plain
from engine.cli.run import runs_option
from engine.errors import InputError


@click.group()
def runs() -> None:
    """List runs; show, compare and remove them."""


@runs.command("list")
@runs_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_command(root: Path, as_json: bool) -> None:
    """The runs, oldest first."""
    from engine.runs import list_runs

    found = list_runs(root)
    if as_json:
        click.echo(json.dumps([{**run.record(), "status": run.status()} for run in found], ensure_ascii=False))
        return
    for run in found:
        try:
            status, outcome = run.status(), run.record()["outcome"] or {}
        except InputError as error:
            status, outcome = "damaged", {"reason": str(error)}
        reason = outcome.get("reason", f"flowrun resume {run.path}" if status == "killed" else "")
        click.echo(plain(f"{run.id}  {status:<9} {reason}"))
    if not found:
        click.echo(f"no runs in {root}", err=True)


@runs.command("show")
@click.argument("name", metavar="RUN")
@runs_option
@click.option("--json", "as_json", is_flag=True, help="The run's record, for programs.")
def show_command(name: str, root: Path, as_json: bool) -> None:
    """What came of RUN (an id, its beginning, or "last"): outcome, file tree, Git log."""
    from engine.cli.summary import print_summary
    from engine.runs import find_run

    found = find_run(root, name)
    if as_json:
        click.echo(json.dumps(found.record(), indent=2, ensure_ascii=False))
    else:
        print_summary(found)


@runs.command("diff")
@click.argument("names", metavar="RUN RUN...", nargs=-1, required=True)
@runs_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def diff_command(names: tuple[str, ...], root: Path, as_json: bool) -> None:
    """What differs between runs in flow, model, result and cost, and their figures side by side."""
    from dataclasses import asdict

    from engine.cli.summary import print_differences
    from engine.comparison import compare_runs
    from engine.runs import find_run

    if len(names) < 2:
        raise InputError(
            "there is nothing to compare one run with; name two runs or more: flowrun runs diff RUN RUN..."
        )
    found = [find_run(root, name) for name in names]
    differences = compare_runs(found)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in differences], ensure_ascii=False))
    elif differences:
        print_differences([run.id for run in found], differences)
    else:
        click.echo("the runs do not differ")


@runs.command("rm")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@runs_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def rm_command(names: tuple[str, ...], root: Path, yes: bool) -> None:
    """Remove runs with all that they hold, the generated repositories too."""
    from engine.runs import find_run, remove_run

    found = list({run.path: run for run in (find_run(root, name) for name in names)}.values())
    listed = "\n".join(f"  {run.path}" for run in found)
    if not yes:
        click.confirm(f"remove for good:\n{listed}\n", abort=True)
    for run in found:
        remove_run(run)
        click.echo(f"removed {run.id}")


COMMANDS = (runs,)
