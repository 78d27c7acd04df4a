"""A project of many files in layers, and the answers that write it: each run the same, as compressible as code."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.models.base import Message, Request
from engine.node import node
from nodes.contract import Contract
from nodes.schedule import file_task
from tests.support.contracts import make_contract

LAYER, LANES = 50, 4
SIZE = 4096  # bytes of a file
_NAMES = ("account", "amount", "batch", "cache", "client", "count", "entry", "field", "group", "index")


def path_of(number: int) -> str:
    """A file's path."""
    return f"pkg/m{number:05}.py"


def contract(count: int) -> dict[str, Any]:
    """`count` files of four developers; each depends on two of the layer before."""
    needs: dict[str, list[str]] = {}
    for number in range(count):
        before = number - LAYER
        needs[path_of(number)] = sorted({path_of(before), path_of(before - before % LAYER)}) if before >= 0 else []
    api = {path_of(number): [(f"f{number}", f"def f{number}() -> int")] for number in range(count)}
    return make_contract(needs, api, {path_of(number): f"dev-{number % LANES}" for number in range(count)})


def code(path: str, size: int = SIZE) -> str:
    """About `size` bytes of Python that no other path has."""
    chance = random.Random(path)  # noqa: S311 - a fixed text, no secret
    number = int(path[5:10])
    lines = [f"def f{number}() -> int:"]
    length = sum(map(len, lines))
    while length < size:
        left, right, name = chance.choice(_NAMES), chance.choice(_NAMES), chance.choice(_NAMES)
        lines.append(
            f"    {name}_{chance.randrange(10_000)} = max({left!r}, {right!r} * {chance.randrange(10, 100_000)})"
        )
        length += len(lines[-1]) + 1
    return "\n".join([*lines, f"    return {number}", ""])


def answer(request: Request) -> str:
    """The file that a developer's prompt asks for."""
    found = re.search(r"^Write (\S+)\.$", request.messages[-1].content, re.MULTILINE)
    assert found is not None
    return f"```python\n{code(found[1])}```"


@node(writes=("contract", "document"), params=("files",))
async def given_contract(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The contract and an empty document."""
    document = {"title": "", "text": "# Many", "sections": [], "dropped": [], "states_requirements": True}
    return {"contract": contract(ctx.params["files"]), "document": document}


@node(writes=("tasks",), params=("files",))
async def plan_files(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Every file as a task."""
    found = Contract(contract(ctx.params["files"]))
    return {"tasks": [file_task(found, path, "write", found.files) for path in found.files]}


@node(writes=("files",))
async def write_file(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """One file, by one model call."""
    path = inputs["task"]["path"]
    said = await ctx.ask([Message("user", f"Write {path}.")])
    return {"files": {path: len(said.text)}}
