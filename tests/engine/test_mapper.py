from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BudgetExceeded, FlowrunError, ReplayMiss
from engine.mapper import DependencyFault, MapItem, MapOutcome, find_cycle, run_map


@st.composite
def graphs(draw: st.DrawFn) -> list[MapItem]:
    count = draw(st.integers(0, 14))
    items = []
    for index in range(count):
        after = draw(st.sets(st.integers(0, index - 1), max_size=3)) if index else set()
        lane = draw(st.sampled_from([None, "a", "b"]))
        rank = (float(draw(st.integers(0, 3))),)
        items.append(MapItem(str(index), index, tuple(str(one) for one in sorted(after)), lane, rank))
    return draw(st.permutations(items))


class Recorder:
    """Runs items for a number of event-loop turns each and writes down what started when."""

    def __init__(self, turns: Mapping[str, int], failing: frozenset[str] = frozenset()) -> None:
        self.turns, self.failing = turns, failing
        self.running: set[str] = set()
        self.started: list[tuple[str, frozenset[str]]] = []
        self.done: list[str] = []
        self.upstream: dict[str, dict[str, Any]] = {}

    async def __call__(self, item: MapItem, upstream: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        self.upstream[item.key] = dict(upstream)
        self.running.add(item.key)
        self.started.append((item.key, frozenset(self.running)))
        for _ in range(self.turns.get(item.key, 1)):
            await asyncio.sleep(0)
        self.running.discard(item.key)
        self.done.append(item.key)
        if item.key in self.failing:
            raise ValueError(item.key)
        return {"value": item.value}


def run(items: list[MapItem], recorder: Recorder, **options: Any) -> MapOutcome:
    return asyncio.run(run_map(items, recorder, **options))


@given(graphs(), st.dictionaries(st.sampled_from([str(n) for n in range(14)]), st.integers(0, 6)), st.data())
def test_every_item_runs_once_after_what_it_needs(
    items: list[MapItem], turns: dict[str, int], data: st.DataObject
) -> None:
    width = data.draw(st.sampled_from([None, 1, 2, 5]))
    recorder = Recorder(turns)
    outcome = run(items, recorder, max_parallel=width)
    lanes = {item.key: item.lane for item in items}
    assert sorted(recorder.done) == sorted(lanes)
    assert list(outcome.outputs) == [item.key for item in items]
    place = {key: index for index, key in enumerate(recorder.done)}
    began = {key: index for index, (key, _) in enumerate(recorder.started)}
    for item in items:
        for needed in item.after:
            assert place[needed] < place[item.key]
            assert recorder.upstream[item.key][needed] == {"value": int(needed)}
    for key, together in recorder.started:
        taken = [lanes[one] for one in together if lanes[one] is not None]
        assert len(taken) == len(set(taken)), f"two items of one lane when {key} started"
        assert width is None or len(together) <= width
    assert set(began) == set(lanes)


def test_the_highest_priority_of_a_lane_goes_first_then_the_earlier_item() -> None:
    ranks = {"low": 1.0, "high": 3.0, "mid": 2.0, "mid2": 2.0}
    items = [MapItem(key, key, lane="dev", priority=(rank, 0.0)) for key, rank in ranks.items()]
    recorder = Recorder({})
    run(items, recorder)
    assert recorder.done == ["high", "mid", "mid2", "low"]


def test_a_finished_item_wakes_its_dependents_without_a_barrier() -> None:
    items = [MapItem("slow", 0), MapItem("quick", 1), MapItem("after quick", 2, ("quick",))]
    recorder = Recorder({"slow": 50})
    run(items, recorder)
    assert recorder.done == ["quick", "after quick", "slow"]


def test_a_better_item_that_becomes_ready_later_still_goes_before_waiting_ones() -> None:
    items = [
        MapItem("first", 0, lane="dev", priority=(9.0,)),
        MapItem("waiting", 1, lane="dev", priority=(1.0,)),
        MapItem("better", 2, ("first",), lane="dev", priority=(5.0,)),
    ]
    recorder = Recorder({})
    run(items, recorder)
    assert recorder.done == ["first", "better", "waiting"]


def test_a_failure_is_data_and_dependents_run_with_what_is_known() -> None:
    items = [MapItem("bad", 0), MapItem("good", 1), MapItem("last", 2, ("bad", "good"))]
    recorder = Recorder({}, frozenset({"bad"}))
    outcome = run(items, recorder, fail_fast=False)
    assert list(outcome.outputs) == ["good", "last"]
    assert [str(error) for error in outcome.errors.values()] == ["bad"]
    assert recorder.upstream["last"] == {"good": {"value": 1}}


def test_fail_fast_lets_the_running_end_and_starts_nothing_more() -> None:
    items = [MapItem("bad", 0), MapItem("slow", 1), MapItem("next", 2, ("bad",))]
    recorder = Recorder({"slow": 20}, frozenset({"bad"}))
    outcome = run(items, recorder, fail_fast=True)
    assert recorder.done == ["bad", "slow"]
    assert list(outcome.outputs) == ["slow"]


@pytest.mark.parametrize("error", [BudgetExceeded("calls", 2, 2), ReplayMiss("not recorded")])
def test_what_ends_the_run_ends_the_map_with_what_was_finished(error: FlowrunError) -> None:
    async def item(one: MapItem, upstream: Mapping[str, Any]) -> dict[str, Any]:
        if one.value == 2:
            raise error
        return {"value": one.value}

    items = [MapItem(str(n), n, lane="one") for n in range(5)]
    outcome = asyncio.run(run_map(items, item))
    assert list(outcome.outputs) == ["0", "1"]
    assert outcome.ended is error


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([MapItem("a", 0, ("b",)), MapItem("b", 0, ("a",))], "map items wait for one another: a -> b -> a"),
        ([MapItem("a", 0, ("a",))], "map items wait for one another: a -> a"),
        ([MapItem("a", 0, ("c",))], "map item 'a' comes after 'c', which is no item of this map"),
        ([MapItem("a", 0), MapItem("a", 1)], "two map items have the key 'a'"),
    ],
)
def test_wrong_dependencies_are_told_before_anything_runs(items: list[MapItem], message: str) -> None:
    recorder = Recorder({})
    with pytest.raises(DependencyFault) as caught:
        run(items, recorder)
    assert str(caught.value) == message
    assert recorder.started == []


@given(graphs())
def test_no_cycle_is_seen_where_there_is_none(items: list[MapItem]) -> None:
    assert find_cycle({item.key: item.after for item in items}) == []


def test_a_long_chain_needs_no_recursion() -> None:
    after = {str(n): (str(n + 1),) for n in range(20_000)} | {"20000": ("0",)}
    assert len(find_cycle(after)) == 20_002


def test_cancelling_cancels_what_runs() -> None:
    stopped = []

    async def item(one: MapItem, upstream: Mapping[str, Any]) -> dict[str, Any]:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append(one.key)
            raise
        return {}

    async def main() -> None:
        task = asyncio.create_task(run_map([MapItem("a", 0), MapItem("b", 1)], item))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert sorted(stopped) == ["a", "b"]
