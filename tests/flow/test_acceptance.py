"""The quick answer never contradicts jsonschema."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, SchemaError

from engine.flow.acceptance import accepts, accepts_schema
from engine.flow.structure import flow_schema
from engine.resources import data_folder

_names = st.sampled_from(["a", "b", "ab", "c1"])
_scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, -2.0]), _names)
values = st.recursive(
    _scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3), max_leaves=6
)
_types = st.sampled_from(["object", "array", "string", "boolean", "integer", "number", "null"])
_limits = st.integers(-2, 3)
_sizes = st.integers(0, 2)


def _schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keywords = {
        "type": _types | st.lists(_types, min_size=1, max_size=3, unique=True),
        "const": values,
        "enum": st.lists(values, min_size=1, max_size=3),
        "required": st.lists(_names, max_size=2, unique=True),
        "properties": st.dictionaries(_names, inner, max_size=3),
        "additionalProperties": inner,
        "propertyNames": inner,
        "items": inner,
        "not": inner,
        "if": inner,
        "then": inner,
        "oneOf": st.lists(inner, min_size=1, max_size=2),
        "pattern": st.sampled_from(["^a", "b$", "[0-9]"]),
        "minimum": _limits,
        "maximum": _limits,
        "exclusiveMinimum": _limits,
        "minLength": _sizes,
        "maxLength": _sizes,
        "minItems": _sizes,
        "minProperties": _sizes,
        "uniqueItems": st.booleans(),
        "description": _names,
        "maxItems": _sizes,
    }
    return st.fixed_dictionaries({}, optional=keywords)


schemas = st.recursive(st.booleans() | _schemas(st.booleans()), _schemas, max_leaves=4)


@given(schemas, values)
def test_what_is_accepted_satisfies_the_schema(schema: Any, value: Any) -> None:
    if accepts(schema, value):
        Draft202012Validator(schema).validate(value)


@given(
    schemas
    | values
    | st.fixed_dictionaries(
        {}, optional={"type": values, "required": values, "minLength": values, "pattern": _names | st.just("(")}
    )
)
def test_what_is_accepted_as_a_schema_is_one(schema: Any) -> None:
    if accepts_schema(schema):
        Draft202012Validator.check_schema(schema)


@given(schemas)
def test_what_is_no_schema_is_not_accepted(schema: Any) -> None:
    try:
        Draft202012Validator.check_schema({"items": schema, "minLength": -1})
    except SchemaError:
        assert not accepts_schema({"items": schema, "minLength": -1})
    else:
        raise AssertionError("-1 is no length")


def test_the_schemas_that_come_with_flowrun_need_no_second_look() -> None:
    for file in (data_folder() / "schemas").glob("*.schema.json"):
        schema = json.loads(file.read_text())
        Draft202012Validator.check_schema(schema)
    assert accepts(flow_schema(), {"version": 1, "name": "x", "nodes": {"a": {"call": "placeholder"}}})
