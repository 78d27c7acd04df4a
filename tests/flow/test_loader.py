from __future__ import annotations

import copy
import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import FlowError, FlowrunError, InputError
from engine.flow import Flow, load_flow
from engine.flow.library import shipped_flows
from engine.flow.loader import load
from engine.flow.resolved import origins, resolved_text
from engine.resources import data_folder

RICH: dict[str, Any] = {
    "version": 1,
    "name": "rich",
    "summary": "has: everything # that there is",
    "inputs": {"doc": {"type": "file", "help": "a document"}, "limit": {"type": "number", "default": 2}},
    "params": {
        "n": 2,
        "ratio": 0.5,
        "on": True,
        "qa": {"rounds": 3, "mode": "end"},
        "names": ["a", "b: c"],
        "free": {},
    },
    "model": {"name": "m-${params.qa.mode}", "temperature": "${params.ratio}", "price": {"input": 1, "output": 2.5}},
    "models": {"critic": {"seed": 7, "max_output_tokens": 100}},
    "budget": {"tokens": 1000, "wall": "1h30m", "cost": 3, "on_exceeded": "finish"},
    "sandbox": {"memory": "256MB", "cpus": 1, "timeout": 30, "output": "1MB", "network": False},
    "state": {
        "tasks": {
            "schema": {
                "type": "array",
                "items": {"$ref": "#/$defs/task"},
                "$defs": {"task": {"type": "object", "properties": {"path": {"type": "string"}}}},
            }
        },
        "files": {"schema": {"type": "object"}, "reduce": "update"},
        "round": {"schema": {"type": "integer", "minimum": 0}},
    },
    "start": "plan",
    "finish": "done",
    "nodes": {
        "plan": {"call": "placeholder", "next": "work", "retry": {"attempts": 2, "delay": "5s"}},
        "work": {
            "call": "placeholder",
            "map": {
                "over": "${state.tasks}",
                "as": "task",
                "key": "${task.path}",
                "lane": "lane ${task.path}",
                "priority": "${[1, 2]}",
                "max_parallel": "${params.n}",
            },
            "on_item_error": "continue",
            "timeout": "10m",
            "next": [{"when": "${state.round < params.qa.rounds}", "to": "inner"}, {"to": "done"}],
        },
        "inner": {
            "flow": {"version": 1, "name": "inner", "nodes": {"only": {"call": "placeholder"}}},
            "when": "${params.on}",
            "max_visits": 3,
            "on_exhausted": "done",
            "next": "work",
        },
        "done": {"call": "placeholder", "approve": True, "next": "END"},
    },
}


def save(document: Any, name: str = "x.yaml") -> str:
    Path(name).write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return name


def same(one: Flow, other: Flow) -> bool:
    return one == other and one.digest == other.digest


def test_what_a_flow_holds(workdir: Path) -> None:
    flow = load_flow(save(RICH))
    assert (flow.name, flow.start, flow.finish) == ("rich", "plan", "done")
    assert flow.budget == {"tokens": 1000, "wall": 5400.0, "cost": 3.0, "on_exceeded": "finish"}
    assert flow.sandbox == {"memory": 2**28, "cpus": 1.0, "timeout": 30.0, "output": 2**20, "network": False}
    assert flow.model == {"name": "m-end", "temperature": 0.5, "price": {"input": 1, "output": 2.5}}
    assert not flow.inputs["limit"].required and flow.inputs["doc"].required
    work, inner = flow.nodes["work"], flow.nodes["inner"]
    assert work.map is not None and work.map.max_parallel == 2 and work.timeout == 600.0
    assert flow.nodes["plan"].retry.attempts == 2 and flow.nodes["plan"].retry.delay == 5.0
    assert (inner.flow, inner.max_visits, inner.on_exhausted) == ("inner", 3, "done")
    assert flow.nodes["done"].approve and str(flow.nodes["done"].place).startswith("x.yaml:")
    scope = {"inputs": {}, "params": flow.params, "state": {"tasks": [{"path": "a"}], "round": 2}}
    assert work.map.over.evaluate(scope) == [{"path": "a"}]
    assert work.map.lane is not None and work.map.lane.evaluate({**scope, "task": {"path": "a"}}) == "lane a"
    assert [edge.to for edge in work.next if edge.when is None or edge.when.evaluate(scope)] == ["inner", "done"]


@pytest.mark.parametrize("name", shipped_flows())
def test_shipped_flows_load_by_name_and_by_path_and_begin_with_the_modeline(name: str) -> None:
    path = data_folder() / "flows" / f"{name}.yaml"
    assert same(load_flow(name), load_flow(str(path)))
    assert path.read_text().startswith("# yaml-language-server: $schema=../schemas/flow.schema.json\n")


def test_a_resolved_flow_loads_to_the_same_flow(workdir: Path) -> None:
    loaded = load(save(RICH))
    save(dict(loaded.flow.document), "dumped.yaml")
    Path("shown.yaml").write_text(resolved_text(loaded))
    Path("written.yaml").write_text(json.dumps(loaded.flow.document))
    for name in ("dumped.yaml", "shown.yaml", "written.yaml"):
        again = load(name)
        assert same(again.flow, loaded.flow)
        assert again.flow.document == loaded.flow.document


