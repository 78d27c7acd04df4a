"""Runs pytest over many small projects for tests: a process that has imported pytest forks for each of them.

server = ForkedPytest()
run = await run_qa_test(source, name, repository, server)   # as a node runs it in the sandbox
server.close()
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.sandbox.base import SandboxResult

_SECONDS = 20.0


class ForkedPytest:
    """Stands in for a node's context where only `run` is called, with a pytest command."""

    def __init__(self) -> None:
        self._seconds = _SECONDS
        environment = {
            "PATH": os.environ["PATH"],
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip

    async def run(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        collect: Sequence[str] = (),
        seconds: float | None = None,
    ) -> SandboxResult:
        assert list(command[:3]) == ["python", "-m", "pytest"]
        with tempfile.TemporaryDirectory(prefix="case-") as name:
            folder = Path(name).resolve()
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            code = self._ask({"folder": str(folder), "arguments": command[3:], "seconds": self._seconds})
            output = (folder / ".output").read_text("utf-8", "replace")
            found = {path: (folder / path).read_bytes() for path in collect if (folder / path).exists()}
            return SandboxResult(
                "timeout" if code is None else "exit", code, output, "", len(output), 0, 0.0, None, found
            )

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    @property
    def time_limit(self) -> float:
        """The seconds that one run may take."""
        return self._seconds

    def as_context(self, seconds: float = _SECONDS) -> Any:
        """Itself, for callables that are typed to take a Context; each run may take so many seconds."""
        self._seconds = seconds
        return self

    def _ask(self, request: Mapping[str, Any]) -> int | None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        code = json.loads(self._process.stdout.readline())
        return None if code is None else int(code)


def _serve() -> None:
    import signal

    import pytest

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with tempfile.TemporaryDirectory() as name:  # what pytest loads only when it runs is loaded before the forks
        warm = Path(name) / "test_warm.py"
        warm.write_text("def test(): assert [1, {}] == [1, {}]\n")
        pytest.main(["-q", "-p", "no:cacheprovider", f"--junitxml={name}/report.xml", str(warm)])
        sys.stdout.flush()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            os.chdir(request["folder"])
            sys.path[0] = request["folder"]
            output = os.open(".output", os.O_WRONLY | os.O_CREAT)
            os.dup2(output, 1)
            os.dup2(output, 2)
            signal.alarm(max(1, int(request["seconds"])))
            code = pytest.main(list(request["arguments"]))
            sys.stdout.flush()
            os._exit(int(code))
        _, status = os.waitpid(child, 0)
        print(json.dumps(None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), file=answers, flush=True)


if __name__ == "__main__":
    _serve()
