"""The disposable process that one command of a stranger runs under.

It reads an order (one line of JSON) on its standard input, confines and runs the command, and answers on its standard
output: one line of JSON, then what the command wrote. It has no secret and no privilege to lose. It takes every orphan
of the command as its child, so none outlives the run; and its standard input is a lifeline: when that closes, because
the caller is gone or has lost interest, everything is killed and the folder emptied.
"""

from __future__ import annotations

import json
import math
import resource
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Protocol

from engine.sandbox import folder, privileges, processes
from engine.sandbox.watch import Stream, until_the_end

_MOST_ENTRIES = 20_000  # files and folders that a run may make


class Started(Protocol):
    """A confined command that runs."""

    @property
    def stdout(self) -> IO[bytes]:
        """What it writes."""

    @property
    def stderr(self) -> IO[bytes]:
        """What it complains about."""

    def wait(self) -> int:
        """Wait for its end: the exit code, or a signal's number negated."""

    def kill(self) -> None:
        """Kill it."""


def main() -> None:
    """Read an order, obey it, answer."""
    order = json.loads(sys.stdin.buffer.readline())
    answer, streams = run(order, _starter(order["backend"]), lambda: _exceeded(order), sys.stdin.fileno())
    say(answer, [stream.kept for stream in streams])


def say(answer: Mapping[str, Any], contents: Sequence[bytes | bytearray]) -> None:
    """Answer: a line of JSON, then the contents whose sizes it names."""
    out = sys.stdout.buffer
    out.write(json.dumps(answer).encode() + b"\n")
    for content in contents:
        out.write(content)
    out.flush()


def run(
    order: Mapping[str, Any],
    start: Callable[[Mapping[str, Any]], Started],
    exceeded: Callable[[], str | None],
    lifeline: int,
) -> tuple[dict[str, Any], list[Stream]]:
    """Run the command of an order; returns the answer and what it wrote to stdout and stderr.

    start     confines and starts it
    exceeded  says which limit that the confinement does not bound is exceeded, if one is
    lifeline  a file descriptor; when its other end closes, all is killed and this process ends
    """
    privileges.adopt_orphans()
    _bound(order)
    began = time.monotonic()
    started = start(order)
    streams = [Stream(pipe, order["output"]) for pipe in (started.stdout, started.stderr)]
    ended = until_the_end(
        started.wait,
        started.kill,
        streams,
        deadline=began + order["timeout"],
        lifeline=lifeline,
        exceeded=exceeded,
    )
    if ended == "abandoned":
        folder.empty(Path(order["base"]))
        sys.exit(1)
    ended = ended or exceeded()  # what it wrote since the last look
    exit_code, why = (None, ended) if ended else _verdict(started.wait())
    answer = {
        "ended": why,
        "exit_code": exit_code,
        "duration": time.monotonic() - began,
        "peak_memory": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        "totals": [one.total for one in streams],
        "kept": [len(one.kept) for one in streams],
    }
    return answer, streams


def _starter(backend: str) -> Callable[[Mapping[str, Any]], Started]:
    if backend == "bubblewrap":
        from engine.sandbox import bubblewrap

        return bubblewrap.start
    if backend == "unprotected":
        from engine.sandbox import unprotected

        return unprotected.start
    from engine.sandbox import sandlock

    return sandlock.start


def _exceeded(order: Mapping[str, Any]) -> str | None:
    found = processes.descendants()
    if processes.memory(found, enough=order["memory"]) > order["memory"]:
        return "memory"
    if len(found) > order["processes"] + 2:  # bubblewrap itself is two
        return "processes"
    return "disk" if folder.used(Path(order["base"]), most_entries=_MOST_ENTRIES) > order["disk"] else None


def _bound(order: Mapping[str, Any]) -> None:
    """Limits of each single process; they hold even where the watch would not look in time."""
    seconds = math.ceil(order["timeout"] * max(order["cpus"], 1)) + 1
    for kind, most in (
        (resource.RLIMIT_FSIZE, order["disk"]),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _verdict(code: int) -> tuple[int | None, str]:
    """Exit code and reason. A kill that nobody here ordered is for memory: sandlock's, or the kernel's."""
    by_limit = {-signal.SIGKILL: "memory", -signal.SIGXCPU: "timeout", -signal.SIGXFSZ: "disk"}
    why = by_limit.get(code)
    return (None, why) if why else (code, "exit")
