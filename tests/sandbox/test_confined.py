"""What holds of a warden: nothing of a run goes on when nobody waits for it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.sandbox.base import Sandbox
from tests.support.sandboxes import LIMITS, environments, opened


@pytest.fixture(scope="module", params=["bubblewrap", "sandlock"])
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return opened(request.param, environments(tmp_path_factory))


def test_a_run_that_is_cancelled_leaves_nothing(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def cancelled() -> None:
        program = "import os, time\nif os.fork() == 0: os.setsid()\nopen('started', 'w')\ntime.sleep(1000)"
        task = asyncio.create_task(sandbox.run(["python", "-c", program], {}, limits=LIMITS))
        await asyncio.to_thread(until, lambda: bool(list(tmp_path.glob("*/work/started"))))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert list(tmp_path.iterdir()) == []
    assert not wardens(os.getpid())


def test_when_the_caller_is_killed_nothing_goes_on(
    sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = f"""
import asyncio
from pathlib import Path
from engine.sandbox.base import Limits
from engine.sandbox.environment import environment
from engine.sandbox.confined import ConfinedSandbox

INSIDE = "import os, time; os.fork() or os.setsid(); print(1); open('started', 'w'); time.sleep(1000)"

async def main():
    cache = Path({str(environments(tmp_path_factory))!r})
    sandbox = ConfinedSandbox({sandbox.name!r}, await environment((), cache), cache)
    await sandbox.run(["python", "-c", INSIDE], {{}}, limits=Limits())

asyncio.run(main())
"""
    caller = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)})
    until(lambda: bool(list(tmp_path.glob("*/work/started"))))
    warden = wardens(caller.pid)
    inside = [child for one in warden for child in children(one)]
    caller.kill()
    caller.wait()
    assert warden and inside
    until(lambda: not any(Path(f"/proc/{one}").exists() for one in (*warden, *inside)))
    assert not list(tmp_path.glob("*/*"))


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def children(process: int) -> list[int]:
    found = [one.read_text() for one in Path(f"/proc/{process}/task").glob("*/children")]
    return [int(one) for text in found for one in text.split()]


def wardens(caller: int) -> list[int]:
    return [one for one in children(caller) if b"warden" in Path(f"/proc/{one}/cmdline").read_bytes()]
