"""Runs the items of a map: dependency order without barriers, one item at a time per lane, highest priority first.

A finished item wakes its dependents at once. An item's failure is data: its neighbours go on. Results stand in the
order of the items, whatever order they finished in (CodeTeam, Algorithm 1, for any workflow).
"""

from __future__ import annotations

import asyncio
import heapq
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import BudgetExceeded, FlowrunError, ReplayMiss, Stopped

Output = Mapping[str, Any]


@dataclass(frozen=True)
class MapItem:
    """One item. Items without a lane share none; greater priority tuples go first, then the earlier item."""

    key: str
    value: Any
    after: tuple[str, ...] = ()
    lane: str | None = None
    priority: tuple[float, ...] = ()


@dataclass(frozen=True)
class MapOutcome:
    """What came of a map: outputs and errors by key in item order, and what ended it early, if anything did."""

    outputs: Mapping[str, Output]
    errors: Mapping[str, Exception]
    ended: FlowrunError | None


class DependencyFault(FlowrunError):
    """Items that wait for one another, or for an item that is not there, or share a key."""


async def run_map(
    items: Sequence[MapItem],
    run: Callable[[MapItem, Mapping[str, Output]], Awaitable[Output]],
    *,
    max_parallel: int | None = None,
    fail_fast: bool = True,
) -> MapOutcome:
    """Run every item; `run` gets the item and the outputs of those it came after (a failed one is missing).

    With `fail_fast` nothing new is started after a failure; without it dependents run with what is known. A Stopped,
    BudgetExceeded or ReplayMiss ends the map the same way: what runs is waited for. Raises DependencyFault before
    anything runs.
    """
    check_dependencies(items)
    return await _Loop(items, run, max_parallel, fail_fast).run()


def check_dependencies(items: Sequence[MapItem]) -> None:
    """Raise DependencyFault for a doubled key, an unknown dependency, or a cycle, naming it."""
    after: dict[str, tuple[str, ...]] = {}
    for item in items:
        if item.key in after:
            raise DependencyFault(f"two map items have the key '{item.key}'")
        after[item.key] = item.after
    for key, needed in after.items():
        for one in needed:
            if one not in after:
                raise DependencyFault(f"map item '{key}' comes after '{one}', which is no item of this map")
    cycle = find_cycle(after)
    if cycle:
        raise DependencyFault("map items wait for one another: " + " -> ".join(cycle))


def find_cycle(after: Mapping[str, Sequence[str]]) -> list[str]:
    """One cycle of a dependency relation, its first node repeated at the end; empty when there is none."""
    done: set[str] = set()
    for root in after:
        trail: dict[str, Iterator[str]] = {}
        step: str | None = None if root in done else root
        while step is not None:
            trail[step] = iter(after.get(step, ()))
            step = None
            while trail and step is None:
                last = next(reversed(trail))
                step = next((one for one in trail[last] if one not in done), None)
                if step is None:
                    done.add(last)
                    del trail[last]
            if step in trail:
                names = list(trail)
                return [*names[names.index(step) :], step]
    return []


@dataclass
class _Loop:
    items: Sequence[MapItem]
    execute: Callable[[MapItem, Mapping[str, Output]], Awaitable[Output]]
    max_parallel: int | None
    fail_fast: bool
    outputs: dict[str, Output] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    ended: FlowrunError | None = None

    async def run(self) -> MapOutcome:
        self._dependents: dict[str, list[int]] = defaultdict(list)
        self._waiting = [len(set(item.after)) for item in self.items]
        self._ready: dict[str, list[tuple[tuple[float, ...], int]]] = defaultdict(list)  # heap per lane
        self._idle: list[tuple[tuple[float, ...], int, str]] = []  # heap of lanes by their best ready item
        self._busy: set[str] = set()
        self._finished: asyncio.Queue[int] = asyncio.Queue()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        for index, item in enumerate(self.items):
            for key in set(item.after):
                self._dependents[key].append(index)
        for index, open_ in enumerate(self._waiting):
            if not open_:
                self._make_ready(index)
        try:
            await self._turn()
        finally:
            await self._cancel()
        order = [item.key for item in self.items]
        return MapOutcome(
            {key: self.outputs[key] for key in order if key in self.outputs},
            {key: self.errors[key] for key in order if key in self.errors},
            self.ended,
        )

    async def _turn(self) -> None:
        self._start_ready()
        while self._tasks:
            index = await self._finished.get()
            await self._tasks.pop(index)
            item = self.items[index]
            lane = self._lane(index)
            self._busy.discard(lane)
            self._offer(lane)
            for dependent in self._dependents[item.key]:
                self._waiting[dependent] -= 1
                if not self._waiting[dependent]:
                    self._make_ready(dependent)
            self._start_ready()

    def _start_ready(self) -> None:
        while self._idle and not self._over() and len(self._tasks) < (self.max_parallel or len(self.items)):
            _, index, lane = heapq.heappop(self._idle)
            heap = self._ready[lane]
            if lane in self._busy or not heap or heap[0][1] != index:
                continue  # offered before a better item came, or while the lane was busy
            heapq.heappop(heap)
            self._busy.add(lane)
            self._tasks[index] = asyncio.create_task(self._run_item(index))

    async def _run_item(self, index: int) -> None:
        item = self.items[index]
        upstream = {key: self.outputs[key] for key in item.after if key in self.outputs}
        try:
            self.outputs[item.key] = await self.execute(item, upstream)
        except (Stopped, BudgetExceeded, ReplayMiss) as error:
            self.ended = self.ended or error
        except Exception as error:
            self.errors[item.key] = error
        finally:
            self._finished.put_nowait(index)

    def _make_ready(self, index: int) -> None:
        lane = self._lane(index)
        heapq.heappush(self._ready[lane], (self._rank(index), index))
        self._offer(lane)

    def _offer(self, lane: str) -> None:
        heap = self._ready[lane]
        if heap and lane not in self._busy:
            heapq.heappush(self._idle, (*heap[0], lane))

    def _lane(self, index: int) -> str:
        lane = self.items[index].lane
        return f"item {index}" if lane is None else f"lane {lane}"

    def _rank(self, index: int) -> tuple[float, ...]:
        return tuple(-number for number in self.items[index].priority)

    def _over(self) -> bool:
        return self.ended is not None or (self.fail_fast and bool(self.errors))

    async def _cancel(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
