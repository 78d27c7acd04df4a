"""No confinement at all, for those who ask for it by name: a time limit, bounded output, a clean environment.

What it runs can read, write and reach whatever the user can. Run by the warden, which ends it and all that it starts.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from engine.sandbox import privileges


@dataclass(frozen=True)
class Started:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self) -> int:
        """Wait for its end: the exit code, or a signal's number negated."""
        return self.process.wait()

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()


def start(order: Mapping[str, Any]) -> Started:
    """Start the command of an order."""
    base = Path(order["base"])
    privileges.fix_addresses()
    process = subprocess.Popen(
        ["sh", "-c", 'exec "$@"', "sh", *order["command"]],  # a command that is not there is a result, not an error
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**order["environment"], "HOME": str(base / "home"), "TMPDIR": str(base / "tmp")},
        cwd=base / "work",
    )
    assert process.stdout and process.stderr
    return Started(process, process.stdout, process.stderr)
