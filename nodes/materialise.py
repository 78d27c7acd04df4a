"""Materialises the contract: the whole file tree, empty, as the repository's first commit (CodeTeam, 3.2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.node import node


@node(reads=("contract",), writes=("head", "pending", "issues", "qa_round"))
async def create_tree(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Create every file of the contract's tree, empty. No other file will ever be written."""
    tree = inputs["contract"]["repo_tree"]
    message = f"Create the file tree\n\n{len(tree)} files, {len(inputs['contract']['developers'])} developers\n"
    head = ctx.workspace.commit(
        "main", dict.fromkeys(tree, b""), message=message, author="cto", parents=(), allowed=tree
    )
    ctx.workspace.checkout("main")
    return {"head": head, "pending": list(tree), "issues": [], "qa_round": 0}
