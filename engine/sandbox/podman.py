"""The podman backend: commands run in warm containers, rootless or as root, through podman's service."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from engine.errors import SandboxError
from engine.sandbox import folder, order
from engine.sandbox.base import Ended, Limits, SandboxResult
from engine.sandbox.containers import image as images
from engine.sandbox.containers.container import Broken, Kind, NotBegun, sweep
from engine.sandbox.containers.image import Image
from engine.sandbox.containers.pool import Pool, Use
from engine.sandbox.containers.service import Service, open_service, write_profile
from engine.sandbox.environment import Environment, environment

if TYPE_CHECKING:
    from podman import PodmanClient

_GRACE = 20.0  # seconds beyond the timeout for a warden to clean up and answer
_LIFE = 3600  # seconds that a container is there, if no command may take longer than half of that
_MOST_AT_ONCE = 64  # runs that wait or go on


async def open_podman(
    python: Environment, cache: Path, *, limits: Limits, image: str | None = None, pull: bool = False
) -> PodmanSandbox:
    """A sandbox of containers, after those of dead processes were removed.

    limits  of the runs to come, for which a container is made ready
    image   the user's image instead of one over this machine's own programs; `pull`: it may be fetched

    Raises InputError for an image that cannot serve, SandboxError if podman does not work.
    """
    return await asyncio.to_thread(_open, python, cache, limits, image, pull)


def _open(python: Environment, cache: Path, limits: Limits, name: str | None, pull: bool) -> PodmanSandbox:
    from podman.errors import PodmanError

    service = open_service()
    try:
        with _client(service) as client:
            sweep(client)
            image = images.user_image(client, name, pull=pull) if name else images.make_image(client)
        sandbox = PodmanSandbox(service, image, python, cache, write_profile(service.folder))
        sandbox.prepare(limits)
        return sandbox
    except (PodmanError, OSError, KeyError, ValueError) as error:
        service.close()
        raise SandboxError(f"podman does not work: {error}") from error
    except BaseException:
        service.close()
        raise


def _client(service: Service) -> PodmanClient:
    from podman import PodmanClient

    return PodmanClient(base_url=service.address)


class PodmanSandbox:
    """Runs each command in a container that is used for nothing else meanwhile, and was emptied before."""

    def __init__(self, service: Service, image: Image, python: Environment, cache: Path, profile: Path | None) -> None:
        self._service = service
        self._image = image
        self._python = python
        self._cache = cache
        self._profile = profile
        self._pool = Pool(partial(_client, service))
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(max_workers=_MOST_AT_ONCE, thread_name_prefix="flowrun-podman")

    @property
    def name(self) -> str:
        """The backend, and which image it uses if that is the user's."""
        return f"podman with image {self._image.reference[:12]}" if self._image.own else "podman"

    async def use(self, requirements: Sequence[str]) -> Mapping[str, str]:
        """Give later runs these distributions; returns what could not be installed, with the reason."""
        self._python = await environment(requirements, self._cache)
        return self._python.failed

    async def run(
        self, command: Sequence[str], files: Mapping[str, bytes], *, limits: Limits, collect: Sequence[str] = ()
    ) -> SandboxResult:
        """Run `command` over `files`; see `engine.sandbox.base.Sandbox.run`."""
        what = {**order.make(command, limits, self._python)}
        if self._image.own:
            what["environment"] = {**what["environment"], "PATH": f"{self._python.python.parent}:{self._image.path}"}
        folder.check(files, disk=limits.disk)
        use = Use(partial(_client, self._service))
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, self._run, use, what, files, limits, collect)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.to_thread(use.cancel)
            await asyncio.wait([work])
            work.exception()
            raise

    async def close(self) -> None:
        """Remove the containers and end the service if it is our own."""
        await asyncio.to_thread(self._pool.close)
        self._threads.shutdown(wait=False)
        await asyncio.to_thread(self._service.close)

    def prepare(self, limits: Limits) -> None:
        """Make a container ready for a command under these limits."""
        self._pool.prepare(self._kind(limits))

    def _run(
        self, use: Use, what: Mapping[str, Any], files: Mapping[str, bytes], limits: Limits, collect: Sequence[str]
    ) -> SandboxResult:
        from podman.errors import PodmanError

        for again in (True, False):
            try:
                return self._run_once(use, what, files, limits, collect)
            except (Broken, PodmanError, OSError, ValueError) as error:
                if not (again and isinstance(error, NotBegun)):  # another container may take the files
                    raise SandboxError(f"the podman sandbox broke: {error}") from error
        raise AssertionError

    def _run_once(
        self, use: Use, what: Mapping[str, Any], files: Mapping[str, bytes], limits: Limits, collect: Sequence[str]
    ) -> SandboxResult:
        container = self._pool.take(self._kind(limits), limits.timeout, use.cancelled.is_set)
        began = time.monotonic()
        watchdog = Timer(limits.timeout + _GRACE, use.cancel)
        watchdog.start()
        use.begin(container)
        try:
            answer, written, found = container.run(what, files, collect)
        except BaseException as error:
            use.begin(None)
            lives = container.lives()
            self._pool.discard(container)
            if isinstance(error, NotBegun) or not isinstance(error, Broken) or not (lives or use.cancelled.is_set()):
                raise
            return _unanswered("killed" if lives else "timeout", time.monotonic() - began)
        finally:
            watchdog.cancel()
        use.begin(None)
        self._pool.give_back(container)
        return order.result(answer, written, order.names(self._python), found)

    def _kind(self, limits: Limits) -> Kind:
        """What is not the same for two commands in one container, the time and the output, is left out."""
        with self._lock:
            binds = self._image.binds(self._python, self._service.folder, network=limits.network)
        life = max(_LIFE, math.ceil(2 * limits.timeout))
        return Kind(self._image, replace(limits, timeout=1.0, output=1), tuple(binds.items()), self._profile, life)


def _unanswered(ended: Ended, duration: float) -> SandboxResult:
    """Of a command that ended what watches it; the rest of its container is gone with it."""
    return SandboxResult(ended, None, "", "[killed: it ended the process that watches it]\n", 0, 0, duration)
