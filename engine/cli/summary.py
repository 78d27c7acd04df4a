"""The end of a run on the terminal: what came of it, the repository's tree and its history."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.panel import Panel
from rich.table import Table
from rich.tree import Tree

from engine.cli.plain import plain
from engine.comparison import Difference
from engine.runs import RunFolder
from engine.workspace import Workspace

_GO_ON = {
    "stopped": "flowrun resume {0}",
    "killed": "flowrun resume {0}",
    "waiting": "flowrun approve {0}, or flowrun reject {0} --why ...",
}
_DRIFT = "this run shows nothing about what was changed"
_MOST_LINES, _MOST_FILES = 24, 200
_LONGEST_VALUE = 160


class _Terminal(Console):
    """A console that leaves a closed pipe to its caller."""

    def on_broken_pipe(self) -> None:
        """Nothing: the error goes on."""
        raise BrokenPipeError


def escape(text: str) -> str:
    """Untrusted text without markup and control characters."""
    return escape_markup(plain(text))


def print_summary(run: RunFolder) -> None:
    """Print a run's outcome and, where there is one, its repository."""
    console = _Terminal(highlight=False)
    record = run.record()
    repository = run.path / "repo"
    if repository.is_dir() and record["status"] == "finished":
        workspace = Workspace.open(repository)
        console.print(_tree(workspace, repository.name))
        console.print(_history(workspace))
    console.print(_outcome(run, record))


def print_differences(names: Sequence[str], differences: Sequence[Difference]) -> None:
    """Print what differs between runs as a table, a column per run."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(escape(name), overflow="fold", ratio=1)
    part = None
    for one in differences:
        if one.part != part:
            table.add_row(f"[bold]{one.part}[/bold]")
            part = one.part
        table.add_row(f"  {escape(one.name)}", *(escape(_shown(value)) for value in one.values))
    _Terminal(highlight=False).print(table)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _outcome(run: RunFolder, record: dict[str, Any]) -> Panel:
    outcome, usage = record["outcome"] or {}, record["usage"] or {}
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in outcome.get("summary", {}).items():
        table.add_row(label, escape(str(text)))
    if usage:
        table.add_row("model calls", f"{usage['model_calls']:,} ({_tokens(usage)}), reused {usage['reused']}")
        roles = usage.get("roles", {})
        if len(roles) > 1:
            table.add_row("by role", "\n".join(_role(record, role, one) for role, one in roles.items()))
        if usage.get("drifted"):
            table.add_row("drifted", f"{usage['drifted']} answers were recorded for other questions: {_DRIFT}")
        table.add_row("sandbox runs", f"{usage['sandbox_runs']} ({record['sandbox']})")
    if record.get("unprotected"):
        table.add_row("protection", "[bold red]none[/bold red]: generated code ran with all your rights")
        table.add_row("time", f"{usage['seconds']} s")
    table.add_row("ended", escape(str(outcome.get("reason", run.status()))))
    status = run.status()
    if status in _GO_ON:
        table.add_row("go on with", _GO_ON[status].format(run.path))
    elif (run.path / "repo").is_dir():
        table.add_row("repository", str(run.path / "repo"))
    else:
        table.add_row("more in", str(run.path / "events.jsonl"))
    good = bool(outcome.get("ok"))
    return Panel(
        table,
        title=f"{run.id}: {'passed' if good else run.status()}",
        border_style="green" if good else "red",
        expand=False,
    )


def _tokens(usage: Mapping[str, Any]) -> str:
    """The tokens of some calls, the share of them that an endpoint had in its cache, and their cost."""
    read, cached = usage.get("input_tokens", 0), usage.get("cached_tokens", 0)
    total = usage["tokens"] if "tokens" in usage else read + usage["output_tokens"]
    share = f", {cached / read:.0%} of the prompts cached" if cached else ""
    cost = f", ${usage['cost']:.2f}" if usage["cost"] else ""
    return f"{total:,} tokens{share}{cost}"


def _role(record: Mapping[str, Any], role: str, usage: Mapping[str, Any]) -> str:
    models = record["model"]
    name = models.get(role, models["default"])["name"]
    return escape(f"{role or 'unknown'}: {usage['calls']:,} calls of {name} ({_tokens(usage)})")


def _tree(workspace: Workspace, name: str) -> Tree:
    root = Tree(f"[bold]{name}/[/bold]")
    folders = {PurePosixPath("."): root}
    paths = sorted(workspace.tree("main"))
    for path in map(PurePosixPath, paths[:_MOST_FILES]):
        for folder in [*reversed(path.parents)][1:]:
            if folder not in folders:
                folders[folder] = folders[folder.parent].add(f"{escape(folder.name)}/")
        folders[path.parent].add(escape(path.name))
    if len(paths) > _MOST_FILES:
        root.add(f"and {len(paths) - _MOST_FILES} more files")
    return root


def _history(workspace: Workspace) -> str:
    lines = workspace.graph("main")
    shown = lines[:_MOST_LINES]
    if len(lines) > len(shown):
        shown.append(f"... and {len(lines) - len(shown)} more lines: git log --graph --oneline")
    return escape("\n".join(["", *shown, ""]))
