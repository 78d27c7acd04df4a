"""How long a run takes when QA tests one layer while developers write the next, and when each waits for the other.

The nodes are the flow's own; a model's answers and a sandbox's runs take simulated times.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.runs import HERE
from engine.context import Context
from engine.effects import RoleModel
from engine.flow import load_flow
from engine.models.base import Answer, Decoding, Request
from engine.models.scripted import ScriptedModel
from engine.node import node
from engine.opening import Relay, RunOptions, Tools
from engine.places import read_place
from engine.runner import start_run
from engine.sandbox.base import Limits, SandboxResult
from tests.support.contracts import make_contract

LAYERS, WIDTH, DEVELOPERS = 6, 8, 4
CALL, RUN = 0.3, 0.2  # seconds of a model call in the middle, and of a sandbox run
_REPORT = b'<testsuites><testsuite><testcase name="test_it"/></testsuite></testsuites>'


@node(writes=("contract", "document"))
async def layered_contract(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Files in layers, each in need of two of the layer before; four developers."""
    needs: dict[str, list[str]] = {}
    for number in range(LAYERS * WIDTH):
        before = (number // WIDTH - 1) * WIDTH
        near = [before + number % WIDTH, before + (number + 3) % WIDTH]
        needs[_path(number)] = sorted(_path(one) for one in near) if before >= 0 else []
    api = {path: [(f"f{path[5:7]}", f"def f{path[5:7]}() -> int")] for path in needs}
    owners = {path: f"dev-{number % DEVELOPERS}" for number, path in enumerate(needs)}
    document = {"title": "", "text": "# Layers", "sections": [], "dropped": [], "states_requirements": True}
    return {"contract": make_contract(needs, api, owners), "document": document}


def _path(number: int) -> str:
    return f"pkg/m{number:02}.py"


class _SlowModel(ScriptedModel):
    """Answers after a time that is drawn from the request's place: most short, some long."""

    async def answer(self, request: Request) -> Answer:
        await asyncio.sleep(CALL * random.Random(request.place).lognormvariate(0, 0.5))  # noqa: S311 - no secret
        return await super().answer(request)


def _say(request: Request) -> str:
    item = str(read_place(request.place).item)
    if item.startswith("test:"):
        return "```python\ndef test_it():\n    assert True\n```"
    return f"```python\ndef f{item[5:7]}() -> int:\n    return 1\n```"


class _SlowSandbox:
    """Every run passes, after a while."""

    name = "simulated"

    async def run(
        self, command: Sequence[str], files: Mapping[str, bytes], *, limits: Limits, collect: Sequence[str] = ()
    ) -> SandboxResult:
        await asyncio.sleep(RUN)
        return SandboxResult("exit", 0, "", "", 0, 0, RUN, files=dict.fromkeys(collect, _REPORT))

    async def use(self, requirements: Sequence[str]) -> Mapping[str, str]:
        return {}


def seconds(overlap: bool) -> float:
    """How long the run takes."""
    flow = load_flow(str(HERE / "waves.yaml"), sets=[f"qa.overlap={str(overlap).lower()}"])
    sandbox: Any = _SlowSandbox()
    tools = Tools({"default": RoleModel(_SlowModel(_say), Decoding(), 1_000_000)}, sandbox, Limits(), Relay())
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        result = asyncio.run(start_run(flow, {}, RunOptions(model="scripted"), Path(folder), tools=tools))
        spent = time.perf_counter() - began
    assert result.ok, result.reason
    return spent


def measure() -> Iterator[Figure]:
    """With over without overlap."""
    seconds(True)  # what is imported and compiled only once
    alone, together = seconds(False), seconds(True)
    what = f"{LAYERS * WIDTH} files in {LAYERS} layers, QA beside the next layer: makespan over QA between layers"
    yield Figure(what, together / alone, target=1.0, detail=f"{together:.2f} s of {alone:.2f} s")
