"""Nodes that do what they must not, for tests of what the engine makes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.node import node


@node(writes=("said",), params=("fault",))
async def misbehave(inputs: Mapping[str, Any], ctx: Context) -> Any:
    """Does what the parameter `fault` says; well-behaved once the file that it names is there."""
    fault: str = ctx.params["fault"]
    if Path(fault).exists():
        return {"said": ["well"]}
    if fault == "list":
        return ["no dict"]
    if fault == "undeclared":
        return {"said": [], "more": 1}
    if fault == "shape":
        return {"said": [1]}
    if fault == "hang":
        await asyncio.sleep(3600)
    if fault == "param":
        return {"said": [ctx.params["other"]]}
    raise RuntimeError("the node broke {it} 100%")
