"""`flowrun runs`: what ran."""

from __future__ import annotations

import json
from pathlib import Path

import click

from engine.cli.run import runs_option


@click.group()
def runs() -> None:
    """List runs, and show one."""


@runs.command("list")
@runs_option
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def list_command(root: Path, as_json: bool) -> None:
    """The runs, oldest first."""
    from engine.runs import list_runs

    records = [run.record() for run in list_runs(root)]
    if as_json:
        click.echo(json.dumps(records, ensure_ascii=False))
        return
    for record in records:
        outcome = record["outcome"] or {}
        click.echo(f"{record['id']}  {record['status']:<9} {outcome.get('reason', '')}")


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


COMMANDS = (runs,)
