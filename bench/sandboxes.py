"""How long a command takes in each sandbox that holds on this machine: one that does nothing, and files of tests."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterator

from bench.figures import Figure, Skipped
from engine.errors import FlowrunError
from engine.sandbox import BACKENDS, open_sandbox
from engine.sandbox.base import Limits, Sandbox

TIMES = 20
NOTHING = ("python", "-c", "pass")
TARGETS = {"podman": 200.0, "bubblewrap": 200.0, "sandlock": 100.0}  # milliseconds, on two cores
FILES = 20
TESTS = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


async def nothing(sandbox: Sandbox) -> float:
    """The median time of a command that does nothing, in milliseconds."""
    times = []
    for _ in range(TIMES):
        began = time.perf_counter()
        result = await sandbox.run(NOTHING, {}, limits=Limits())
        times.append(time.perf_counter() - began)
        assert result.exit_code == 0, result.stderr
    return statistics.median(times) * 1000


async def test_files(sandbox: Sandbox) -> float:
    """The time of some files of tests, a command for each, one after the other, in seconds."""
    began = time.perf_counter()
    for number in range(FILES):
        file = {f"test_{number}.py": f"def test_it(): assert {number} >= 0\n".encode()}
        result = await sandbox.run(TESTS, file, limits=Limits())
        assert result.exit_code == 0, result.stdout
    return time.perf_counter() - began


async def measured(backend: str, *measurements: Callable[[Sandbox], Awaitable[float]]) -> list[float]:
    """What is measured in one sandbox that stays open. Raises FlowrunError where the backend does not hold."""
    sandbox = await open_sandbox(backend, limits=Limits())
    try:
        return [await one(sandbox) for one in measurements]
    finally:
        await sandbox.close()


def measure() -> Iterator[Figure | Skipped]:
    """Each backend; one that is not there is skipped."""
    for backend in BACKENDS:
        what = f"sandbox {backend}: {' '.join(NOTHING)}"
        try:
            trivial, files = asyncio.run(measured(backend, nothing, test_files))
        except FlowrunError as error:
            yield Skipped(what, str(error))
            continue
        yield Figure(what, trivial, "ms", TARGETS[backend], f"median of {TIMES}, half a core")
        yield Figure(
            f"sandbox {backend}: {FILES} files of tests", files, "s", detail="one after the other, half a core"
        )
