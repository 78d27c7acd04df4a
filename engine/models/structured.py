"""JSON in what a model said: found between chatter, read strictly, checked, never repaired."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.models.thinking import without_thinking

INSTRUCTION = "Answer with one JSON value and nothing else. It must satisfy this JSON Schema:"
_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_ANY_OPENING = re.compile(r"[{\[]")
_OPENING = re.compile(r'\{(?=\s*["}])|\[(?=\s*(?:["{\[\]-]|\d|true|false|null))')
_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|["{}\[\]]', re.DOTALL)
_ERRORS = 5
_LONGEST_ERROR = 300


def schema_instruction(schema: Mapping[str, Any]) -> str:
    """What a model is told when its endpoint cannot hold it to a schema."""
    return f"{INSTRUCTION}\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"


def parse_json(text: str) -> Any:
    """The one JSON value in an answer that may have fences, thoughts and chatter around it.

    Strict: no NaN, no duplicate keys, no numbers out of range, no lone surrogates. Raises ValueError with a reason when
    there is none, when it is broken (a sound part of a broken value is not taken), or when there are several.
    """
    body = without_thinking(text).lstrip("\ufeff").strip()
    if not body:
        raise ValueError("the answer is empty")
    try:
        return _strict(body)
    except json.JSONDecodeError:
        values = _fenced(body) or list(_embedded(body))
    if not values:
        raise ValueError("there is no JSON in the answer")
    if any(value != values[0] for value in values):
        raise ValueError(f"the answer holds {len(values)} different JSON values; there must be one")
    return values[0]


def schema_faults(data: Any, schema: Mapping[str, Any]) -> list[str]:
    """What in plain data breaks a JSON Schema, each with its path; empty when nothing does."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(schema).iter_errors(data), key=lambda one: (len(one.path), one.json_path))
    return [f"{one.json_path}: {_short(one.message)}" for one in errors[:_ERRORS]]


def _short(message: str) -> str:
    """A fault without the middle of the value that it quotes."""
    if len(message) <= _LONGEST_ERROR:
        return message
    half = _LONGEST_ERROR // 2
    return f"{message[:half]} … {message[-half:]}"


def _fenced(text: str) -> list[Any]:
    blocks = (found[2].strip() for found in _FENCE.finditer(text))
    return [_strict(block) for block in blocks if _OPENING.match(block)]


def _embedded(text: str) -> Iterator[Any]:
    """The values that stand in text; a broken one is an error. Arrays count only where there is no object."""
    spans = list(_spans(text))
    objects = [one for one in spans if one.startswith("{")]
    return (_strict(one) for one in objects or spans)


def _spans(text: str) -> Iterator[str]:
    """Bracketed stretches that look like JSON. One that does not, yet holds some, is a broken value."""
    position = 0
    while found := _ANY_OPENING.search(text, position):
        position = _closing(text, found.start())
        span = text[found.start() : position]
        if _OPENING.match(span):
            yield span
        elif _OPENING.search(span):
            raise ValueError(f"this is not JSON: {_short(span)}")


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed; the end of the text if it never is."""
    depth = 0
    for found in _BRACKET.finditer(text, start):
        if found[0] in "{[":
            depth += 1
        elif found[0] in "}]":
            depth -= 1
        elif found[0] == '"':  # a string that does not end
            return len(text)
        if depth == 0:
            return found.end()
    return len(text)


def _strict(text: str) -> Any:
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_number)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("the JSON holds half of a surrogate pair") from error
    except RecursionError as error:
        raise ValueError("the JSON is nested too deep") from error
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the key {name!r} appears twice in one JSON object")
        made[name] = value
    return made


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _number(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {text} is out of range")
    return value
