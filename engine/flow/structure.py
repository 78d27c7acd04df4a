"""Checks a document against `schemas/flow.schema.json` and says in words what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from engine.flow.acceptance import accepts
from engine.flow.source import Keys
from engine.flow.suggestion import Hint
from engine.resources import schema_file

if TYPE_CHECKING:
    from jsonschema import ValidationError

_WORDS = {
    "object": "a map",
    "array": "a list",
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}
_ONE = {"nodes": "node", "inputs": "input", "state": "state key", "models": "model of role"}


@dataclass(frozen=True)
class Flaw:
    """One thing that breaks the schema. `key` says that the key at `path` is meant, not its value."""

    path: Keys
    message: str
    key: bool = False
    hint: Hint | None = None


@cache
def flow_schema() -> dict[str, Any]:
    """The JSON Schema of the flow file."""
    return dict(json.loads(schema_file("flow").read_text(encoding="utf-8")))


def top_level_keys() -> Mapping[str, Any]:
    """The keys a flow file may have."""
    return dict(flow_schema()["properties"])


def flaws(document: Mapping[str, Any]) -> Iterator[Flaw]:
    """Everything in a document that breaks the schema."""
    if accepts(flow_schema(), document):
        return
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(flow_schema()).iter_errors(document):
        yield from _explain(error)


def value_flaws(path: Keys, value: Any) -> Iterator[str]:
    """What is wrong with a value that stands at this path of a flow file, apart from what surrounds it."""
    part = {**_schema_at(path), "$defs": flow_schema()["$defs"]}
    if accepts(part, value):
        return
    from jsonschema import Draft202012Validator

    for error in Draft202012Validator(part).iter_errors(value):
        expected = (
            described(part)
            if "type" in part or "$comment" in part
            else _either([str(one) for one in part["enum"] if one is not None])
        )
        yield f"{context(path)}expected {expected}, not {shown(error.instance)}"


def context(path: Keys) -> str:
    """What a path is called in a message: "node 'develop': next[0]: "."""
    if not path:
        return ""
    if path[0] in _ONE and len(path) > 1:
        head, rest = f"{_ONE[str(path[0])]} '{path[1]}'", path[2:]
    else:
        head, rest = str(path[0]), path[1:]
    tail = "".join(f"[{step}]" if isinstance(step, int) else f": {step}" for step in rest)
    return f"{head}{tail}: "


def shown(value: Any) -> str:
    """A value as a message quotes it."""
    if isinstance(value, Mapping):
        return "a map"
    if isinstance(value, list):
        return "a list"
    text = f"'{value}'" if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else text[:56] + "...'"


def _schema_at(path: Keys) -> dict[str, Any]:
    schema: dict[str, Any] = flow_schema()
    for step in path:
        if isinstance(step, int):
            schema = schema["items"]
        else:
            schema = schema.get("properties", {}).get(step) or schema["additionalProperties"]
        if "$ref" in schema:
            schema = flow_schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    return schema


def _explain(error: ValidationError) -> Iterator[Flaw]:
    path: Keys = tuple(error.absolute_path)
    rule = str(error.validator)
    wanted: Any = error.validator_value
    value: Any = error.instance
    schema: Any = error.schema
    if rule == "additionalProperties":
        known = schema["properties"]
        for key in value:
            if key not in known:
                message = f"{context(path)}unknown key '{key}'"
                yield Flaw(
                    (*path, key), message, key=True, hint=Hint(key, known, f". Known: {', '.join(sorted(known))}")
                )
    elif rule == "required":
        missing = next(key for key in wanted if f"'{key}'" in error.message.split(" is a ")[0])
        yield Flaw(path, f"{context(path)}missing key '{missing}'", key=True)
    elif rule == "oneOf" and not isinstance(value, Mapping):
        return  # said already: it is no map
    elif rule == "oneOf":
        said = "has both" if all(key in value for key in ("call", "flow")) else "has neither"
        yield Flaw(path, f"{context(path)}needs {schema['$comment']}, and {said}", key=True)
    elif error.parent is None and "propertyNames" in error.absolute_schema_path:
        expected = schema.get("$comment", "another name")
        yield Flaw((*path, value), f"{context(path)}bad name {shown(value)}: expected {expected}", key=True)
    elif rule == "const":
        yield Flaw(path, f"{context(path)}this flowrun reads version {wanted}, not {shown(value)}")
    elif rule == "enum":
        choices = [str(one) for one in wanted if one is not None]
        hint = Hint(value, choices) if isinstance(value, str) else None
        yield Flaw(path, f"{context(path)}expected {_either(choices)}, not {shown(value)}", hint=hint)
    elif rule in ("minProperties", "minItems", "minLength"):
        yield Flaw(path, f"{context(path).removesuffix(': ')} is empty")
    else:
        note = "; YAML reads that as text, write 1.0e-3 for 1e-3" if _looks_like_a_number(value) else ""
        yield Flaw(path, f"{context(path)}expected {described(schema)}, not {shown(value)}{note}")


def described(schema: Mapping[str, Any]) -> str:
    """What a schema expects, in words."""
    if "$comment" in schema:
        return str(schema["$comment"])
    kinds = schema["type"]
    return _either([_WORDS[one] for one in ([kinds] if isinstance(kinds, str) else kinds) if one != "null"])


def _looks_like_a_number(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?[eE][-+]?[0-9]+", value) is not None


def _either(choices: list[str]) -> str:
    return choices[0] if len(choices) == 1 else f"{', '.join(choices[:-1])} or {choices[-1]}"
