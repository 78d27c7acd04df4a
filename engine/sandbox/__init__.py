"""Where generated code runs: never unprotected by accident."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError, SandboxError

if TYPE_CHECKING:
    from engine.sandbox.base import Limits, Sandbox
    from engine.sandbox.environment import Environment

BACKENDS = ("podman", "bubblewrap", "sandlock")  # in the order in which "auto" tries them


async def open_sandbox(
    backend: str = "auto",
    *,
    limits: Limits,
    image: str | None = None,
    pull: bool = False,
    unprotected: bool = False,
    cache: Path | None = None,
) -> Sandbox:
    """A sandbox whose protection was tried on this machine.

    backend  "auto" (the first one that holds) or the name of one
    limits   of the runs to come; they are checked for sense
    image    a container image to run in, which only podman does; `pull`: it may be fetched
    unprotected  no sandbox at all; the user said so, and neither a flow nor "auto" can
    cache    a folder for Python environments (default: $XDG_CACHE_HOME/flowrun)

    Raises InputError, with the remedy, where there is none.
    """
    names = _candidates(backend, limits, image, unprotected)
    from engine.sandbox.environment import default_cache, environment

    cache = cache or default_cache()
    python = await environment((), cache)
    if unprotected:
        from engine.sandbox.confined import ConfinedSandbox

        return ConfinedSandbox("unprotected", python, cache)
    problems = []
    for name in names:
        try:
            return await _probed(name, python, cache, limits, image, pull)
        except (InputError, SandboxError) as error:
            problems.append(f"{name}: {error}")
    raise InputError("no sandbox, so no generated code is run. " + "; ".join(problems))


def _candidates(backend: str, limits: Limits, image: str | None, unprotected: bool) -> Sequence[str]:
    """The backends to try. Raises InputError for what makes no sense."""
    for name, value in asdict(limits).items():
        if name != "network" and value <= 0:
            raise InputError(f"sandbox: {name} must be greater than 0, not {value}")
    if backend not in ("auto", *BACKENDS):
        raise InputError(f"sandbox: there is no backend '{backend}' here; there is: auto, {', '.join(BACKENDS)}")
    if image and (unprotected or backend not in ("auto", "podman")):
        other = "--unsafe-no-sandbox" if unprotected else f"the backend {backend}"
        raise InputError(f"sandbox: only podman runs an image ({image}), and {other} was asked for; drop one of them")
    if sys.platform != "linux":
        raise InputError(f"no sandbox, so no generated code is run: it needs Linux, and this is {sys.platform}")
    if image:
        return ("podman",)
    return BACKENDS if backend == "auto" else (backend,)


async def _probed(
    name: str, python: Environment, cache: Path, limits: Limits, image: str | None, pull: bool
) -> Sandbox:
    from engine.sandbox.probe import probe

    sandbox = await open_backend(name, python, cache, limits=limits, image=image, pull=pull)
    try:
        if failed := await probe(sandbox):
            raise InputError(f"it does not hold on this machine: {', '.join(failed)}")
    except BaseException:
        await sandbox.close()
        raise
    return sandbox


async def open_backend(
    name: str, python: Environment, cache: Path, *, limits: Limits, image: str | None = None, pull: bool = False
) -> Sandbox:
    """A backend that nothing is known of yet. Raises InputError for what the machine lacks, or SandboxError."""
    if lack := lacking(name):
        raise InputError(lack)
    if name == "podman":
        from engine.sandbox.podman import open_podman

        return await open_podman(python, cache, limits=limits, image=image, pull=pull)
    from engine.sandbox.confined import ConfinedSandbox

    return ConfinedSandbox(name, python, cache)


def lacking(name: str) -> str | None:
    """What this machine lacks for a backend, and how to get it; None if nothing."""
    if name == "podman":
        from engine.sandbox.containers import service

        return service.lacking()
    if name == "bubblewrap":
        from engine.sandbox import bubblewrap

        return bubblewrap.lacking()
    return _lacking_for_sandlock()


def _lacking_for_sandlock() -> str | None:
    try:
        import sandlock
    except (ImportError, OSError):
        return "it needs the package sandlock: pip install sandlock"
    found, needed = sandlock.landlock_abi_version(), sandlock.min_landlock_abi()
    if found >= needed:
        return None
    kernel = f"this is Linux {os.uname().release}, with {f'version {found}' if found > 0 else 'none'}"
    return f"it needs Linux 6.12 or later with Landlock switched on (version {needed} of it; {kernel})"
