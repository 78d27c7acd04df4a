"""The node behind `call: placeholder`: a place in the graph for a node that is not written yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.errors import NodeError
from engine.node import node


@node()
async def unwritten(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Refuse to run: a flow with placeholders can be checked and drawn only. Raises NodeError."""
    raise NodeError("is a placeholder; write the node and name it in 'call'", node=ctx.node, item=ctx.item)
