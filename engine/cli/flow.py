"""Commands about flow files: check, show, draw, describe and start them. None of them runs a flow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engine.errors import Diagnostic, FlowError, InputError

if TYPE_CHECKING:
    from engine.flow.loader import Loaded

_SETS = click.option(
    "--set", "sets", multiple=True, metavar="PATH=VALUE", help="Override a value, such as qa.max_rounds=2 (YAML)."
)
_SET_FILES = click.option(
    "--set-file", "set_files", multiple=True, metavar="PATH=FILE", help="Override a value with the text of a file."
)


@click.command()
@click.argument("flows", nargs=-1, required=True, metavar="FLOW...")
@_SETS
@_SET_FILES
@click.option("--no-import", is_flag=True, help="Do not import the code that the flow names.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "github"]), default="text", help="For people, programs, CI."
)
@click.pass_context
def check(
    ctx: click.Context,
    flows: tuple[str, ...],
    sets: tuple[str, ...],
    set_files: tuple[str, ...],
    no_import: bool,
    form: str,
) -> None:
    """Report everything that is wrong with flow files, each with its place.

    Without --no-import the code that a flow names is imported, and so run, as a Makefile's is.
    """
    results = {name: _diagnose(name, sets, set_files, imports=not no_import) for name in flows}
    if form == "json":
        click.echo(json.dumps([_result(name, found) for name, found in results.items()], indent=2, ensure_ascii=False))
    else:
        for name, found in results.items():
            for one in found:
                click.echo(_github(one) if form == "github" else str(one))
            if not found and form == "text":
                click.echo(f"{name}: ok")
    if any(results.values()):
        ctx.exit(2)


@click.command()
@click.argument("flow")
@_SETS
@_SET_FILES
@click.option("--resolved", is_flag=True, help="The whole flow, merged, with the origin of every value.")
@click.option("--json", "as_json", is_flag=True, help="For programs: the resolved flow and the origins.")
def show(flow: str, sets: tuple[str, ...], set_files: tuple[str, ...], resolved: bool, as_json: bool) -> None:
    """Show what a flow is: its inputs, parameters and nodes, or with --resolved all of it.

    What --resolved prints is a flow file itself and needs no other.
    """
    loaded = _loaded(flow, sets, set_files)
    if as_json:
        from engine.flow.resolved import origins

        data = {"flow": loaded.flow.document, "digest": loaded.flow.digest, "origins": origins(loaded)}
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    elif resolved:
        from engine.flow.resolved import resolved_text

        click.echo(resolved_text(loaded), nl=False)
    else:
        from engine.flow.overview import overview

        click.echo(overview(loaded.flow), nl=False)


@click.command()
def schema() -> None:
    """Print the JSON Schema of flow files, for editors."""
    from engine.resources import schema_file

    click.echo(schema_file("flow").read_text(encoding="utf-8"), nl=False)


@click.command()
@click.argument("flow")
@_SETS
@_SET_FILES
@click.option(
    "--format",
    "form",
    type=click.Choice(["mermaid", "dot", "svg"]),
    default="mermaid",
    help="SVG needs no other program.",
)
def graph(flow: str, sets: tuple[str, ...], set_files: tuple[str, ...], form: str) -> None:
    """Draw a flow with the guards on its edges, to standard output."""
    from engine.flow.diagrams import dot, mermaid
    from engine.flow.drawing import svg

    loaded = _loaded(flow, sets, set_files)
    click.echo({"mermaid": mermaid, "dot": dot, "svg": svg}[form](loaded.flow), nl=False)


@click.command()
@click.argument("name")
@click.option("--from", "base", required=True, metavar="FLOW", help="The flow to start from: a name or a path.")
def new(name: str, base: str) -> None:
    """Start a flow of one's own, NAME.yaml, that extends another and says only what differs."""
    from engine.flow.template import new_flow

    path = Path(f"{name}.yaml")
    text = new_flow(name, base)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(f"{path} is there already; nothing was changed") from None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    click.echo(f"{path} extends {base}. Edit it, then: flowrun check {path}")


COMMANDS: tuple[click.Command, ...] = (check, show, schema, graph, new)


def _loaded(flow: str, sets: tuple[str, ...], set_files: tuple[str, ...]) -> Loaded:
    from engine.flow.loader import load

    loaded = load(flow, sets=sets, set_files=set_files)
    loaded.raise_all()
    return loaded


def _diagnose(flow: str, sets: tuple[str, ...], set_files: tuple[str, ...], *, imports: bool) -> list[Diagnostic]:
    from engine.flow.loader import load

    try:
        loaded = load(flow, sets=sets, set_files=set_files)
        if imports:
            loaded.check_code()
    except FlowError as error:
        return list(error.diagnostics)
    except InputError as error:
        return [Diagnostic(flow, 1, 1, str(error))]
    return loaded.diagnostics()


def _result(name: str, found: list[Diagnostic]) -> dict[str, Any]:
    faults = [{"file": one.file, "line": one.line, "column": one.column, "message": one.message} for one in found]
    return {"flow": name, "ok": not found, "faults": faults}


def _github(one: Diagnostic) -> str:
    """An annotation, as GitHub's workflow commands write it."""
    file = _escaped(one.file).replace(":", "%3A").replace(",", "%2C")
    return f"::error file={file},line={one.line},col={one.column}::{_escaped(one.message)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
