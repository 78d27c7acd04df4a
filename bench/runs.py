"""Whole runs in this process, with a scripted model and no sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.effects import RoleModel
from engine.events import Listener
from engine.flow import load_flow
from engine.flow.model import Flow
from engine.models.base import Decoding, Request
from engine.models.scripted import ScriptedModel
from engine.opening import Relay, RunOptions, Tools
from engine.runner import RunResult, Watch, start_run
from engine.sandbox.base import Limits

HERE = Path(__file__).parent


class _NoSandbox:
    """These flows run nothing."""

    name = "none"


def flow_of(name: str, files: int) -> Flow:
    """`map` or `develop`, over so many files."""
    return load_flow(str(HERE / f"{name}.yaml"), sets=[f"params.files={files}"])


def tools_for(script: Callable[[Request], str], delay: float = 0.0) -> Tools:
    """What a run works with; `delay` is seconds per answer."""
    sandbox: Any = _NoSandbox()
    model = RoleModel(ScriptedModel(script, delay=delay), Decoding(), 1_000_000)
    return Tools({"default": model}, sandbox, Limits(), Relay())


def run_whole(flow: Flow, root: Path, script: Callable[[Request], str], listen: Listener = lambda _: None) -> RunResult:
    """A run from its start to its end."""
    watch = Watch(listeners=[listen])
    result = asyncio.run(start_run(flow, {}, RunOptions(model="scripted"), root, watch, tools=tools_for(script)))
    assert result.ok, result.reason
    return result