def test_a_resolved_flow_needs_no_other_file(workdir: Path) -> None:
    Path("lib").mkdir()
    Path("lib/item.json").write_text(
        '{"$id": "https://x.org/item", "type": "object", "properties": {"n": {"const": null}}}'
    )
    Path("lib/items.json").write_text('{"type": "array", "items": {"$ref": "item.json"}, "default": null}')
    save({**RICH, "state": {**RICH["state"], "items": {"schema": "items.json"}}}, "lib/base.yaml")
    Path("lib/sub.yaml").write_text("version: 1\nname: sub\nnodes: {a: {call: placeholder}}\n")
    Path("x.yaml").write_text("extends: lib/base.yaml\nname: mine\nnodes: {inner: {flow: lib/sub.yaml}}\n")
    loaded = load("x.yaml")
    loaded.raise_all()
    assert {Path(one).name for one in loaded.flow.files} == {"x.yaml", "base.yaml", "item.json", "items.json"}
    text = resolved_text(loaded)
    for file in Path("lib").iterdir():
        file.unlink()
    Path("y.yaml").write_text(text)
    assert same(load_flow("y.yaml"), loaded.flow)


def test_origins(workdir: Path) -> None:
    Path("base.yaml").write_text("version: 1\nname: base\nparams:\n  n: 1\n  m: 2\nnodes: {a: {flow: sub.yaml}}\n")
    Path("sub.yaml").write_text("version: 1\nname: sub\nnodes:\n  b: {call: placeholder}\n")
    Path("x.yaml").write_text("extends: base.yaml\nname: mine\n")
    found = origins(load("x.yaml", sets=["m=3"]))
    assert found["/version"] == "base.yaml:1"
    assert found["/name"] == "x.yaml:2"
    assert found["/params/n"] == "base.yaml:4"
    assert found["/params/m"] == "--set m=3"
    assert found["/nodes/a/flow/nodes/b/call"] == "sub.yaml:4"
    assert found["/start"] == "default"


def test_a_long_chain(workdir: Path) -> None:
    save(RICH, "f0.yaml")
    for number in range(1, 60):
        Path(f"f{number}.yaml").write_text(f"extends: f{number - 1}.yaml\nparams: {{n: {number}}}\n")
    assert load_flow("f59.yaml").params["n"] == 59


def test_removal_by_null(workdir: Path) -> None:
    save(RICH, "base.yaml")
    Path("x.yaml").write_text("extends: base.yaml\nbudget: {cost: null}\nsandbox: null\nnodes: {plan: {retry: null}}\n")
    flow = load_flow("x.yaml")
    assert "cost" not in flow.budget and flow.sandbox == {} and flow.nodes["plan"].retry.attempts == 1


def test_bom_and_crlf(workdir: Path) -> None:
    text = yaml.safe_dump(RICH, sort_keys=False)
    Path("x.yaml").write_text(text)
    Path("y.yaml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert same(load_flow("x.yaml"), load_flow("y.yaml"))


def test_ten_thousand_nodes(workdir: Path) -> None:
    count = 10_000
    following = [f"n{number}" for number in range(1, count)] + ["END"]
    lines = [
        f'  n{number}: {{call: "m:f", when: "${{params.x > {number}}}", next: {to}}}'
        for number, to in enumerate(following)
    ]
    Path("x.yaml").write_text("version: 1\nname: x\nparams: {x: 1}\nnodes:\n" + "\n".join(lines))
    assert len(load_flow("x.yaml").nodes) == count


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("codetaem", "no flow 'codetaem' comes with flowrun. Did you mean 'codeteam'?"),
        ("zzz", "Known: codeteam"),
        ("mine", "Did you mean 'mine.yaml'?"),
        ("mien.yaml", "no flow file 'mien.yaml'. Did you mean 'mine.yaml'?"),
        ("there/mine.yaml", "there is no folder 'there'"),
        ("./folder", "is a folder"),
        ("./pipe", "is no regular file"),
        ("/dev/zero", "is no regular file"),
        (f"{'x' * 5000}.yaml", "File name too long"),
        ("circle.yaml", "no flow file 'circle.yaml'"),
    ],
)
def test_a_flow_that_is_not_there(name: str, message: str, workdir: Path) -> None:
    save(RICH, "mine.yaml")
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("circle.yaml").symlink_to("circle.yaml")
    with pytest.raises(InputError) as raised:
        load_flow(name)
    assert message in str(raised.value)


_junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    st.floats(0, 1),
    st.sampled_from(
        ["", "x", "END", "plan", "work", "${params.n}", "${state.tasks}", "${", "${)}", "x.json", "1s", "\u2028"]
    ),
    st.just([]),
    st.just({}),
    st.just([{"to": "END"}]),
    st.just({"call": "placeholder"}),
    st.just({"$ref": "#/nowhere"}),
    st.just({"type": "array", "items": {"$ref": "#"}}),
    st.just({"over": "${range(2)}", "as": "i"}),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_flow_with_anything_anywhere_loads_or_is_refused(workdir: Path, data: st.DataObject) -> None:
    document = copy.deepcopy(RICH)
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = document
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = data.draw(st.sampled_from([*keys, "other"] if isinstance(place, dict) else keys or [None]))
            inside = place[key] if key in keys else None
            if isinstance(inside, dict | list) and inside and data.draw(st.integers(0, 3)):
                place = inside
                continue
            if isinstance(place, dict) and not data.draw(st.integers(0, 4)):
                place.pop(key, None)
            elif key is not None:
                place[key] = copy.deepcopy(data.draw(_junk))
            break
    save(document)
    try:
        loaded = load("x.yaml")
        loaded.check_code()
        loaded.raise_all()
    except FlowError as error:
        assert error.diagnostics and all(one.message for one in error.diagnostics)
    except FlowrunError as error:
        assert str(error)
    else:
        Path("again.yaml").write_text(resolved_text(loaded))
        assert same(load_flow("again.yaml"), loaded.flow)


def test_places_do_not_count_in_comparing_flows(workdir: Path) -> None:
    flow = load_flow(save(RICH))
    node = flow.nodes["plan"]
    assert dataclasses.replace(node, place=flow.nodes["done"].place) == node
