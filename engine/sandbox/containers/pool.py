"""The warm containers of one sandbox: taken for a command, given back when nothing of it is left."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Event, Lock
from typing import TYPE_CHECKING

from engine.errors import SandboxError
from engine.sandbox.containers.container import Broken, Container, Kind

if TYPE_CHECKING:
    from podman import PodmanClient

_MOST = max(4, 2 * (os.cpu_count() or 1))  # containers at one time
_LOOK = 0.2  # seconds between two looks at whether a container is still wanted
_REST = 30.0  # seconds that a container of another kind is kept
_RESERVE = 60.0  # seconds of a container's life beyond a command's time limit


class Use:
    """One use of a container, which another thread can end."""

    def __init__(self, connect: Callable[[], PodmanClient]) -> None:
        self.cancelled = Event()
        self._connect = connect
        self._lock = Lock()
        self._container: Container | None = None

    def begin(self, container: Container | None) -> None:
        """From now on it is this container that would be killed."""
        with self._lock:
            self._container = container

    def cancel(self) -> None:
        """End it: the container is killed, if one is in use."""
        self.cancelled.set()
        with self._lock:  # as long as it is held, the container is not given back
            if self._container is not None:
                with self._connect() as client:
                    self._container.kill(client)


class Pool:
    """Containers by kind. All of its methods may block, and may be called from any thread."""

    def __init__(self, connect: Callable[[], PodmanClient]) -> None:
        self._connect = connect
        self._change = Condition()
        self._idle: list[Container] = []
        self._coming: list[Kind] = []  # of containers that will be idle in a moment
        self._count = 0
        self._closed = False
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="flowrun-containers")

    def prepare(self, kind: Kind) -> None:
        """Have a container of this kind ready before it is asked for."""
        with self._change:
            self._count += 1
            self._coming.append(kind)
        self._threads.submit(self._settle, kind, lambda: self._make(kind))

    def take(self, kind: Kind, seconds: float, cancelled: Callable[[], bool]) -> Container:
        """A container of this kind that lives for some seconds more. Raises SandboxError if none can be made."""
        with self._change:
            while not self._closed and not cancelled():
                self._sort_out(kind, seconds)
                if fitting := next((one for one in reversed(self._idle) if one.kind == kind), None):
                    self._idle.remove(fitting)
                    return fitting
                if self._count < _MOST and kind not in self._coming:
                    self._count += 1
                    break
                self._change.wait(_LOOK)
            else:
                raise SandboxError("no container is wanted any more")
        return self._make(kind)

    def give_back(self, container: Container) -> None:
        """Let another command have it as soon as nothing of the last one is left."""
        with self._change:
            self._coming.append(container.kind)
        self._do(self._settle, container.kind, lambda: self._settled(container))

    def discard(self, container: Container) -> None:
        """It is of no more use."""
        self._do(self._remove, container)

    def close(self) -> None:
        """Remove all containers."""
        with self._change:
            self._closed = True
            idle, self._idle = self._idle, []
            self._change.notify_all()
        for container in idle:
            self._threads.submit(self._remove, container)
        self._threads.shutdown(wait=True)

    def _do(self, work: Callable[..., None], *arguments: object) -> None:
        """In the background; but at once if the background is closed."""
        with self._change:
            if not self._closed:
                self._threads.submit(work, *arguments)
                return
        work(*arguments)

    def _sort_out(self, kind: Kind, seconds: float) -> None:
        """Discard idle containers that end too soon, or are of a kind that was not wanted for some time."""
        now = time.monotonic()
        for one in list(self._idle):
            ends = one.began + one.kind.life < now + seconds + _RESERVE
            crowds = one.kind != kind and (one.rests + _REST < now or self._count >= _MOST)
            if ends or crowds:
                self._idle.remove(one)
                self.discard(one)

    def _make(self, kind: Kind) -> Container:
        from podman.errors import PodmanError

        try:
            return Container(self._connect(), kind)
        except BaseException as error:
            self._forget()
            if isinstance(error, PodmanError | OSError | Broken):
                raise SandboxError(f"a container cannot be made: {error}") from error
            raise

    def _settle(self, kind: Kind, settled: Callable[[], Container | None]) -> None:
        try:
            container = settled()
        except SandboxError:  # who asks for one will be told
            container = None
        with self._change:
            self._coming.remove(kind)
            self._change.notify_all()
            if container is not None and not self._closed:
                self._idle.append(container)
                return
        if container is not None:
            self._remove(container)

    def _settled(self, container: Container) -> Container | None:
        try:
            container.settle()
        except Broken:
            self._remove(container)
            return None
        return container

    def _remove(self, container: Container) -> None:
        try:
            container.remove()
        finally:
            self._forget()

    def _forget(self) -> None:
        with self._change:
            self._count -= 1
            self._change.notify_all()
