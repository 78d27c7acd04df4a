"""A process that starts and resumes runs in children, to be killed: what is imported once serves all forks.

It reads commands from standard input, a JSON object a line: {"resume", "url", "runs", "die", "late", "children"}. With
"die": N a child kills itself at the N-th record of the journal, before it is written or ("late") right after. For each
command it answers with the ids of so many children, and then with how they ended, each a list in a line.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from engine.effects import RoleModel
from engine.errors import InputError
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


def warm_up(command: dict[str, Any]) -> None:
    """Do a whole run here, so that what is imported or made on first use is there in every child."""
    with tempfile.TemporaryDirectory() as runs:
        child({**command, "resume": False, "runs": runs, "die": None})
    gc.collect()
    gc.freeze()


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
    for number, line in enumerate(sys.stdin):
        command = json.loads(line)
        if number == 0:
            warm_up(command)
        pids = [fork(command) for _ in range(command["children"])]
        print(json.dumps(pids), flush=True)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]), flush=True)


def fork(command: dict[str, Any]) -> int:
    """Start a child; returns its process id."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = child(command)
    except InputError as error:
        code = error.exit_code
        Path(command["runs"], "refused").write_text(str(error))
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
