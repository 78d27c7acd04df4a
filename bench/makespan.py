"""How long a map takes against the least that its graph allows, and against one wave of LangGraph `Send`s per layer.

Items are files in layers, as a repository has them, and their latencies are drawn as a model's are: most short, some
long. Nothing can end before the critical path does, nor before the busiest lane.
"""

from __future__ import annotations

import asyncio
import operator
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from bench.figures import Figure
from engine.mapper import MapItem, run_map

COUNT, LAYER = 1000, 50
SHORTEST, LONGEST = 0.01, 0.1  # seconds; far above what a timer is late by


def layered_items(lanes: int, count: int = COUNT) -> list[MapItem]:
    """Items of which each comes after two of the layer before; an item's value is its latency in seconds."""
    chance = random.Random(7)  # noqa: S311 - a fixed graph, no secret
    after: list[tuple[int, ...]] = []
    for number in range(count):
        start = (number // LAYER - 1) * LAYER
        after.append(tuple(chance.sample(range(start, start + LAYER), 2)) if start >= 0 else ())
    depth, fanout = [0] * count, [0] * count
    for number in reversed(range(count)):
        for needed in after[number]:
            depth[needed] = max(depth[needed], depth[number] + 1)
            fanout[needed] += 1
    return [
        MapItem(
            key=f"file {number}",
            value=min(LONGEST, SHORTEST * chance.lognormvariate(0.5, 0.6)),
            after=tuple(f"file {needed}" for needed in after[number]),
            lane=f"developer {number % lanes}",
            priority=(depth[number], fanout[number], -number),
        )
        for number in range(count)
    ]


def lower_bound(items: Sequence[MapItem]) -> tuple[float, float]:
    """The critical path and the busiest lane, in seconds."""
    ends: dict[str, float] = {}
    lanes: dict[str | None, float] = defaultdict(float)
    for item in items:  # each stands after what it needs
        ends[item.key] = item.value + max((ends[key] for key in item.after), default=0.0)
        lanes[item.lane] += item.value
    return max(ends.values()), max(lanes.values())


async def seconds_of_map(items: Sequence[MapItem]) -> float:
    """How long the map takes."""

    async def run(item: MapItem, upstream: Mapping[str, Any]) -> Mapping[str, Any]:
        await asyncio.sleep(item.value)
        return {}

    began = time.perf_counter()
    outcome = await run_map(items, run)
    spent = time.perf_counter() - began
    assert len(outcome.outputs) == len(items)
    return spent


class _State(TypedDict):
    layer: int
    done: Annotated[list[str], operator.add]


async def seconds_of_waves(items: Sequence[MapItem]) -> float:
    """How long one wave of `Send`s per layer takes, with one item at a time per lane as well."""
    layers = _layers(items)
    locks: dict[str | None, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def work(item: MapItem) -> dict[str, Any]:
        async with locks[item.lane]:
            await asyncio.sleep(item.value)
        return {"done": [item.key]}

    def wave(state: _State) -> list[Send] | str:
        return [Send("work", item) for item in layers[state["layer"]]] if state["layer"] < len(layers) else END

    graph = StateGraph(_State)
    graph.add_node("work", work)  # type: ignore[call-overload]
    graph.add_node("next", lambda state: {"layer": state["layer"] + 1})
    graph.add_conditional_edges(START, wave, ["work", END])
    graph.add_edge("work", "next")
    graph.add_conditional_edges("next", wave, ["work", END])
    compiled = graph.compile()
    began = time.perf_counter()
    end = await compiled.ainvoke({"layer": 0, "done": []}, {"recursion_limit": 10_000})
    spent = time.perf_counter() - began
    assert len(end["done"]) == len(items)
    return spent


def _layers(items: Sequence[MapItem]) -> list[list[MapItem]]:
    level: dict[str, int] = {}
    layers: list[list[MapItem]] = []
    for item in items:
        level[item.key] = max((level[key] + 1 for key in item.after), default=0)
        layers.extend([] for _ in range(level[item.key] + 1 - len(layers)))
        layers[level[item.key]].append(item)
    return layers


def measure() -> Iterator[Figure]:
    """The map and the waves, side by side, with 4 and 16 lanes."""
    for lanes in (4, 16):
        items = layered_items(lanes)
        path, lane = lower_bound(items)
        bound = f"{max(path, lane):.2f} s (critical path {path:.2f}, busiest lane {lane:.2f})"
        what = f"{COUNT:,} files, {lanes} lanes: makespan over the least possible"
        yield Figure(f"{what}, map", asyncio.run(seconds_of_map(items)) / max(path, lane), target=1.10, detail=bound)
        yield Figure(f"{what}, Send waves", asyncio.run(seconds_of_waves(items)) / max(path, lane), detail=bound)
