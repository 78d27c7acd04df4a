"""JSON is found in an answer, read strictly, and never repaired."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.structured import parse_json, schema_faults


@pytest.mark.parametrize(
    "answer",
    [
        '{"a": [1]}',
        '\ufeff {"a": [1]}\r\n',
        '```json\n{"a": [1]}\n```',
        '~~~\n{"a": [1]}\n~~~\n',
        '```json\n{"a": [1]}',
        'Here you are [1]:\n\n{"a": [1]}\n\nAnything else?',
        'See {this}: {"a": [1]}',
        'Run it:\n```bash\nls {a,b}\n```\n```json\n{"a": [1]}\n```',
        '<think>perhaps {"b": 2}</think>{"a": [1]}',
        '{"a": [1]}\nor again\n{"a": [1]}',
    ],
)
def test_the_value_is_found(answer: str) -> None:
    assert parse_json(answer) == {"a": [1]}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("<think>hm", "empty"),
        ("I cannot do that.", "no JSON"),
        ('{"a": [1, 2,], "b": {"c": 1}}', "Expecting value"),
        ("{'a': {\"b\": 1}}", "not JSON"),
        ('{a: [1], "b": {"c": 1}}', "not JSON"),
        ('{"a": "cut off', "Unterminated"),
        ('{"a": {"b": 1}', "Expecting"),
        ('```json\n{"a": 1,}\n```', "double quotes"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": 1e999}', "out of range"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": 1}{"a": 2}', "2 different"),
        ("[" * 50_000, "deep"),
        ('{"a": "print("{")", "b": {"c": 1}}', "delimiter"),
    ],
)
def test_what_is_broken_is_refused(answer: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(answer)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=5), values, min_size=1, max_size=3)


@given(values, st.booleans())
def test_any_value_comes_back(value: Any, ascii_only: bool) -> None:
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only)) == value


@given(objects, st.sampled_from(["Sure:\n", "```json\n", "<think>{</think>\n", "Note [2] (a) 'b'\n\n"]))
def test_any_object_comes_out_of_chatter(value: dict[str, Any], before: str) -> None:
    assert parse_json(f"{before}{json.dumps(value)}\n{'```' if '```' in before else 'Bye!'}") == value


@given(objects, st.data())
def test_a_cut_object_is_never_taken(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    with pytest.raises(ValueError):
        parse_json(text[: data.draw(st.integers(1, len(text) - 1))])


@given(st.text())
def test_no_answer_breaks_it(answer: str) -> None:
    try:
        parse_json(answer)
    except ValueError as error:
        assert str(error)


def test_faults_name_their_place_and_stay_short() -> None:
    schema = {"type": "object", "properties": {"files": {"items": {"type": "string"}}}, "required": ["name"]}
    faults = schema_faults({"files": ["a", {"x": "y" * 5000}]}, schema)
    assert faults[0] == "$: 'name' is a required property"
    assert faults[1].startswith("$.files[1]: ") and len(faults[1]) < 400
