"""The contract between the engine and a node: a declared, async callable.

    @node(reads=("document",), writes=("candidates",), params=("architects",), role="architect")
    async def draft_sketch(inputs, ctx): ...

The engine hands a node exactly what it declares and refuses a write that it does not declare.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.context import Context

NodeFunction = Callable[[Mapping[str, Any], "Context"], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class Declaration:
    """What a node reads, writes and depends on.

    reads     flow inputs or state keys that must be there
    optional  state keys that may be missing
    writes    state keys that the node may return
    params    dotted names of the parameters it uses ("qa.trigger" or a whole group "qa")
    role      which entry of the flow's `models` answers its requests
    calls     how many model calls it makes when all goes well: a number, or words such as "1 per source file"
    """

    reads: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    role: str = "default"
    calls: int | str = 0


def node(
    *,
    reads: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    writes: tuple[str, ...] = (),
    params: tuple[str, ...] = (),
    role: str = "default",
    calls: int | str = 0,
) -> Callable[[NodeFunction], NodeFunction]:
    """Declare an async function `(inputs, ctx) -> dict` as a node."""
    declaration = Declaration(reads, optional, writes, params, role, calls)

    def attach(function: NodeFunction) -> NodeFunction:
        function.__flowrun_node__ = declaration  # type: ignore[attr-defined]
        return function

    return attach


def declaration_of(function: object) -> Declaration | None:
    """The declaration of a node callable, or None if it is not one."""
    found = getattr(function, "__flowrun_node__", None)
    return found if isinstance(found, Declaration) else None
