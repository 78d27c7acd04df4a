"""What a build of a corpus is doing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from engine.cli.plain import plain

if TYPE_CHECKING:
    from engine.retrieval.building import Outcome


def progress(total: int, quiet: bool) -> AbstractContextManager[Callable[[Outcome], None]]:
    """Tells what becomes of each source: a bar on a terminal, else a line each; when quiet, failures alone."""
    if sys.stderr.isatty() and not quiet:
        return _bar(total)
    return nullcontext(_say if not quiet else _say_failure)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Outcome], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("reading", total=total)

        def advance(outcome: Outcome) -> None:
            progress.update(task, advance=1, description=plain(outcome.repository or outcome.source)[:40].ljust(40))
            if outcome.status in ("failed", "excluded"):
                progress.console.print(plain(_line(outcome)), markup=False, highlight=False)

        yield advance


def _say(outcome: Outcome) -> None:
    if outcome.status != "unchanged":
        click.echo(plain(_line(outcome)), err=outcome.status == "failed")


def _say_failure(outcome: Outcome) -> None:
    if outcome.status == "failed":
        _say(outcome)


def _line(outcome: Outcome) -> str:
    source = outcome.source
    match outcome.status:
        case "failed":
            return f"failed    {source}: {outcome.reason}"
        case "excluded":
            return f"excluded  {outcome.repository or source}: {outcome.reason}"
    return f"{outcome.status:<9} {outcome.repository} ({outcome.chunks} chunks)"
