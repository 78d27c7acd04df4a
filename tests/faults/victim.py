"""A process that starts and resumes runs in children, to be killed: everything is imported once, each child is a fork.

It reads commands from standard input, a JSON object a line: {"resume", "url", "runs", "die", "late"}. With "die": N the
child kills itself at the N-th record of the journal, before it is written or ("late") right after. For each command it
answers with the child's process id, and then with how it ended.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import langgraph.checkpoint.sqlite.aio  # noqa: F401 - imported before the forks

from engine.contract import resolve_call
from engine.effects import RoleModel
from engine.flow import load_flow
from engine.journal import Journal
from engine.models.base import Decoding
from engine.models.openai import OpenAIModel
from engine.models.spec import ModelSpec
from engine.opening import Relay, RunOptions, Tools
from engine.runner import ResumeChoices, resume_run, start_run
from engine.runs import list_runs
from engine.sandbox.base import Limits

FLOW = Path(__file__).parent.parent / "flows_data" / "develop_only.yaml"


class NoSandbox:
    """The flow runs nothing."""

    name = "none"


def child(command: dict[str, Any]) -> int:
    if command["die"] is not None:
        die_at_record(command["die"], late=command["late"])
    runs = Path(command["runs"])
    model = OpenAIModel(ModelSpec("test-model", command["url"]))
    limits: Any = Limits()
    sandbox: Any = NoSandbox()
    tools = Tools({"default": RoleModel(model, Decoding(), 100_000)}, sandbox, limits, Relay())
    if command["resume"] and list_runs(runs):
        run = list_runs(runs)[-1]
        flow = load_flow(str(run.path / "flow.yaml"))
        result = asyncio.run(resume_run(run, flow, RunOptions(model="test"), ResumeChoices(), tools=tools))
    else:
        result = asyncio.run(start_run(load_flow(str(FLOW)), {}, RunOptions(model="test"), runs, tools=tools))
    assert result is not None
    if not result.ok:
        print(f"victim: {result.status}: {result.reason}", file=sys.stderr)
    return 0 if result.ok else 1


def warm_up() -> None:
    """Import what is imported on first use, so that no child does it again."""
    for name in ("langchain_openai", "jsonschema", "tiktoken", "nodes.develop", "nodes.merge", "nodes.schedule"):
        importlib.import_module(name)
    resolved = load_flow(str(FLOW))
    for node in resolved.nodes.values():
        resolve_call(node)


def die_at_record(number: int, late: bool) -> None:
    original, seen = Journal.record, [0]

    def record(self: Journal, *arguments: Any) -> None:
        seen[0] += 1
        if seen[0] == number and not late:
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, *arguments)
        if seen[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.record = record  # type: ignore[method-assign]


def main() -> None:
    warm_up()
    for line in sys.stdin:
        command = json.loads(line)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = child(command)
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
