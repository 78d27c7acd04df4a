"""Watching one confined command until it has ended: what it writes, how long it takes, what it leaves behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Thread
from typing import IO

from engine.sandbox.processes import kill_children

_CHECK = 0.1  # seconds between two looks at what the command uses


@dataclass
class Stream:
    """What came through one pipe: all of it counted, the beginning kept."""

    pipe: IO[bytes]
    most: int
    kept: bytearray = field(default_factory=bytearray)
    total: int = 0

    def read(self) -> bool:
        """Take what is there; False at the end."""
        chunk = os.read(self.pipe.fileno(), 1 << 16)
        self.total += len(chunk)
        self.kept += chunk[: max(self.most - len(self.kept), 0)]
        return bool(chunk)

    @property
    def full(self) -> bool:
        """Whether more came than may."""
        return self.total > self.most


def until_the_end(
    wait: Callable[[], object],
    kill: Callable[[], None],
    streams: list[Stream],
    *,
    deadline: float,
    lifeline: int,
    exceeded: Callable[[], str | None],
) -> str | None:
    """Watch a command until it and all its descendants are gone.

    wait      returns when the command itself has ended
    kill      kills it
    deadline  on the monotonic clock
    lifeline  a file descriptor; once it closes, nobody wants the result
    exceeded  says from time to time which other limit is exceeded, if one is

    Returns why it was killed: "timeout", "output", "abandoned" or what `exceeded` said; None if it was not.
    """
    done, signal_done = os.pipe()

    def wait_and_tell() -> None:
        wait()
        os.close(signal_done)

    waiter = Thread(target=wait_and_tell, daemon=True)
    waiter.start()
    with selectors.DefaultSelector() as selector:
        for source in (done, lifeline, *(one.pipe.fileno() for one in streams)):
            selector.register(source, selectors.EVENT_READ)
        ended = _watch(selector, streams, done, deadline, lifeline, exceeded)
    if ended:
        kill()
    kill_children()
    waiter.join()
    os.close(done)
    for stream in streams:
        _drain(stream)
    return ended or ("output" if any(one.full for one in streams) else None)


def _watch(
    selector: selectors.BaseSelector,
    streams: list[Stream],
    done: int,
    deadline: float,
    lifeline: int,
    exceeded: Callable[[], str | None],
) -> str | None:
    by_descriptor = {one.pipe.fileno(): one for one in streams}
    next_check = time.monotonic() + _CHECK
    while True:
        events = selector.select(max(min(next_check, deadline) - time.monotonic(), 0))
        ready = {key.fd for key, _ in events}
        if lifeline in ready:
            return "abandoned"
        for descriptor in ready & by_descriptor.keys():
            if not by_descriptor[descriptor].read():
                selector.unregister(descriptor)
        if any(one.full for one in streams):
            return "output"
        if done in ready:
            return None
        if time.monotonic() >= deadline:
            return "timeout"
        if time.monotonic() >= next_check:
            if why := exceeded():
                return why
            next_check = time.monotonic() + _CHECK


def _drain(stream: Stream) -> None:
    """Take what is left in a pipe without waiting for more."""
    os.set_blocking(stream.pipe.fileno(), False)
    with contextlib.suppress(BlockingIOError):
        while not stream.full and stream.read():
            pass
