"""The disposable process that one command of a stranger runs under, confined by sandlock.

It reads an order (one line of JSON) on its standard input, runs the command, and answers on its standard output: one
line of JSON, then what the command wrote. It has no secret and no privilege to lose. It takes every orphan of the
command as its child, so none outlives the run; and its standard input is a lifeline: when that closes, because the
caller is gone or has lost interest, everything is killed and the folder emptied.
"""

from __future__ import annotations

import json
import math
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

import sandlock

from engine.sandbox import folder, privileges, processes
from engine.sandbox.watch import Stream, until_the_end

_MOST_ENTRIES = 20_000  # files and folders that a run may make
_OPEN_FILES = 512
_PIPED = sandlock.StdioMode.PIPED


def main() -> None:
    """Read an order, obey it, answer."""
    order = json.loads(sys.stdin.buffer.readline())
    answer, streams = run(order)
    out = sys.stdout.buffer
    out.write(json.dumps(answer).encode() + b"\n")
    for stream in streams:
        out.write(stream.kept)
    out.flush()


def run(order: dict[str, Any]) -> tuple[dict[str, Any], list[Stream]]:
    """Run the command of an order; returns the answer and what it wrote to stdout and stderr."""
    base = Path(order["base"])
    privileges.adopt_orphans()
    own_shm = privileges.give_up(base, shm=base / "shm")
    _bound(order)
    start = time.monotonic()
    process = _policy(order, own_shm).popen(order["command"], sandlock.StdioMode.NULL, _PIPED, _PIPED)
    streams = [Stream(pipe, order["output"]) for pipe in (process.stdout, process.stderr)]
    ended = until_the_end(
        process.wait,
        process.kill,
        streams,
        deadline=start + order["timeout"],
        lifeline=sys.stdin.fileno(),
        exceeded=lambda: _exceeded(base, order["disk"], order["memory"]),
    )
    if ended == "abandoned":
        folder.empty(base)
        sys.exit(1)
    exit_code, why = _verdict(process.wait(), ended)
    answer = {
        "ended": why,
        "exit_code": exit_code,
        "duration": time.monotonic() - start,
        "peak_memory": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        "totals": [one.total for one in streams],
        "kept": [len(one.kept) for one in streams],
    }
    return answer, streams


def _exceeded(base: Path, disk: int, memory: int) -> str | None:
    """What sandlock does not bound: the whole folder, and memory that processes share."""
    if processes.memory(processes.descendants(), enough=memory) > memory:
        return "memory"
    return "disk" if folder.used(base, most_entries=_MOST_ENTRIES) > disk else None


def _policy(order: dict[str, Any], own_shm: bool) -> sandlock.Sandbox:
    return sandlock.Sandbox(
        fs_readable=[*order["readable"], "/proc"],  # of /proc, sandlock shows the sandbox's own processes alone
        fs_writable=[order["base"], "/dev/null", *(["/dev/shm"] if own_shm else [])],  # noqa: S108
        net_allow=["tcp://*:*", "udp://*:*"] if order["network"] else [],
        clean_env=True,
        env=order["environment"],
        cwd=str(Path(order["base"]) / "work"),
        max_memory=order["memory"],
        max_processes=order["processes"],
        max_cpu=max(1, int(order["cpus"] * 100)) if order["cpus"] < 1 else None,
        max_open_files=_OPEN_FILES,
        extra_deny_syscalls=["memfd_create"],  # files in memory that no limit counts
        name=Path(order["base"]).name,  # the host name; no two sandboxes may have the same
        no_randomize_memory=True,  # an address in the output is the same in the next run
    )


def _bound(order: dict[str, Any]) -> None:
    """Limits of each single process; they hold even where the watch would not look in time."""
    seconds = math.ceil(order["timeout"] * max(order["cpus"], 1)) + 1
    for kind, most in (
        (resource.RLIMIT_DATA, order["memory"]),
        (resource.RLIMIT_FSIZE, order["disk"]),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _verdict(result: sandlock.Result, ended: str | None) -> tuple[int | None, str]:
    """Exit code and reason; sandlock does not tell what it killed for, and its own reason to kill is memory."""
    if ended is not None:
        return None, ended
    if result.reason == sandlock.ExitReason.EXITED:
        return result.exit_code, "exit"
    by_limit = {-1: "memory", signal.SIGKILL: "memory", signal.SIGXCPU: "timeout", signal.SIGXFSZ: "disk"}
    why = by_limit.get(result.signal)
    return (None, why) if why else (-result.signal, "exit")
