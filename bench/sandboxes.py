"""How long a command that does nothing takes in each sandbox that holds on this machine."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator

from bench.figures import Figure, Skipped
from engine.errors import FlowrunError
from engine.sandbox import BACKENDS, open_sandbox
from engine.sandbox.base import Limits

TIMES = 10
COMMAND = ("python", "-c", "pass")


async def milliseconds(backend: str) -> float:
    """The median of some runs. Raises FlowrunError where the backend does not hold."""
    limits = Limits()
    sandbox = await open_sandbox(backend, limits=limits)
    times = []
    try:
        for _ in range(TIMES):
            began = time.perf_counter()
            result = await sandbox.run(COMMAND, {}, limits=limits)
            times.append(time.perf_counter() - began)
            assert result.exit_code == 0, result.stderr
    finally:
        await sandbox.close()
    return statistics.median(times) * 1000


def measure() -> Iterator[Figure | Skipped]:
    """Each backend; one that is not there is skipped."""
    for backend in BACKENDS:
        what = f"sandbox {backend}: {' '.join(COMMAND)}"
        try:
            yield Figure(what, asyncio.run(milliseconds(backend)), "ms")
        except FlowrunError as error:
            yield Skipped(what, str(error))
