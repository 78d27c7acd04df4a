"""Sandboxes for tests: one that was tried on this machine, or a skip that says what the machine lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.sandbox import open_sandbox
from engine.sandbox.base import Limits, Sandbox, SandboxResult

# What a machine lacks, which may be the right to have containers at all; a limit that does not hold is another matter.
_NOT_HERE = ("it needs", "podman does not work", "podman service does not start", "a container cannot be made")
_open: list[Sandbox] = []

LIMITS = Limits(memory=256 * 2**20, cpus=1.0, timeout=20.0)


def environments(factory: pytest.TempPathFactory) -> Path:
    """The cache of Python environments that all tests of a session share."""
    return factory.getbasetemp() / "environments"


@cache
def opened(backend: str, cache: Path) -> Sandbox:
    """An open sandbox; skips the test where the machine lacks what it needs, and fails where it does not hold."""
    try:
        sandbox = asyncio.run(open_sandbox(backend, limits=LIMITS, cache=cache))
    except InputError as error:
        if not any(one in str(error) for one in _NOT_HERE):
            raise
        pytest.skip(str(error))
    _open.append(sandbox)
    return sandbox


def close_all() -> None:
    """Close what was opened in this session."""
    while _open:
        asyncio.run(_open.pop().close())


def run(
    sandbox: Sandbox,
    program: str | Sequence[str],
    files: Mapping[str, bytes] | None = None,
    *,
    limits: Limits = LIMITS,
    collect: Sequence[str] = (),
) -> SandboxResult:
    """Run a Python program given as text, or a command."""
    command = ["python", "-c", program] if isinstance(program, str) else program
    return asyncio.run(sandbox.run(command, files or {}, limits=limits, collect=collect))
