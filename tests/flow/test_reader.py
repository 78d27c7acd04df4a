from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import FlowError
from engine.flow.reader import parse, parse_value

_text = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), max_size=8)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda number: "e" not in repr(number) or "." in repr(number)
    ),
    _text,
)
data = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4), max_leaves=15
)
maps = st.dictionaries(_text, data, min_size=1, max_size=4)


@given(maps, st.booleans())
def test_reads_what_pyyaml_writes(document: dict[str, Any], flow_style: bool) -> None:
    text = yaml.safe_dump(document, default_flow_style=flow_style, allow_unicode=True, sort_keys=False)
    assert parse(text, "x").data == document


@given(maps)
def test_reads_json(document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False)
    assert parse(text, "x").data == document


@given(maps)
def test_knows_where_each_value_stands(document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False)
    source = parse(text, "x")

    def walk(value: Any, path: tuple[str | int, ...]) -> None:
        found = source.find(path)
        assert found is not None and found[0] == value
        begins = (
            "{"
            if isinstance(value, dict)
            else "["
            if isinstance(value, list)
            else json.dumps(value, ensure_ascii=False)
        )
        spot = found[1]
        assert text.startswith(begins, spot.index)
        assert source.at(spot.index) == (spot.line, spot.column)
        inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, one in inside:
            walk(one, (*path, key))

    for key, one in document.items():
        walk(one, (key,))


@given(st.text(max_size=60) | st.text("ab:-[]{},&*!|>'\"#%@`?\n\t \r<$\x85\u2028", max_size=40))
@example("? ")
@example("a: &x\n  <<: *x")
@example("a: *b")
@example("--- >\n")
@example("%TAG ! x\n---\n")
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        parse(text, "x")
    except FlowError as error:
        lines = (
            text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + text.count("\u2029") + 1
        )
        assert error.diagnostics and all(1 <= one.line <= lines + 1 and one.column >= 1 for one in error.diagnostics)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3_000_000", 3_000_000),
        ("1:30", 90),
        ("yes", True),
        ("off", False),
        ("~", None),
        ("1e3", "1e3"),
        ("1.5e+3", 1500.0),
        ("2024-01-01", "2024-01-01"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("2h", "2h"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
        ("", None),
        ("0x1F", 31),
    ],
)
def test_scalars(text: str, value: Any) -> None:
    assert parse_value(text, "--set")[0] == value


def test_aliases_and_merge_keys() -> None:
    text = "base: &base {a: 1, b: {c: 2}}\nother: &other {b: 5, d: 6}\n"
    text += "one: {<<: *base, a: 9}\ntwo: {<<: [*other, *base]}\n"
    document = parse(text, "x").data
    assert document["one"] == {"a": 9, "b": {"c": 2}}
    assert document["two"] == {"a": 1, "b": 5, "d": 6}


def test_crlf_and_tabs_inside_lines() -> None:
    assert parse("a: 1\r\nb: {c:\t2}\r\n", "x").data == {"a": 1, "b": {"c": 2}}


def test_faults_before_a_fatal_one_are_kept() -> None:
    with pytest.raises(FlowError) as raised:
        parse("a: 1\na: 2\n1: x\nb: [\n", "x")
    assert [(one.line, one.message.split(",")[0]) for one in raised.value.diagnostics] == [
        (2, "duplicate key 'a'"),
        (3, "the key '1' reads as a number; put it in quotes"),
        (5, "not YAML: did not find expected node content (while parsing a flow node)"),
    ]
