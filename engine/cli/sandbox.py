"""`flowrun sandbox`: what protects this machine from generated code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from engine.sandbox.examination import Finding


@click.group()
def sandbox() -> None:
    """Find out what can run generated code safely here."""


@sandbox.command("check")
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def check_command(as_json: bool) -> int:
    """Try each backend's limits on this machine, and say how to get what is missing.

    Exit code 0 if one holds at least, else 1.
    """
    import asyncio

    from engine.sandbox.examination import examine

    findings = asyncio.run(examine())
    taken = next((one.backend for one in findings if one.holds), None)
    if as_json:
        shown = [
            {"backend": one.backend, "holds": one.holds, "problem": one.problem, "limits": dict(one.limits)}
            for one in findings
        ]
        click.echo(json.dumps({"auto": taken, "backends": shown}))
    else:
        click.echo("\n".join([*_table(findings), "", *_advice(findings, taken)]))
    return 0 if taken else 1


def _table(findings: list[Finding]) -> list[str]:
    from engine.sandbox.examination import LIMITS

    rows = [["limit", *(one.backend for one in findings)]]
    for limit in LIMITS:
        said = ["-" if not one.limits else "holds" if one.limits[limit] else "FAILS" for one in findings]
        rows.append([limit, *said])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _advice(findings: list[Finding], taken: str | None) -> list[str]:
    from engine.cli.plain import plain

    lines = [f"{one.backend}: {plain(one.problem)}" for one in findings if one.problem]
    lines += [f"{one.backend}: not taken, since a limit fails" for one in findings if one.limits and not one.holds]
    if taken:
        return [f"auto takes {taken}", *lines]
    return ["no backend holds, so no generated code is run here", *lines]


COMMANDS = (sandbox,)
