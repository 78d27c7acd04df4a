"""Where generated code runs: never unprotected by accident."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError, SandboxError

if TYPE_CHECKING:
    from engine.sandbox.base import Limits, Sandbox
    from engine.sandbox.environment import Environment

BACKENDS = ("bubblewrap", "sandlock")  # in the order in which "auto" tries them


async def open_sandbox(backend: str = "auto", *, limits: Limits, cache: Path | None = None) -> Sandbox:
    """A sandbox whose protection was tried on this machine.

    backend  "auto" (the first one that holds) or the name of one
    limits   of the runs to come; they are checked for sense
    cache    a folder for Python environments (default: $XDG_CACHE_HOME/flowrun)

    Raises InputError, with the remedy, where there is none.
    """
    for name, value in asdict(limits).items():
        if name != "network" and value <= 0:
            raise InputError(f"sandbox: {name} must be greater than 0, not {value}")
    if backend not in ("auto", *BACKENDS):
        raise InputError(f"sandbox: there is no backend '{backend}' here; there is: auto, {', '.join(BACKENDS)}")
    if sys.platform != "linux":
        raise InputError(f"no sandbox, so no generated code is run: it needs Linux, and this is {platform.system()}")
    from engine.sandbox.environment import default_cache, environment

    cache = cache or default_cache()
    python = await environment((), cache)
    problems = []
    for name in BACKENDS if backend == "auto" else (backend,):
        try:
            return await _opened(name, python, cache)
        except (InputError, SandboxError) as error:
            problems.append(f"{name}: {error}")
    raise InputError("no sandbox, so no generated code is run. " + "; ".join(problems))


async def _opened(name: str, python: Environment, cache: Path) -> Sandbox:
    from engine.sandbox.bubblewrap import lacking
    from engine.sandbox.confined import ConfinedSandbox
    from engine.sandbox.probe import probe

    if lack := lacking() if name == "bubblewrap" else _lacking_for_sandlock():
        raise InputError(lack)
    sandbox = ConfinedSandbox(name, python, cache)
    if failed := await probe(sandbox):
        raise InputError(f"it does not hold on this machine: {', '.join(failed)}")
    return sandbox


def _lacking_for_sandlock() -> str | None:
    try:
        import sandlock
    except (ImportError, OSError):
        return "it needs the package sandlock: pip install sandlock"
    found, needed = sandlock.landlock_abi_version(), sandlock.min_landlock_abi()
    if found >= needed:
        return None
    kernel = f"this is Linux {platform.release()}, with {f'version {found}' if found > 0 else 'none'}"
    return f"it needs Linux 6.12 or later with Landlock switched on (version {needed} of it; {kernel})"
