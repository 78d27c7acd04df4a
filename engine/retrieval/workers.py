"""Processes that make chunks out of sources: several at once, each source on its own, results in the given order."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from engine.errors import FlowrunError
from engine.retrieval.making import Made, Maker

_SECONDS = 600  # for one source
_MEMORY = 3 * 2**30  # address space of one worker
_AHEAD = 3  # sources that are in work or done, for each worker

Result = Made | str  # or why the source failed


class Workers:
    """Makes sources in `jobs` processes; one that takes its process down with it costs the others nothing."""

    def __init__(self, maker: Maker, digests: Mapping[str, str], jobs: int) -> None:
        self._start, self._jobs = (maker, dict(digests)), jobs

    async def results(self, sources: Sequence[str]) -> AsyncIterator[tuple[str, Result]]:
        """Each source with what became of it, in order; at most some are made ahead of what was taken."""
        waiting, pending = deque(sources), deque[tuple[str, Future[Result]]]()
        pool = self._pool(self._jobs)
        try:
            while waiting or pending:
                self._submit(pool, waiting, pending)
                if not pending:
                    pool = self._instead_of(pool)
                    continue
                source, future = pending.popleft()
                try:
                    result = await asyncio.wrap_future(future)
                except BrokenProcessPool:
                    # Which of the sources did it cannot be told: this one is tried alone, the others again.
                    waiting.extendleft(one for one, _ in reversed(pending))
                    pending.clear()
                    pool, result = self._instead_of(pool), await self._alone(source)
                yield source, result
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _submit(
        self, pool: ProcessPoolExecutor, waiting: deque[str], pending: deque[tuple[str, Future[Result]]]
    ) -> None:
        """Give the pool work; a broken one takes none."""
        with contextlib.suppress(BrokenProcessPool):
            while waiting and len(pending) < self._jobs * _AHEAD:
                pending.append((waiting[0], pool.submit(_make, waiting[0])))
                waiting.popleft()

    def _instead_of(self, broken: ProcessPoolExecutor) -> ProcessPoolExecutor:
        broken.shutdown(wait=False, cancel_futures=True)
        return self._pool(self._jobs)

    async def _alone(self, source: str) -> Result:
        pool = self._pool(1)
        try:
            return await asyncio.wrap_future(pool.submit(_make, source))
        except BrokenProcessPool:
            return "reading it brought its process down"
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _pool(self, jobs: int) -> ProcessPoolExecutor:
        # Not forked: this process has threads. A worker must not inherit what they hold.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(jobs, context, initializer=_prepare, initargs=self._start)


_work: dict[str, Any] = {}


def _prepare(maker: Maker, digests: Mapping[str, str]) -> None:
    """Set a worker up: it leaves Ctrl-C to its parent, ends with it, and is bounded in memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _give_up)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _work.update(maker=maker, digests=digests)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)


def _make(source: str) -> Result:
    signal.alarm(_SECONDS)
    try:
        made: Made = _work["maker"].make(source, _work["digests"])
        return made
    except FlowrunError as error:
        return str(error)
    except MemoryError:
        return f"needs more than {_MEMORY // 2**30} GB of memory"
    except TimeoutError:
        return f"took longer than {_SECONDS} s"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)


def _give_up(number: int, frame: object) -> None:
    raise TimeoutError
