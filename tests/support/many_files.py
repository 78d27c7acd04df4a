"""A project of many files in layers, owned by four developers, and the answers that write it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.node import node
from tests.support.contracts import make_contract

COUNT, LAYER, LANES = 40, 8, 4


def path_of(number: int) -> str:
    return f"pkg/m{number:03}.py"


def contract(count: int = COUNT) -> dict[str, Any]:
    """`count` files; each depends on two of the layer before."""
    needs: dict[str, list[str]] = {}
    for number in range(count):
        before = number - LAYER
        needs[path_of(number)] = sorted({path_of(before), path_of(before - before % LAYER)}) if before >= 0 else []
    api = {path_of(number): [(f"f{number}", f"def f{number}() -> int")] for number in range(count)}
    return make_contract(needs, api, {path_of(number): f"dev-{number % LANES}" for number in range(count)})


@node(writes=("contract", "document"))
async def given_contract(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The contract and an empty document."""
    document = {"title": "", "text": "# Many", "sections": [], "dropped": [], "states_requirements": True}
    return {"contract": contract(), "document": document}


def asked_file(prompt: str) -> str:
    """Which file a developer's prompt is about."""
    found = re.search(r"^Write (\S+)\.$", prompt, re.MULTILINE)
    assert found is not None
    return found[1]


def code(path: str) -> str:
    number = int(path[5:8])
    return f"def f{number}() -> int:\n    return {number}\n"
