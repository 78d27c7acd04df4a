from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.errors import FlowError
from engine.flow import load_flow
from engine.flow.checks.dataflow import Written, written_before
from engine.flow.checks.graph import components, reachable

NAMES = "abcdefg"
Graph = Mapping[str, Sequence[str]]
graphs = st.fixed_dictionaries({name: st.lists(st.sampled_from(NAMES), max_size=3, unique=True) for name in NAMES})


@given(graphs)
def test_components_are_the_nodes_that_reach_one_another(graph: Graph) -> None:
    reach = {name: reachable(graph, graph[name]) for name in graph}
    found = [set(component) for component in components(graph)]
    assert sorted(name for component in found for name in component) == sorted(graph)
    for component in found:
        for name in component:
            assert component == {name} | {other for other in graph if other in reach[name] and name in reach[other]}


@given(graphs)
def test_components_come_before_what_leads_to_them(graph: Graph) -> None:
    place = {name: number for number, component in enumerate(components(graph)) for name in component}
    assert all(place[to] <= place[name] for name in graph for to in graph[name])


def ends(edges: Graph, bounded: Mapping[str, int], exhausted: Mapping[str, str]) -> bool:
    """Whether every walk ends, wherever it begins and whatever was visited before, found by walking.

    A bounded node is passed once, after that it sends the walk on.
    """

    def walk(name: str, visits: frozenset[str], trail: frozenset[tuple[str, frozenset[str]]]) -> bool:
        here = (name, visits)
        if name == "END" or name == "fail":
            return True
        if here in trail:
            return False
        if name in bounded and name in visits:
            return walk(exhausted.get(name, "fail"), visits, trail | {here})
        after = visits | {name} if name in bounded else visits
        return all(walk(to, after, trail | {here}) for to in edges[name])

    visited = [frozenset(some) for size in range(len(bounded) + 1) for some in combinations(bounded, size)]
    return all(walk(name, some, frozenset()) for name in edges for some in visited)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {name: st.lists(st.sampled_from(["a", "b", "c", "d", "END"]), min_size=1, max_size=2) for name in "abcd"}
    ),
    st.dictionaries(st.sampled_from("abcd"), st.just(1)),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["a", "b", "c", "d", "END"])),
)
@example({"a": ["b"], "b": ["a"], "c": ["END"], "d": ["END"]}, {"a": 1}, {"a": "b"})
def test_a_flow_is_refused_just_when_a_walk_may_not_end(
    workdir: Path, edges: Graph, bounded: Mapping[str, int], exhausted: Mapping[str, str]
) -> None:
    lines = ["version: 1", "name: x", "params: {p: true}", "nodes:"]
    for name in "abcd":
        *guarded, last = edges[name]
        ways = [f"{{when: '${{params.p}}', to: {to}}}" for to in guarded] + [f"{{to: {last}}}"]
        bound = f", max_visits: 1, on_exhausted: {exhausted.get(name, 'fail')}" if name in bounded else ""
        lines.append(f"  {name}: {{call: placeholder, next: [{', '.join(ways)}]{bound}}}")
    Path("x.yaml").write_text("\n".join(lines))
    try:
        load_flow("x.yaml")
        messages: list[str] = []
    except FlowError as error:
        messages = [one.message for one in error.diagnostics]
    full = {
        name: [*edges[name], *([exhausted[name]] if name in bounded and name in exhausted else [])] for name in "abcd"
    }
    reached = reachable({**full, "END": []}, ["a"])
    assert {one.split("'")[1] for one in messages if "unreachable" in one} == set("abcd") - reached
    if set("abcd") <= reached:
        assert any("a cycle that nothing ends" in one for one in messages) is not ends(edges, bounded, exhausted)


def test_a_cycle_is_shown_whole_and_once(workdir: Path) -> None:
    nodes = "\n".join(f"  n{number}: {{call: placeholder, next: n{(number + 1) % 4}}}" for number in range(4))
    Path("x.yaml").write_text("version: 1\nname: x\nstart: n2\nnodes:\n" + nodes)
    with pytest.raises(FlowError) as raised:
        load_flow("x.yaml")
    assert [one.message for one in raised.value.diagnostics] == [
        "node 'n0': a cycle that nothing ends: n0 -> n1 -> n2 -> n3 -> n0. Give one of these nodes 'max_visits'"
    ]


def test_what_a_cycle_writes_is_known_in_it_the_second_time(workdir: Path) -> None:
    Path("x.yaml").write_text(
        "version: 1\nname: x\nparams: {p: true}\nnodes:\n"
        "  a: {call: placeholder, next: b, max_visits: 2}\n"
        "  b: {call: placeholder, next: [{when: '${params.p}', to: a}, {to: c}]}\n"
        "  c: {call: placeholder}\n"
    )
    flow = load_flow("x.yaml")
    before = written_before(flow, {"a": Written(), "b": Written(frozenset({"k"})), "c": Written()})
    assert ["k" in before[name] for name in "abc"] == [True, True, True]
    before = written_before(flow, {"a": Written(), "b": Written(), "c": Written(frozenset({"k"}))})
    assert ["k" in before[name] for name in "abc"] == [False, False, False]
