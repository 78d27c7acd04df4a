from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import NodeError
from engine.flow import load_flow
from engine.placeholder import unwritten


def test_a_placeholder_refuses_to_run() -> None:
    ctx: Any = SimpleNamespace(node="plan", item=None)

    async def call() -> None:
        await unwritten({}, ctx)

    with pytest.raises(NodeError, match="node 'plan': is a placeholder; write the node"):
        asyncio.run(call())


def test_a_placeholder_is_a_node_like_any_other(workdir: Path) -> None:
    Path("x.yaml").write_text("version: 1\nname: x\nnodes: {a: {call: placeholder}}\n")
    flow = load_flow("x.yaml")
    assert flow.nodes["a"].call == f"{unwritten.__module__}:{unwritten.__name__}"
    assert flow.document["nodes"]["a"]["call"] == "placeholder"
