"""The team: developers who write the files that they own, and QA who tests them, side by side in one map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.node import node
from nodes.develop import implement_file
from nodes.qa_tasks import validate_file, validate_repository

_QA = {"test": validate_file, "own tests": validate_repository, "packaging": validate_repository}


@node(
    reads=("contract", "document", "head"),
    optional=("files", "tests"),
    writes=("files", "unwritten", "tests", "runs"),
    params=("git.enabled", "context.max_tokens"),
    role="developer",
    calls=1,
)
async def do_task(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Do one task of the wave, as its kind says."""
    return await _QA.get(inputs["task"]["kind"], implement_file)(inputs, ctx)
