"""What the engine itself costs per map item, when answers take no time."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.makespan import layered_items
from bench.runs import flow_of, run_whole
from engine.mapper import MapItem, run_map

SIZES = (1_000, 10_000)


def step_milliseconds(files: int) -> float:
    """Milliseconds per item of a map node: expressions, contract, context, journal, budget and events included."""
    at: dict[str, float] = {}

    def listen(event: Mapping[str, Any]) -> None:
        if event.get("node") == "write":
            at[event["kind"]] = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        run_whole(flow_of("map", files), Path(folder), lambda request: "x = 1", listen)
    return (at["node finished"] - at["node started"]) * 1000 / files


def map_milliseconds(files: int) -> float:
    """Milliseconds per item of the map's loop alone."""
    items = layered_items(4, files)

    async def run(item: MapItem, upstream: Mapping[str, Any]) -> Mapping[str, Any]:
        return {}

    began = time.perf_counter()
    asyncio.run(run_map(items, run))
    return (time.perf_counter() - began) * 1000 / files


def measure() -> Iterator[Figure]:
    """Both, at 1,000 items, and how much more an item costs among 10,000; the least of several, sizes in turn."""
    for what, milliseconds, target, times in (
        ("engine per map item with one call", step_milliseconds, 1.0, 2),
        ("map loop alone per item", map_milliseconds, None, 7),
    ):
        milliseconds(100)  # imports
        rounds = [[milliseconds(size) for size in SIZES] for _ in range(times)]
        few, many = (min(column) for column in zip(*rounds, strict=True))
        yield Figure(f"{what}, {SIZES[0]:,} items", few, "ms", target)
        yield Figure(f"{what}, {SIZES[1]:,} items over {SIZES[0]:,}", many / few, "x", 1.5, detail=f"{many:.3f} ms")
