"""`flowrun models`: what a model's endpoint can do."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import click

from engine.cli.plain import plain
from engine.errors import InputError

if TYPE_CHECKING:
    from engine.models.probe import Finding

_WIDTH = 110
_MARKS = {True: "has", False: "lacks", None: "-"}


@click.group()
def models() -> None:
    """Look at the models that flowrun may ask."""


@models.command("probe")
@click.option("--model", "name", required=True, metavar="NAME", help="The model's name at the endpoint.")
@click.option(
    "--base-url", metavar="URL", help="An OpenAI-compatible endpoint; OPENAI_BASE_URL or OpenAI's by default."
)
@click.option(
    "--api-key-env",
    metavar="VARIABLE",
    default="OPENAI_API_KEY",
    show_default=True,
    help="The environment variable that holds the key.",
)
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def probe_command(name: str, base_url: str | None, api_key_env: str, as_json: bool) -> None:
    """Ask a model a dozen short questions: what its endpoint has and lacks, and what flowrun does instead.

    \b
    flowrun models probe --model NAME --base-url http://localhost:8000/v1
    """
    import asyncio
    from dataclasses import asdict

    from engine.models import ModelSpec
    from engine.models.endpoint import find_endpoint
    from engine.models.probe import PATIENCE, probe

    spec = ModelSpec(name, base_url, api_key_env, patience=PATIENCE)
    if not spec.is_endpoint:
        raise InputError(f"--model {name}: this is no endpoint, so there is nothing to probe; give a model's name")
    url = find_endpoint(spec).url
    findings = asyncio.run(probe(spec))
    if as_json:
        said = {"model": name, "base_url": url, "findings": [asdict(one) for one in findings]}
        click.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    click.echo(plain(f"model '{name}' at {url}\n"))
    for one in findings:
        click.echo(plain(_shown(one)))


COMMANDS = (models,)


def _shown(finding: Finding) -> str:
    """A finding in a line or a few; what flowrun does about it stands below."""
    head = f"  {_MARKS[finding.ok]:<6} {finding.what:<18} "
    below = " " * len(head)
    parts = [finding.detail, *([f"-> {finding.instead}"] if finding.instead else [])]
    lines = [line for part in parts for line in textwrap.wrap(part, _WIDTH - len(head)) or [""]]
    return head + f"\n{below}".join(lines)
