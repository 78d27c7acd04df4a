"""Waves: what is handed out, in what order, and when QA looks."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from engine.mapper import MapItem, run_map
from nodes.contract import Contract
from nodes.materialise import round_robin
from nodes.schedule import OWN_TESTS, PACKAGING, file_task, next_files, plan_tasks
from tests.support.contracts import make_contract
from tests.support.fake_context import FakeContext, run_node

CHAIN = {"a.py": [], "b.py": ["a.py"], "c.py": ["b.py"], "d.py": [], "e.py": ["a.py", "d.py"]}


def wave(contract: Mapping[str, Any], pending: Sequence[str], mode: str = "dynamic", **more: Any) -> dict[str, Any]:
    qa = {"trigger": "layer", "batch": 2, "overlap": True, **more.pop("qa", {})}
    context = FakeContext(params={"qa": qa, "allocation": {"mode": mode}})
    return run_node(plan_tasks, {"contract": contract, "pending": list(pending), **more}, context)


def keys(output: Mapping[str, Any]) -> list[str]:
    return [task["key"] for task in output["tasks"]]


@st.composite
def contracts(draw: st.DrawFn) -> dict[str, Any]:
    """Any acyclic project: each file may need files before it in a hidden order; the sketch lists them in another."""
    count = draw(st.integers(1, 14))
    paths = [f"m{number}.py" for number in range(count)]
    needs = {path: draw(st.lists(st.sampled_from(paths[:n]), unique=True)) if n else [] for n, path in enumerate(paths)}
    listed = draw(st.permutations(paths))
    owners = {path: f"dev-{draw(st.integers(0, 3))}" for path in paths}
    return make_contract({path: needs[path] for path in listed}, owners=owners)


@given(contracts())
def test_the_priority_is_that_of_algorithm_1(data: dict[str, Any]) -> None:
    contract = Contract(data)
    for path in contract.files:
        below = [contract.priority(user)[0] + 1 for user in contract.dependents[path]]
        fanout = sum(path in entry["depends_on"] for entry in contract.files.values())
        assert contract.priority(path) == [max(below, default=0), fanout, -list(contract.files).index(path)]


@settings(deadline=None)
@given(
    contracts(), st.sampled_from(["layer", "batch", "end"]), st.booleans(), st.sampled_from(["dynamic", "round_robin"])
)
def test_every_file_is_handed_out_once_after_what_it_needs(
    data: dict[str, Any], trigger: str, overlap: bool, mode: str
) -> None:
    contract, pending, untested, done = Contract(data), list(data["repo_tree"]), [], set[str]()
    for _ in range(2 * len(pending) + 2):
        qa = {"trigger": trigger, "overlap": overlap}
        output = wave(data, pending, mode, untested=untested, qa=qa)
        written = [task for task in output["tasks"] if task["key"] == task["path"]]
        paths = {task["path"] for task in written}
        for task in written:
            needed = set(contract.files[task["path"]]["depends_on"])
            assert task["path"] in pending
            assert needed <= done | set(task["depends_on"])
            assert set(task["depends_on"]) <= paths
            assert task["lane"] == contract.files[task["path"]]["owner"]
        tested = {task["path"] for task in output["tasks"] if task["kind"] == "test"}
        assert tested <= done, "only what is written is tested"
        assert overlap or not (tested and paths), "without overlap nobody writes while QA tests"
        done |= paths
        pending = output["pending"]
        untested = [path for path in untested if path not in tested] + sorted(paths)
        if OWN_TESTS in keys(output):
            break
    assert (sorted(done), pending) == (sorted(data["repo_tree"]), [])
    assert PACKAGING in keys(output)


@settings(deadline=None, max_examples=60)
@given(contracts(), st.sampled_from(["dynamic", "round_robin"]), st.randoms(use_true_random=False))
def test_developers_take_ready_files_by_priority_one_at_a_time(data: dict[str, Any], mode: str, chance: Any) -> None:
    data = data if mode == "dynamic" else round_robin(data, 4)
    contract, in_order = Contract(data), mode == "round_robin"
    wave_ = set(contract.files)
    tasks = [file_task(contract, path, "write", wave_, in_order=in_order) for path in contract.sorted(wave_)]
    items = [
        MapItem(task["key"], task, tuple(task["depends_on"]), task["lane"], tuple(task["priority"])) for task in tasks
    ]
    busy: set[str] = set()
    done: set[str] = set()  # as the scheduler must know: it hears of a finished item a few turns of the loop later
    started: dict[str, list[str]] = defaultdict(list)

    async def work(item: MapItem, upstream: Mapping[str, Any]) -> dict[str, Any]:
        lane = str(item.lane)
        assert lane not in busy, "one task per developer at a time"
        waiting = [one for one in items if one.lane == item.lane and one.key not in started[lane]]
        ready = [one.priority for one in waiting if set(one.after) <= done]
        assert item.priority >= max(ready, default=()), "the ready file with the greatest priority"
        assert set(upstream) == set(item.after), "no file before what it depends on"
        busy.add(lane)
        started[lane].append(item.key)
        for _ in range(chance.randrange(4)):
            await asyncio.sleep(0)
        busy.discard(lane)
        settling.append(asyncio.ensure_future(settle(item.key)))
        return {}

    async def settle(key: str) -> None:
        for _ in range(5):
            await asyncio.sleep(0)
        done.add(key)

    settling: list[asyncio.Future[None]] = []
    outcome = asyncio.run(run_map(items, work))
    assert not outcome.errors, outcome.errors
    assert set(outcome.outputs) == wave_


def test_a_layer_is_what_needs_nothing_that_is_pending() -> None:
    contract = Contract(make_contract(CHAIN))
    assert next_files(contract, list(CHAIN), "layer", 2) == ["a.py", "d.py"]
    assert next_files(contract, ["b.py", "c.py", "e.py"], "layer", 2) == ["b.py", "e.py"]


def test_a_batch_takes_the_most_urgent_files_with_what_becomes_ready_meanwhile() -> None:
    contract = Contract(make_contract(CHAIN))
    assert next_files(contract, list(CHAIN), "batch", 3) == ["a.py", "b.py", "d.py"]
    assert next_files(contract, ["c.py"], "batch", 3) == ["c.py"]


def test_an_unknown_trigger_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'never' is not known; it is one of: layer, batch, end"):
        wave(make_contract(CHAIN), list(CHAIN), qa={"trigger": "never"})


def test_qa_tests_one_layer_while_the_next_is_written_but_nothing_that_is_being_mended() -> None:
    contract = make_contract(CHAIN)
    output = wave(contract, ["c.py"], untested=["b.py", "e.py"])
    assert keys(output) == ["c.py", "test:b.py", "test:e.py"]
    repairs = [{"path": "d.py", "kind": "repair", "issues": []}]
    output = wave(contract, ["c.py"], untested=["b.py", "e.py"], repairs=repairs)
    assert keys(output) == ["d.py", "c.py", "test:b.py"]  # e.py needs d.py
    assert output["repairs"] == []


def test_without_overlap_the_next_layer_waits_for_qa() -> None:
    contract = make_contract(CHAIN)
    assert keys(wave(contract, ["c.py"], untested=["b.py"], qa={"overlap": False})) == ["test:b.py"]
    assert keys(wave(contract, ["c.py"], untested=[], qa={"overlap": False})) == ["c.py"]


def test_a_repair_and_a_new_file_that_needs_it_keep_their_order() -> None:
    repairs = [{"path": "a.py", "kind": "repair", "issues": []}]
    tasks = wave(make_contract(CHAIN), ["b.py", "c.py"], repairs=repairs)["tasks"]
    assert {task["key"]: task["depends_on"] for task in tasks} == {"a.py": [], "b.py": ["a.py"]}


def test_round_robin_gives_four_developers_the_files_in_turn_and_each_its_own_in_the_order_of_the_list() -> None:
    data = round_robin(make_contract({f"m{n}.py": [] for n in range(6)}, owners={"m0.py": "dev-9"}), 4)
    assert [entry["owner"] for entry in data["files"]] == ["dev-0", "dev-1", "dev-2", "dev-3", "dev-0", "dev-1"]
    assert data["developers"] == ["dev-0", "dev-1", "dev-2", "dev-3"]
    tasks = wave(data, data["repo_tree"], "round_robin")["tasks"]
    assert [task["priority"] for task in tasks] == [[-n] for n in range(6)]
