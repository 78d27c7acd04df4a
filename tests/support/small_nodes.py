"""Nodes that do little, for tests of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.models.base import Message, Request
from engine.node import node


@node(reads=("word",), writes=("greeting",))
async def prepare(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """A greeting from a word."""
    return {"greeting": f"Good {inputs['word']}"}


@node(reads=("greeting",), writes=("said",))
async def speak(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Ask the model; in a map one element, else a list of one."""
    answer = await ctx.ask([Message("user", f"{inputs['greeting']} {inputs.get('number', 'again')}")])
    return {"said": answer.text if ctx.item is not None else [answer.text]}


@node(writes=("said",), params=("failing",))
async def fail_first(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Fails for the items below the parameter `failing`."""
    if inputs["number"] < ctx.params["failing"]:
        raise ValueError(f"item {inputs['number']} is bad")
    return {"said": str(inputs["number"])}


def shout(request: Request) -> str:
    """The question in capitals."""
    return request.messages[-1].content.upper()
