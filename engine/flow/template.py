"""The beginnings of a flow of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.errors import InputError
from engine.flow.library import find_flow, is_name
from engine.flow.loader import load_flow
from engine.flow.resolved import one_line
from engine.resources import schema_file

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def new_flow(name: str, base: str) -> str:
    """The text of a flow file `name` that extends `base`. Raises InputError, also when the base is at fault."""
    if not _NAME.fullmatch(name) or len(name) > 100:
        raise InputError(f"'{name}' is no name for a flow; use letters, digits, '_' and '-', with a letter first")
    flow = load_flow(base)
    extends = base if is_name(base) else find_flow(base).as_posix()
    lines = [
        f"# yaml-language-server: $schema={schema_file('flow').as_posix()}",
        f"extends: {one_line(extends)}",
        f"name: {name}",
        "",
        f"# Say here only what differs from {flow.name}. Maps are merged key by key, lists and single values are",
        f"# replaced, null removes a key. `flowrun show {name}.yaml --resolved` prints the whole.",
    ]
    if flow.params:
        lines += ["", "# params:", *_commented(flow.params, "#   ")]
    return "\n".join(lines) + "\n"


def _commented(params: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in params.items():
        if isinstance(value, Mapping) and value:
            yield f"{indent}{one_line(name)}:"
            yield from _commented(value, indent + "  ")
        else:
            yield f"{indent}{one_line(name)}: {one_line(value)}"
