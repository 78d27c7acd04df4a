"""Writes a resolved flow as YAML in which every value is followed by its origin.

What is written can be loaded again and gives the same flow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.flow.layers import Layers
from engine.flow.loader import Loaded
from engine.flow.reader import plain_value
from engine.flow.source import Keys

_PLAIN = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_./ +-]*")
_ESCAPED = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")  # what YAML does not take as it is
_COLUMN = 60


def resolved_text(loaded: Loaded) -> str:
    """The resolved flow with origins as comments."""
    return "\n".join(_map(loaded, loaded.flow.document, (), 0)) + "\n"


def origins(loaded: Loaded) -> dict[str, str]:
    """The origin of every value, by its path as JSON pointer."""
    found = {}
    for path, value, layers, inside in _leaves(loaded, loaded.flow.document, (), ()):
        if not isinstance(value, Mapping) or not value:
            found["/" + "/".join(str(one).replace("~", "~0").replace("/", "~1") for one in path)] = _origin(
                layers, inside
            )
    return found


def _leaves(loaded: Loaded, value: Any, path: Keys, inside: Keys) -> Iterator[tuple[Keys, Any, Layers, Keys]]:
    """Values that have an origin of their own, with the path in the whole and the path in their own flow."""
    subflow = _subflow(loaded, inside)
    if subflow:
        yield from _leaves(subflow, value, path, ())
    elif isinstance(value, Mapping) and value and not _is_schema(inside):
        for key, one in value.items():
            yield from _leaves(loaded, one, (*path, key), (*inside, key))
    else:
        yield path, None if isinstance(value, Mapping) else value, loaded.layers, inside


def _map(loaded: Loaded, document: Mapping[str, Any], path: Keys, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, value in document.items():
        here = (*path, key)
        head = f"{indent}{_scalar(key)}:"
        subflow = _subflow(loaded, here)
        if subflow:
            yield _noted(head, loaded.layers, here)
            yield from _map(subflow, value, (), depth + 1)
        elif isinstance(value, Mapping) and value and not _is_schema(here):
            yield head
            yield from _map(loaded, value, here, depth + 1)
        elif isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value):
            yield head
            for number, one in enumerate(value):
                yield _noted(f"{indent}  - {one_line(one)}", loaded.layers, (*here, number))
        else:
            yield _noted(f"{head} {one_line(value)}", loaded.layers, here)


def _noted(line: str, layers: Layers, path: Keys) -> str:
    return f"{line:<{_COLUMN}}  # {_origin(layers, path)}"


def _origin(layers: Layers, path: Keys) -> str:
    if not layers.has(path):
        return "default"
    source, spot = layers.origin(path)
    return f"{source.name}:{spot.line + 1}" if source.path else f"{source.name} {_printable(source.text)}"


def _printable(text: str) -> str:
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _subflow(loaded: Loaded, path: Keys) -> Loaded | None:
    is_flow = len(path) == 3 and path[0] == "nodes" and path[2] == "flow"
    return loaded.subflows.get(str(path[1])) if is_flow else None


def _is_schema(path: Keys) -> bool:
    return len(path) == 3 and path[0] == "state" and path[2] == "schema"


def one_line(value: Any) -> str:
    """A value in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_scalar(key)}: {one_line(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(one_line(one) for one in value) + "]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    if isinstance(value, float):
        text = repr(value)
        return text.replace("e", ".0e") if "e" in text and "." not in text else text  # as YAML 1.1 writes it
    return json.dumps(value)


def _is_plain(text: str) -> bool:
    """Whether text needs no quotes: it is read back as itself."""
    try:
        return bool(_PLAIN.fullmatch(text)) and text == text.strip() and plain_value(text) == text
    except ValueError:
        return False


def _quoted(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
