"""Materialises the contract: the team, and the whole file tree, empty, as the first commit (CodeTeam, 3.2.5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.errors import InputError
from engine.node import node
from nodes.schedule import ROUND_ROBIN

ALLOCATIONS = ("dynamic", ROUND_ROBIN)


@node(
    reads=("contract",),
    writes=("contract", "head", "pending", "untested", "files", "tests", "issues", "qa_round", "validated"),
    params=("allocation",),
)
async def create_tree(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Create every file of the contract's tree, empty. No other file will ever be written.

    With the allocation "round_robin" the sketch's developer plan is put aside: `allocation.team` developers own the
    files in turn, in the order of the sketch's list (CodeTeam, 3.5.2).
    """
    mode, team = ctx.params["allocation"]["mode"], ctx.params["allocation"]["team"]
    if mode not in ALLOCATIONS:
        raise InputError(f"params.allocation.mode: '{mode}' is not known; it is one of: {', '.join(ALLOCATIONS)}")
    contract = inputs["contract"] if mode == "dynamic" else round_robin(inputs["contract"], team)
    tree = contract["repo_tree"]
    message = f"Create the file tree\n\n{len(tree)} files, {len(contract['developers'])} developers\n"
    head = ctx.workspace.commit(
        "main", dict.fromkeys(tree, b""), message=message, author="cto", parents=(), allowed=tree
    )
    ctx.workspace.checkout("main")
    start = {"pending": list(tree), "untested": [], "files": {}, "tests": {}, "issues": [], "qa_round": 0}
    return {"contract": contract, "head": head, "validated": "", **start}


def round_robin(contract: Mapping[str, Any], team: int) -> dict[str, Any]:
    """The contract with its files owned by `team` developers in turn."""
    if team < 1:
        raise InputError(f"params.allocation.team: at least one developer is needed, not {team}")
    developers = [f"dev-{number}" for number in range(min(team, len(contract["files"])))]
    files = [{**one, "owner": developers[n % len(developers)]} for n, one in enumerate(contract["files"])]
    return {**contract, "developers": developers, "files": files}
