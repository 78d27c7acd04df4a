"""The most memory that a map of 10,000 files of 4 kB takes; `python -m bench.memory` is the process measured."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
from bench.project import answer
from bench.runs import flow_of, run_whole

FILES = 10_000


def measure() -> Iterator[Figure]:
    """In MB, with Python and all that is imported."""
    command = [sys.executable, "-m", "bench.memory"]
    kilobytes = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    yield Figure(f"peak memory, {FILES:,} files of 4 kB", kilobytes / 1000, "MB", 400)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run_whole(flow_of("map", FILES), Path(folder), answer)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
