"""Whether a sandbox holds on this machine: its limits are tried, not believed."""

from __future__ import annotations

import json
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from engine.errors import SandboxError
from engine.sandbox.base import Limits, Sandbox, SandboxResult

_INSIDE = Path(__file__).with_name("probe_inside.py")
_MEMORY = 96 * 2**20  # bytes that the memory bomb may have; it asks for four times as much
_PROCESSES = 8
_LIMITS = Limits(memory=_MEMORY, processes=_PROCESSES, timeout=20.0, cpus=1.0)
_BOMB = "held = [bytearray(1 << 20) for _ in range(int(__import__('sys').argv[1]))]; print('allocated')"


async def probe(sandbox: Sandbox) -> list[str]:
    """What does not hold, or is not there; empty if all is well.

    "memory", "processes"    a limit
    "network", "read", "write", "attributes", "variables"  something outside that can be reached
    "packages"               the environment's own, which cannot be reached

    Raises SandboxError if nothing can be run at all.
    """
    bomb = await sandbox.run(["python", "-c", _BOMB, str(4 * _MEMORY >> 20)], {}, limits=_LIMITS)
    failed = ["memory"] if "allocated" in bomb.stdout else []
    with _outside() as (port, folder, secret), _variable("FLOWRUN_PROBE", "secret"):
        arguments = [str(port), str(folder), str(secret), str(2 * _PROCESSES)]
        result = await sandbox.run(
            ["python", "inside.py", *arguments],
            {"inside.py": _INSIDE.read_bytes()},
            limits=_LIMITS,
        )
        found = _answer(result, sandbox.name)
        if stat.S_IMODE(secret.stat().st_mode) != 0o600:
            failed.append("attributes")
    failed += [name for name in ("network", "write", "read", "variables", "packages") if found[name]]
    if found["processes"] > _PROCESSES:
        failed.append("processes")
    return failed


def _answer(result: SandboxResult, name: str) -> dict[str, int]:
    try:
        return dict(json.loads(result.stdout))
    except ValueError:
        said = result.stderr.strip().splitlines() or [f"it ended by {result.ended}"]
        raise SandboxError(f"the {name} sandbox cannot run Python here: {said[-1]}") from None


@contextmanager
def _outside() -> Iterator[tuple[int, Path, Path]]:
    """A port that listens, a folder, and a file with a secret: all of them outside of any sandbox."""
    with tempfile.TemporaryDirectory() as name, closing(socket.create_server(("127.0.0.1", 0))) as server:
        secret = Path(name) / "secret"
        secret.touch(mode=0o600)
        secret.write_text("secret")
        yield server.getsockname()[1], Path(name), secret


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
