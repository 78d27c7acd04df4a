"""Says quickly that a value satisfies a JSON Schema, for the part of JSON Schema that flow files need.

jsonschema has the last word and the messages; it is asked only about what is not accepted here. So a flow without
faults is loaded without importing it, which takes longer than all else together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_NOTES = {"$comment", "$defs", "$schema", "default", "description", "examples", "then", "title"}
_DEEPEST = 150


class _Unsure(Exception):
    """A keyword or a value that is not judged here."""


def accepts(schema: Any, value: Any) -> bool:
    """Whether the value surely satisfies the schema. False says nothing."""
    try:
        return _accepts(schema, value, schema, 0)
    except _Unsure:
        return False


def accepts_schema(schema: Any) -> bool:
    """Whether this surely is a valid JSON Schema (2020-12). False says nothing."""
    return accepts(_SCHEMA, schema)


def _accepts(schema: Any, value: Any, root: Any, depth: int) -> bool:
    if isinstance(schema, bool):
        return schema
    if depth > _DEEPEST:
        raise _Unsure
    for keyword, wanted in schema.items():
        if keyword in _NOTES:
            continue
        kinds, rule = _SIMPLE.get(keyword, (None, None))
        if rule is not None and kinds is not None:
            if isinstance(value, kinds) and not isinstance(value, bool) and not rule(wanted, value):
                return False
        elif not _judge(keyword, wanted, value, schema, root, depth + 1):
            return False
    return True


def _judge(keyword: str, wanted: Any, value: Any, schema: Any, root: Any, depth: int) -> bool:
    """Keywords that look at the value's type, or at schemas inside the schema."""
    match keyword:
        case "type":
            return any(_TYPES[one](value) for one in ([wanted] if isinstance(wanted, str) else wanted))
        case "const":
            return _equal(wanted, value)
        case "enum":
            return any(_equal(one, value) for one in wanted)
        case "$ref":
            return _accepts(_pointed(root, wanted), value, root, depth)
        case "not":
            return not _accepts(wanted, value, root, depth)
        case "oneOf":
            return sum(_accepts(one, value, root, depth) for one in wanted) == 1
        case "if":
            return not _accepts(wanted, value, root, depth) or _accepts(schema.get("then", True), value, root, depth)
        case "items":
            return not isinstance(value, list) or all(_accepts(wanted, one, root, depth) for one in value)
        case "properties" | "additionalProperties" | "propertyNames":
            return not isinstance(value, Mapping) or _judge_map(keyword, wanted, value, schema, root, depth)
    raise _Unsure


def _judge_map(keyword: str, wanted: Any, value: Mapping[str, Any], schema: Any, root: Any, depth: int) -> bool:
    if keyword == "propertyNames":
        return all(_accepts(wanted, name, root, depth) for name in value)
    if keyword == "properties":
        return all(_accepts(one, value[name], root, depth) for name, one in wanted.items() if name in value)
    known = schema.get("properties", ())
    return all(_accepts(wanted, one, root, depth) for name, one in value.items() if name not in known)


def _pointed(root: Any, reference: str) -> Any:
    value = root
    for step in reference.split("/")[1:]:
        value = value[step]
    return value


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other) and one == other:
        raise _Unsure  # 1, 1.0 and true are not all the same to JSON Schema
    if isinstance(one, list | Mapping) and one == other:
        raise _Unsure
    return bool(one == other)


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_integer(value),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "null": lambda value: value is None,
}


def _is_integer(value: Any) -> bool:
    if isinstance(value, float) and value.is_integer():
        raise _Unsure  # 1.0 is an integer to JSON Schema
    return isinstance(value, int) and not isinstance(value, bool)


def _is_unique(wanted: bool, value: list[Any]) -> bool:
    if not all(isinstance(one, str) for one in value):
        raise _Unsure
    return not wanted or len(set(value)) == len(value)


def _has_format(wanted: str, value: str) -> bool:
    if wanted != "regex":
        raise _Unsure
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


_Rule = Callable[[Any, Any], bool]
_SIMPLE: Mapping[str, tuple[tuple[type, ...], _Rule]] = {
    "required": ((Mapping,), lambda wanted, value: all(name in value for name in wanted)),
    "minProperties": ((Mapping,), lambda wanted, value: len(value) >= wanted),
    "minItems": ((list,), lambda wanted, value: len(value) >= wanted),
    "minLength": ((str,), lambda wanted, value: len(value) >= wanted),
    "maxLength": ((str,), lambda wanted, value: len(value) <= wanted),
    "pattern": ((str,), lambda wanted, value: re.search(wanted, value) is not None),
    "minimum": ((int, float), lambda wanted, value: value >= wanted),
    "maximum": ((int, float), lambda wanted, value: value <= wanted),
    "exclusiveMinimum": ((int, float), lambda wanted, value: value > wanted),
    "uniqueItems": ((list,), _is_unique),
    "format": ((str,), _has_format),
}

_HERE = {"$ref": "#"}
_BY_NAME = {"type": "object", "additionalProperties": _HERE}
_SEVERAL = {"type": "array", "minItems": 1, "items": _HERE}
_COUNT = {"type": "integer", "minimum": 0}
_NUMBER = {"type": "number"}
_LIST = {"type": "array"}
_TEXT = {"type": "string"}
_TYPE = {"enum": list(_TYPES)}
_SCHEMA: Mapping[str, Any] = {  # the usual part of https://json-schema.org/draft/2020-12/schema
    "type": ["object", "boolean"],
    "additionalProperties": False,
    "properties": {
        **dict.fromkeys(("$comment", "description", "title"), _TEXT),
        **dict.fromkeys(("const", "default"), True),
        **dict.fromkeys(("enum", "examples"), _LIST),
        **dict.fromkeys(("$defs", "properties"), _BY_NAME),
        **dict.fromkeys(("additionalProperties", "else", "if", "items", "not", "propertyNames", "then"), _HERE),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _SEVERAL),
        **dict.fromkeys(("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"), _COUNT),
        **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _NUMBER),
        "$ref": {"type": "string", "pattern": "^#[A-Za-z0-9$/._-]*$"},
        "pattern": {"type": "string", "format": "regex"},
        "required": {"type": "array", "items": _TEXT, "uniqueItems": True},
        "type": {"oneOf": [_TYPE, {"type": "array", "minItems": 1, "items": _TYPE, "uniqueItems": True}]},
        "uniqueItems": {"type": "boolean"},
    },
}
