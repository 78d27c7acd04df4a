"""How long it takes from `resume` to the first new call, when nine tenths of a map are done.

`python -m bench.resume map` (or `develop`) is the process that is measured, after it has imported all it needs.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.project import answer
from bench.runs import flow_of, tools_for
from engine.flow import load_flow
from engine.models.base import Request
from engine.opening import RunOptions
from engine.runner import Handle, ResumeChoices, Watch, resume_run, start_run
from engine.runs import RunFolder

FILES = 1_000
OPTIONS = RunOptions(model="scripted")
CHOICES = ResumeChoices()


def seconds_to_first_call(name: str, files: int, script: Callable[[Request], str] = answer) -> float:
    """Seconds from `resume` to the first new call of a run that was stopped after nine tenths of the calls."""
    with tempfile.TemporaryDirectory() as folder:
        run = _stopped_run(name, files, Path(folder), script)
        first: list[float] = []

        def note(request: Request) -> str:
            first.append(time.perf_counter())
            handles[0].stop()  # what is wanted is known
            return script(request)

        handles: list[Handle] = []
        watch = Watch(on_start=lambda _, handle: handles.append(handle))
        began = time.perf_counter()
        flow = load_flow(str(run.path / "flow.yaml"))
        asyncio.run(resume_run(run, flow, OPTIONS, CHOICES, watch, tools=tools_for(note)))
        return first[0] - began


def _stopped_run(name: str, files: int, root: Path, script: Callable[[Request], str]) -> RunFolder:
    handles: list[Handle] = []
    answered = 0

    def listen(event: Mapping[str, Any]) -> None:
        nonlocal answered
        answered += event["kind"] == "answer"
        if answered == files * 9 // 10:
            handles[0].stop()

    watch = Watch([listen], on_start=lambda _, handle: handles.append(handle))
    flow = flow_of(name, files)
    result = asyncio.run(start_run(flow, {}, OPTIONS, root, watch, tools=tools_for(script)))
    assert result.status == "stopped", result.reason
    return result.run


def measure() -> Iterator[Figure]:
    """A map of bare model calls, and developers at work: what they did is done again from recorded answers."""
    for name, times, what in (("map", 5, "model calls"), ("develop", 1, "files checked and committed")):
        seconds = statistics.median(_in_own_process(name) for _ in range(times))
        each = f"{seconds * 1000 / (FILES * 0.9):.2f} ms for each that was done"
        yield Figure(f"resume to first new call, 90 % of {FILES:,} {what}", seconds, "s", 0.2, detail=each)


def _in_own_process(name: str) -> float:
    command = [sys.executable, "-m", "bench.resume", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    seconds_to_first_call(sys.argv[1], 50)  # imports
    print(seconds_to_first_call(sys.argv[1], FILES))
