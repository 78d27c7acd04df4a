"""The JSON Schemas of the state: read from their files and made whole, so that a flow needs no other file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import Diagnostic
from engine.flow.acceptance import accepts_schema
from engine.flow.reader import MAX_INTEGER
from engine.flow.shapes import pointed
from engine.flow.source import Keys, Source, absolute, display

MAX_BYTES = 4 * 2**20
MAX_DEPTH = 100

_DATA = ("enum", "const", "default", "examples")  # what stands there is no schema
_NAMED = ("properties", "patternProperties", "$defs", "dependentSchemas")  # keys there are names, not keywords


class SchemaFault(Exception):
    """A schema that cannot be used. `diagnostic` is set when the place is in a schema file, not in the flow."""

    def __init__(self, message: str, diagnostic: Diagnostic | None = None) -> None:
        self.message, self.diagnostic = message, diagnostic
        super().__init__(message)


@dataclass
class Bundler:
    """Makes schemas whole: what `$ref` names in other files is taken in under `$defs`.

    Files are read once. `files` holds every one that was read.
    """

    files: dict[Path, Any] = field(default_factory=dict)

    def from_file(self, path: Path) -> dict[str, Any]:
        """The schema in a file. Raises SchemaFault."""
        return self._whole(self._read(path), lambda _: path.parent, path)

    def inline(self, schema: Mapping[str, Any], folder: Callable[[Keys], Path]) -> dict[str, Any]:
        """A schema of the flow file; `folder` says what a relative `$ref` at a path in it is relative to."""
        return self._whole(schema, folder, None)

    def _whole(self, schema: Any, folder: Callable[[Keys], Path], path: Path | None) -> dict[str, Any]:
        if not isinstance(schema, Mapping):
            raise SchemaFault("is not a JSON Schema: it is no object")
        bundle = _Bundle(self, {} if path is None else {absolute(path): "#"})
        whole = bundle.rewritten(schema, folder, "#")
        if bundle.taken:
            whole["$defs"] = {**whole.get("$defs", {}), **bundle.taken}
        target = pointed(whole, whole["$ref"]) if isinstance(whole.get("$ref"), str) else None
        if isinstance(target, Mapping) and "type" in target:
            whole.setdefault("type", target["type"])  # so that the outer type is known without following the reference
        check_schema(whole)
        return dict(whole)

    def _read(self, path: Path) -> Any:
        key = absolute(path)
        if key not in self.files:
            self.files[key] = _load(path)
        return self.files[key]


@dataclass
class _Bundle:
    """One schema in the making. `homes` says where a file's content stands in it, as a JSON pointer."""

    bundler: Bundler
    homes: dict[Path, str]
    taken: dict[str, Any] = field(default_factory=dict)

    def rewritten(self, value: Any, folder: Callable[[Keys], Path], home: str, at: Keys = ()) -> Any:
        if len(at) > MAX_DEPTH:
            raise SchemaFault(f"is more than {MAX_DEPTH} levels deep")
        if isinstance(value, list):
            return [self.rewritten(one, folder, home, (*at, number)) for number, one in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        names = at[-1:] and at[-1] in _NAMED and at[-2:-1] not in [(one,) for one in _NAMED]
        result: dict[str, Any] = {}
        for key, one in value.items():
            if key == "$ref" and isinstance(one, str):
                result[key] = self._reference(one, folder((*at, key)), home)
            elif key in ("$id", "$schema") and isinstance(one, str):
                continue
            elif one is None and key != "const":
                continue  # a null says nothing in a schema, and in a flow file it would remove the key
            elif key == "const" and not names and (one is None or isinstance(one, Mapping)):
                result["enum"] = [one]  # the same, with no null where a flow file would drop it
            elif key in _DATA and not names:
                result[key] = one
            else:
                result[key] = self.rewritten(one, folder, home, (*at, key))
        return result

    def _reference(self, reference: str, folder: Path, home: str) -> str:
        file, _, pointer = reference.partition("#")
        if not file:
            return home + pointer
        path = folder / file
        key = absolute(path)
        if key not in self.homes:
            name = _free_name(path.name, self.taken)
            self.homes[key] = f"#/$defs/{name}"
            self.taken[name] = {}
            self.taken[name] = self.rewritten(self.bundler._read(path), lambda _: path.parent, f"#/$defs/{name}")
        return self.homes[key] + pointer


def check_schema(schema: Mapping[str, Any]) -> None:
    """Whether this is a valid JSON Schema whose references lead somewhere. Raises SchemaFault."""
    if not accepts_schema(schema):
        _judge_schema(schema)
    for reference in _all_references(schema):
        if reference.startswith("#") and pointed(schema, reference) is None:
            raise SchemaFault(f"is not a valid JSON Schema: its $ref '{reference}' leads nowhere")


def _judge_schema(schema: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(step) for step in error.absolute_path)
        message = error.message if len(error.message) <= 200 else error.message[:200] + " ..."
        raise SchemaFault(f"is not a valid JSON Schema: {where + ': ' if where else ''}{message}") from None


def _all_references(value: Any) -> list[str]:
    found = []
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, Mapping):
            stack += [inside for key, inside in one.items() if key not in _DATA or isinstance(inside, Mapping)]
            if isinstance(one.get("$ref"), str):
                found.append(one["$ref"])
        elif isinstance(one, list):
            stack += one
    return found


def _load(path: Path) -> Any:
    name = display(path)
    try:
        if path.exists() and not path.is_file():
            raise SchemaFault(f"'{name}' is no regular file")
        if path.stat().st_size > MAX_BYTES:
            raise SchemaFault(f"the schema file '{name}' is larger than {MAX_BYTES} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaFault(f"the schema file '{name}' is not UTF-8") from None
    except (OSError, ValueError) as error:
        raise SchemaFault(f"cannot read the schema file '{name[:100]}': {getattr(error, 'strerror', error)}") from None
    try:
        value = json.loads(text, parse_int=_integer, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except json.JSONDecodeError as error:
        place = Source(name, path, text, {}).diagnostic(f"not JSON: {error.msg}", error.lineno - 1, error.colno - 1)
        raise SchemaFault(f"the schema file '{name}' is not JSON", place) from None
    except RecursionError:
        raise SchemaFault(f"the schema file '{name}' is nested too deeply") from None
    except ValueError as error:
        raise SchemaFault(f"the schema file '{name}' holds what JSON does not have: {error}") from None


def _integer(text: str) -> int | float:
    number = int(text)
    return number if -MAX_INTEGER <= number < MAX_INTEGER else float(number)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    stem = name.removesuffix(".json").removesuffix(".schema").replace("~", "-").replace("%", "-")
    names = [stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3))]
    return next(one for one in names if one not in taken)
