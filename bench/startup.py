"""How long commands take over `python -c "import click"`: what is run in turn is slowed down by the same things."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Figure

TIMES = 15
ROOT = Path(__file__).parents[1]
BASE = (sys.executable, "-c", "import click")
FLOWRUN = str(Path(sys.executable).with_name("flowrun"))
COMMANDS = (
    ("flowrun --help", (FLOWRUN, "--help"), 2.0),
    ("flowrun check --no-import", (FLOWRUN, "check", "flows/codeteam.yaml", "--no-import"), 4.0),
)


def seconds(command: Sequence[str]) -> float:
    """Of one process, from its start to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - began


def measure() -> Iterator[Figure]:
    """The median of each command over that of the import."""
    rounds = [[seconds(BASE), *(seconds(command) for _, command, _ in COMMANDS)] for _ in range(TIMES)]
    base, *found = (statistics.median(column) for column in zip(*rounds, strict=True))
    for (what, _, target), median in zip(COMMANDS, found, strict=True):
        detail = f"{median * 1000:.0f} ms over {base * 1000:.0f} ms"
        yield Figure(f'{what} over python -c "import click"', median / base, "x", target, detail=detail)
