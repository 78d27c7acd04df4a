"""What each backend holds on this machine, limit by limit, for people who want to know before a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.errors import InputError, SandboxError
from engine.sandbox import BACKENDS, lacking, open_backend
from engine.sandbox.base import Limits, Sandbox
from engine.sandbox.environment import default_cache, environment
from engine.sandbox.probe import probe

LIMITS = ("memory", "processes", "time", "output", "network", "file system", "environment")
# What the probe finds wanting, by the limit that it belongs to.
_BELONGS = {
    "memory": "memory",
    "processes": "processes",
    "network": "network",
    "read": "file system",
    "write": "file system",
    "attributes": "file system",
    "packages": "file system",
    "variables": "environment",
}
_TRIED = Limits(timeout=20.0, cpus=1.0, output=10_000)
_FLOOD = "import sys\nwhile True: sys.stdout.write('x' * 65536)"


@dataclass(frozen=True)
class Finding:
    """One backend on this machine.

    problem  why nothing of it could be tried, and what to do; empty if it could
    limits   whether each of LIMITS holds; empty if nothing could be tried
    """

    backend: str
    problem: str = ""
    limits: Mapping[str, bool] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether "auto" may take it."""
        return bool(self.limits) and all(self.limits.values())


async def examine(cache: Path | None = None) -> list[Finding]:
    """Every backend, in the order in which "auto" tries them."""
    if sys.platform != "linux":
        problem = f"it needs Linux, and this is {sys.platform}"
        return [Finding(name, problem) for name in BACKENDS]
    return [await _examined(name, cache or default_cache()) for name in BACKENDS]


async def _examined(name: str, cache: Path) -> Finding:
    if problem := lacking(name):
        return Finding(name, problem)
    try:
        sandbox = await open_backend(name, await environment((), cache), cache, limits=_TRIED)
    except (InputError, SandboxError) as error:
        return Finding(name, str(error))
    try:
        failed = {_BELONGS[one] for one in await probe(sandbox)} | await _limits_of_a_run(sandbox)
    except SandboxError as error:
        return Finding(name, str(error))
    finally:
        await sandbox.close()
    return Finding(name, limits={one: one not in failed for one in LIMITS})


async def _limits_of_a_run(sandbox: Sandbox) -> set[str]:
    """What does not hold of the two limits that the probe before a run takes for granted: they are flowrun's own."""
    failed = set()
    asleep = await sandbox.run(["python", "-c", "import time; time.sleep(15)"], {}, limits=replace(_TRIED, timeout=0.5))
    if asleep.ended != "timeout" or asleep.duration > 10:
        failed.add("time")
    flood = await sandbox.run(["python", "-c", _FLOOD], {}, limits=_TRIED)
    if flood.ended != "output" or len(flood.stdout) != _TRIED.output:
        failed.add("output")
    return failed
