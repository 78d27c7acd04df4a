"""Whose something is that may outlive a process: the mark of a living one, and whether the one that left it is dead."""

from __future__ import annotations

import os
from pathlib import Path


def mark() -> str:
    """This process, such that no other one ever has the same: boot, process namespace, id, start time."""
    return f"{_boot()} {_namespace()} {os.getpid()} {_began(os.getpid())}"


def is_dead(owner: str) -> bool:
    """Whether the process with this mark has certainly ended; of another namespace nothing is certain."""
    boot, namespace, process, began = [*owner.split(" "), "", "", "", ""][:4]
    if not process.isdecimal():
        return False
    if boot != _boot():
        return True
    return namespace == _namespace() and began != _began(int(process))


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _began(process: int) -> str:
    """When a process started, in clock ticks since the boot; empty if there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
