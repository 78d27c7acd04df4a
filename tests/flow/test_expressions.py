from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import FlowrunError
from engine.flow.expressions import BOOLEAN, KEY, LIST, Names, compile_value, item_shape
from engine.flow.scanner import ExpressionFault, split
from engine.flow.shapes import group, shape_of_schema, shape_of_value

PARAMS = {
    "n": 3,
    "ratio": 0.5,
    "whole": 2.0,
    "on": True,
    "mode": "fast",
    "qa": {"rounds": 6},
    "names": ["a", "b"],
    "free": {},
}
TASK = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"path": {"type": "string"}, "after": {"type": "array", "items": {"type": "string"}}},
}
STATE: dict[str, Any] = {
    "tasks": {"type": "array", "items": {"$ref": "#/$defs/task"}, "$defs": {"task": TASK}},
    "verdict": {"type": "object", "properties": {"total": {"type": "integer"}}},
    "score": {"type": "number"},
    "scores": {"type": "array", "items": {"type": "number"}},
    "either": {"type": ["string", "null"]},
    "level": {"enum": ["low", "high"]},
    "tree": {"type": "object", "properties": {"child": {"$ref": "#"}, "size": {"type": "integer"}}},
}
NAMES = Names(
    {
        "inputs": group({}),
        "params": group({name: shape_of_value(value) for name, value in PARAMS.items()}),
        "state": group({name: shape_of_schema(schema) for name, schema in STATE.items()}),
    }
)
SCOPE = {
    "inputs": {},
    "params": PARAMS,
    "state": {
        "tasks": [{"path": "a.py", "after": []}, {"path": "b.py", "after": ["a.py"]}],
        "verdict": {"total": 7},
        "score": 2,
        "scores": [1, 2.5],
        "either": None,
        "level": "low",
        "tree": {"size": 1, "child": {"size": 2, "child": {"size": 3}}},
    },
}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("${params.n}", "int", 3),
        ("${params.n + 1}", "int", 4),
        ("${params.qa.rounds < 7 && params.on}", "bool", True),
        ("${params.qa}", "map<string, dyn>", {"rounds": 6}),
        ("${params.names}", "list<string>", ["a", "b"]),
        ("${range(params.n)}", "list<int>", [0, 1, 2]),
        ("${range(-1)}", "list<int>", []),
        ("${size(state.tasks) == 2}", "bool", True),
        ("${state.tasks[1].after}", "dyn", ["a.py"]),
        ("${state.tasks.exists(task, task.path == 'b.py')}", "bool", True),
        ("${state.tasks.map(task, task.path)}", "list<dyn>", ["a.py", "b.py"]),
        ("${state.score * 2.0}", "double", 4.0),
        ("${state.score > 1.5}", "bool", True),
        ("${state.scores.exists(one, one > 2.0)}", "bool", True),
        ("${params.whole}", "double", 2.0),
        ("${state.either == null}", "bool", True),
        ("${state.level in ['low', 'middle']}", "bool", True),
        ("${state.tree.child.child.size}", "int", 3),
        ("${has(state.verdict.total) && state.verdict.total > 5}", "bool", True),
        ("${has(state.verdict.reason)}", "bool", False),
        ("${has(params.free.anything)}", "bool", False),
        ("${'}' == '${'}", "bool", False),
        ("${r'\\d' == 'd'}", "bool", False),
        ("${{'a': {'b': 1}}.a.b}", "int", 1),
        ("${\n params.n\n > 1 }", "bool", True),
        ("${params . qa . rounds}", "int", 6),
        ("run-${params.n}-${params.on}-${params.mode}", "string", "run-3-true-fast"),
        ("${params.n}${params.n}", "string", "33"),
        ("no expression", "string", "no expression"),
        ("$5 {and} $", "string", "$5 {and} $"),
    ],
)
def test_type_and_value(text: str, kind: str, value: Any) -> None:
    compiled = compile_value(text, NAMES)
    assert compiled.kind == kind
    assert compiled.evaluate(SCOPE) == value
    assert type(compiled.evaluate(SCOPE)) is type(value)


