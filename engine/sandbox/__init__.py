"""Where generated code runs: never unprotected by accident."""

from __future__ import annotations

import platform
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError, SandboxError

if TYPE_CHECKING:
    from engine.sandbox.base import Limits, Sandbox


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
    if backend not in _OPENERS and backend != "auto":
        raise InputError(f"sandbox: there is no backend '{backend}' here; there is: auto, {', '.join(_OPENERS)}")
    problems = []
    for name in _OPENERS if backend == "auto" else (backend,):
        try:
            return await _tried(await _OPENERS[name](cache))
        except (InputError, SandboxError) as error:
            problems.append(f"{name}: {error}")
    raise InputError("no sandbox, so no generated code is run. " + "; ".join(problems))


async def _tried(sandbox: Sandbox) -> Sandbox:
    from engine.sandbox.probe import probe

    if failed := await probe(sandbox):
        await sandbox.close()
        raise InputError(f"it does not hold on this machine: {', '.join(failed)}")
    return sandbox


async def _open_sandlock(cache: Path | None) -> Sandbox:
    try:
        import sandlock
    except (ImportError, OSError):
        raise InputError(f"it needs Linux, and 'pip install sandlock'; this is {platform.system()}") from None
    if (found := sandlock.landlock_abi_version()) < (needed := sandlock.min_landlock_abi()):
        kernel = f"this is Linux {platform.release()}, with " + (f"version {found}" if found > 0 else "none")
        raise InputError(f"it needs Linux 6.12 or later with Landlock switched on (version {needed} of it; {kernel})")
    from engine.sandbox.environment import default_cache, environment
    from engine.sandbox.sandlock import SandlockSandbox

    cache = cache or default_cache()
    return SandlockSandbox(await environment((), cache), cache)


_OPENERS: dict[str, Callable[[Path | None], Awaitable[Sandbox]]] = {"sandlock": _open_sandlock}
