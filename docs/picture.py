"""Draws the terminal at the end of the example's run as an SVG: `python docs/picture.py docs/demo.svg`."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (
    "flowrun flows/codeteam.yaml --input requirements=examples/cronwhen/README.md --set rag.corpus=./.corpus/demo"
    " --model replay:examples/cronwhen/codeteam.jsonl"
)
WIDTH = 118


def main(target: Path) -> None:
    """Run the example in a temporary folder and export what it prints at its end."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("flows", "schemas", "examples", ".corpus"):
            (Path(folder) / name).symlink_to(ROOT / name)
        program = Path(sys.executable).with_name("flowrun")
        environment = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
        command = [program, *COMMAND.split()[1:]]
        shown = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    lines = shown.stdout.splitlines()
    lines = lines[next(index for index, line in enumerate(lines) if "repo/" in line) - 2 :]
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text.from_ansi("\n".join([f"$ {COMMAND}", "...", *lines])), soft_wrap=False)
    console.save_svg(str(target), title="flowrun")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