def test_references_are_names_and_not_what_looks_like_them() -> None:
    compiled = compile_value(
        "${size('state.x') == 0 || {'params.n': state.score}['state'] > 1.0 || params.qa.rounds > 1}", NAMES
    )
    assert [one.path for one in compiled.references] == [("state", "score"), ("params", "qa", "rounds")]
    text = "${params.n > 1 && state.score > 1.0}"
    offsets = [one.offset for one in compile_value(text, NAMES).references]
    assert [text[at:].split()[0] for at in offsets] == ["params.n", "state.score"]


def test_the_item_of_a_map_has_the_fields_of_its_schema() -> None:
    tasks = item_shape(compile_value("${state.tasks}", NAMES), NAMES)
    names = NAMES.with_item("task", tasks)
    assert compile_value("${task.path}", names).kind == "string"
    with pytest.raises(ExpressionFault, match=r"unknown name 'task\.pth'"):
        compile_value("${task.pth}", names)
    assert item_shape(compile_value("${range(3)}", NAMES), NAMES).kind == "int"
    assert (
        item_shape(compile_value("${state.tasks.filter(one, one.path != '')}", NAMES), NAMES).kind == "map<string, dyn>"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${state.verdict.reason}", "no such key|Key not found"),
        ("${1 / (params.n - 3)}", "divide by zero"),
        ("${range(1000000)}", "longer than 100000"),
        ("${params.names[7]}", "index"),
        ("${int(params.mode)}", "cannot convert"),
    ],
)
def test_what_fails_in_a_run_names_the_expression(text: str, message: str) -> None:
    with pytest.raises(FlowrunError, match=message) as raised:
        compile_value(text, NAMES).evaluate(SCOPE)
    assert text in str(raised.value)


def test_a_text_of_very_many_expressions_is_refused() -> None:
    assert compile_value("${params.n}" * 50, NAMES).evaluate(SCOPE) == "3" * 50
    with pytest.raises(ExpressionFault, match="more than 100 expressions"):
        compile_value("${params.n}" * 101, NAMES)


def test_a_name_without_a_value_is_named() -> None:
    compiled = compile_value("${state.verdict.total > 1}", NAMES)
    with pytest.raises(FlowrunError, match=r"'state\.verdict\.total' has no value"):
        compiled.evaluate({**SCOPE, "state": {"verdict": {}}})


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("${params.free.x}", BOOLEAN, "expected true or false, but its value is text"),
        ("${params.free.x}", LIST, "expected a list, but its value is text"),
        ("${params.free.y}", KEY, "expected a string or a whole number, but its value is a map"),
    ],
)
def test_a_value_that_is_known_only_in_a_run_is_checked_there(text: str, wanted: Any, message: str) -> None:
    compiled = compile_value(text, NAMES, wanted=wanted)
    with pytest.raises(FlowrunError, match=message):
        compiled.evaluate({"params": {"free": {"x": "false", "y": {}}}})


def test_a_schema_may_contain_itself_many_times() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {name: {"$ref": "#"} for name in "abcdefgh"}}
    names = Names({"state": group({"t": shape_of_schema(schema)})})
    assert compile_value("${" + ".".join(["state.t", *"abcdefgh" * 3]) + "}", names).kind == "map<string, dyn>"


pieces = st.sampled_from(
    [
        "params.n",
        "state.tasks",
        "state.x",
        "x",
        ".",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "'",
        '"',
        "\\",
        "&&",
        "!",
        "1",
        "2.0",
        "${",
        " ",
        "\n",
    ]
)


@given(st.lists(pieces, max_size=12).map("".join) | st.text(max_size=20))
@example("''' ${ '''}")
@example("has(state.tasks)")
@example("/*")
def test_any_text_compiles_or_is_refused_at_a_place_in_it(text: str) -> None:
    whole = "${" + text + "}"
    try:
        compile_value(whole, NAMES)
    except ExpressionFault as fault:
        assert fault.message and 0 <= fault.offset <= len(whole)


@given(
    st.lists(st.tuples(st.text("a b$"), st.sampled_from(["1", "'}'", "{'a': 1}.a", '"x"'])), max_size=4), st.text("a b")
)
def test_splitting_loses_nothing(parts: list[tuple[str, str]], tail: str) -> None:
    text = "".join(f"{plain} ${{{inner}}}" for plain, inner in parts) + tail
    found = list(split(text))
    assert [one.text for one in found if one.is_expression] == [inner for _, inner in parts]
    assert "".join(f"${{{one.text}}}" if one.is_expression else one.text for one in found) == text
    assert all(text.startswith(one.text, one.start) for one in found)
