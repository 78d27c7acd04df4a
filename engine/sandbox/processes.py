"""The processes below this one: which there are, how much memory they hold together, and how they all end."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

from engine.errors import SandboxError

_PERIOD = 0.05  # seconds of running and of standing still
_PATIENCE = 10.0  # seconds for killed processes to be gone
_OWN_MEMORY = re.compile(rb"^Pss_(?:Anon|Shmem): *(\d+) kB$", re.MULTILINE)
_PAGE = os.sysconf("SC_PAGE_SIZE")


def descendants() -> list[int]:
    """The ids of all processes below this one."""
    found = list(_children(os.getpid()))
    for one in found:  # grows while it is walked
        found.extend(_children(one))
    return found


def _children(process: int) -> Iterator[int]:
    with suppress(OSError):  # it has ended
        for task in Path(f"/proc/{process}/task").iterdir():
            yield from map(int, (task / "children").read_text().split())


def memory(processes: list[int], *, enough: int) -> int:
    """Bytes of memory that processes hold together, what they share counted once; at least roughly.

    The exact sum is costly and only made when a quick upper bound exceeds `enough`.
    """
    bound = sum(_resident(one) for one in processes)
    return bound if bound <= enough else sum(_held(one) for one in processes)


def _resident(process: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    return 0


def _held(process: int) -> int:
    with suppress(OSError):
        return 1024 * sum(map(int, _OWN_MEMORY.findall(Path(f"/proc/{process}/smaps_rollup").read_bytes())))
    return 0


def throttle(share: float) -> None:
    """From now on, let the processes below this one run only for a share of the time, in a thread of its own.

    The first two, which are the confinement, are left alone so that an end is noticed at once.
    """

    def alternate() -> None:
        while True:
            for sign, seconds in ((signal.SIGCONT, share * _PERIOD), (signal.SIGSTOP, (1 - share) * _PERIOD)):
                for process in descendants()[2:]:
                    with suppress(ProcessLookupError):
                        os.kill(process, sign)
                time.sleep(seconds)

    Thread(target=alternate, daemon=True).start()


def kill_children() -> None:
    """Kill every child of this process, and theirs as they become its own, until there is none.

    The process must adopt orphans. Raises SandboxError if some child does not go.
    """
    give_up = time.monotonic() + _PATIENCE
    while _has_children():
        for child in _children(os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        if time.monotonic() > give_up:
            raise SandboxError("processes in the sandbox could not be killed")
        time.sleep(0.001)


def _has_children() -> bool:
    """Whether there is any child left; those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True
