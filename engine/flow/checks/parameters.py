"""Whether each parameter is used by a node or an expression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.flow.faults import Faults
from engine.flow.model import Flow
from engine.flow.scanner import Reference
from engine.flow.source import Keys
from engine.node import Declaration


def check_used(
    flow: Flow, declarations: Iterable[Declaration], used: Iterable[tuple[Keys, Reference]], faults: Faults
) -> None:
    """Report parameters that nothing uses. Naming a group uses all that is in it."""
    named = {tuple(name.split(".")) for declared in declarations for name in declared.params}
    named |= {reference.path[1:] for _, reference in used if reference.path[0] == "params"}
    for leaf in _leaves(flow.params):
        above = {leaf[:length] for length in range(len(leaf) + 1)}
        if not above & named and not any(name[: len(leaf)] == leaf for name in named):
            message = f"parameter '{'.'.join(leaf)}' is used by no node and no expression"
            faults.add(("params", *leaf), message, key=True)


def _leaves(params: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in params.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name)
