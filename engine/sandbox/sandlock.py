"""Confinement that needs nothing installed: Landlock and seccomp through sandlock. Run by the warden."""

from __future__ import annotations

import resource
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import sandlock

from engine.sandbox import privileges

_OPEN_FILES = 512
_DEVICES = ("/dev/zero", "/dev/urandom", "/dev/random")
_PIPED = sandlock.StdioMode.PIPED


@dataclass(frozen=True)
class Started:
    """A confined command that runs."""

    process: sandlock.Process
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self) -> int:
        """Wait for its end: the exit code, or a signal's number negated (9 where it is not known)."""
        result = self.process.wait()
        if result.reason == sandlock.ExitReason.EXITED:
            return int(result.exit_code)
        return -result.signal if result.signal > 0 else -9

    def kill(self) -> None:
        """Kill it."""
        self.process.kill()


def start(order: Mapping[str, Any]) -> Started:
    """Confine and start the command of an order."""
    base = Path(order["base"])
    own_shm = privileges.give_up(base, shm=base / "shm")
    resource.setrlimit(resource.RLIMIT_DATA, (order["memory"], order["memory"]))
    process = _policy(order, base, own_shm).popen(order["command"], sandlock.StdioMode.NULL, _PIPED, _PIPED)
    return Started(process, process.stdout, process.stderr)


def _policy(order: Mapping[str, Any], base: Path, own_shm: bool) -> sandlock.Sandbox:
    return sandlock.Sandbox(
        # Of /proc, sandlock shows the sandbox's own processes alone.
        fs_readable=[*order["readable"], *_DEVICES, "/proc"],
        fs_writable=[str(base), "/dev/null", *(["/dev/shm"] if own_shm else [])],  # noqa: S108
        net_allow=["tcp://*:*", "udp://*:*"] if order["network"] else [],
        clean_env=True,
        env={**order["environment"], "HOME": str(base / "home"), "TMPDIR": str(base / "tmp")},
        cwd=str(base / "work"),
        max_memory=order["memory"],
        max_processes=order["processes"],
        max_cpu=max(1, int(order["cpus"] * 100)) if order["cpus"] < 1 else None,
        max_open_files=_OPEN_FILES,
        extra_deny_syscalls=["memfd_create"],  # files in memory that no limit counts
        name=base.name,  # the host name; no two sandboxes may have the same
        no_randomize_memory=True,  # an address in the output is the same in the next run
    )
