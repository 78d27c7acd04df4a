"""The command `flowrun`. `flowrun FLOW ...` means `flowrun run FLOW ...`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from engine.cli.plain import drop_output, plain
from engine.errors import FlowrunError


class FlowrunGroup(click.Group):
    """Commands, where a first word that is none of them names a flow to run."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` mean."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            self._refuse_misspelt(args[0], ctx)
            args = ["run", *args]
        return super().resolve_command(ctx, args)

    def _refuse_misspelt(self, word: str, ctx: click.Context) -> None:
        import difflib

        close = difflib.get_close_matches(word, self.commands, n=1, cutoff=0.75)
        if close and not os.path.exists(word):  # noqa: PTH110 - pathlib is not imported at start-up
            ctx.fail(f"there is no command '{word}'. Did you mean '{close[0]}'?")


@click.group(cls=FlowrunGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="flowrun", prog_name="flowrun")
def cli() -> None:
    """Run pipelines that write repositories, from YAML state graphs.

    \b
    flowrun flows/codeteam.yaml --input requirements=README.md --model NAME
    flowrun resume RUN
    """


def _add_commands() -> None:
    from engine.cli import corpus, flow, models, run, runs, sandbox, try_out

    modules = (run, runs, flow, corpus, models, sandbox, try_out)
    for command in (command for module in modules for command in module.COMMANDS):
        cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends the process with 0, 1 (a run failed), 2 (a mistake in the input) or 130 (stopped)."""
    if os.getcwd() not in sys.path:  # noqa: PTH109 - a node of one's own is found from the working directory
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    _add_commands()
    try:
        code: Any = cli.main(args=None if arguments is None else list(arguments), standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Abort:
        sys.exit(130)
    except FlowrunError as error:
        click.echo(plain(f"flowrun: {error}"), err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        _give_up_output(error)
    sys.exit(code if isinstance(code, int) else 0)


def _give_up_output(error: OSError) -> None:
    """End when what is printed cannot be written; what the interpreter would still print is dropped."""
    if error.filename is not None:
        raise error
    drop_output()
    if not isinstance(error, BrokenPipeError):
        click.echo(f"flowrun: cannot write to standard output: {error.strerror}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
