"""A killed run goes on: the same tree in the end, and no answered call is made again (counted at the server)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.places import read_place
from engine.workspace import Workspace
from tests.support.command import ROOT, clean_environment
from tests.support.many_files import COUNT, LANES, asked_file, code
from tests.support.openai_server import OpenAIServer

LATENCY = 0.01  # seconds; so that a kill finds calls under way
RANDOM_KILLS = 200


class Victim:
    """A process whose children run and are killed, and the model that they ask."""

    def __init__(self, server: OpenAIServer, asked: list[str]) -> None:
        self.server, self.asked = server, asked
        command = [sys.executable, "-m", "tests.faults.victim"]
        environment = clean_environment(OPENAI_API_KEY="test")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True)

    def run(
        self, runs: Path, *, resume: bool, die: int | None = None, late: bool = False, kill_after: float | None = None
    ) -> int:
        """How a child ended; it is killed after that many seconds, if it lives so long."""
        assert self.process.stdin is not None and self.process.stdout is not None
        command = {"resume": resume, "url": self.server.url, "runs": str(runs), "die": die, "late": late}
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        pid = int(self.process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it came to its end before
                os.kill(pid, signal.SIGKILL)
        return int(self.process.stdout.readline())


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    asked: list[str] = []

    def answer(body: dict[str, object]) -> str:
        path = asked_file(body["messages"][-1]["content"])  # type: ignore[index]
        asked.append(path)
        time.sleep(LATENCY)
        return f"```python\n{code(path)}```"

    with OpenAIServer(answer=answer) as server:
        found = Victim(server, asked)
        yield found
        found.process.stdin.close()  # type: ignore[union-attr]
        found.process.wait(10)
        found.process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def whole(victim: Victim, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], float]:
    """The tree of a run that nothing interrupts, and how long it takes."""
    runs = tmp_path_factory.mktemp("whole")
    began = time.monotonic()
    assert victim.run(runs, resume=False) == 0
    return tree(runs), time.monotonic() - began


def tree(runs: Path) -> dict[str, str]:
    """Path and blob of every file of the only run's main branch."""
    return Workspace.open(next(runs.glob("*/repo"))).tree("main")


def recorded(runs: Path) -> set[str]:
    """The files whose answers the journal holds."""
    found = list(runs.glob("*/journal.sqlite"))
    if not found:
        return set()
    with closing(sqlite3.connect(f"file:{found[0]}?mode=ro", uri=True)) as database:
        try:
            rows = database.execute("SELECT place FROM effects WHERE kind = 'model'").fetchall()
        except sqlite3.OperationalError:
            return set()  # killed before the tables were there
    return {str(read_place(place).item) for (place,) in rows}


def records(runs: Path) -> int:
    """How many effects the journal holds."""
    file = next(runs.glob("*/journal.sqlite"))
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return int(database.execute("SELECT count(*) FROM effects").fetchone()[0])


def is_finished(runs: Path) -> bool:
    """Whether the only run's record has its end."""
    return any(json.loads(file.read_text())["status"] == "finished" for file in runs.glob("*/run.json"))


def finish(victim: Victim, runs: Path, before: set[str]) -> None:
    """Resume to the end; nothing that was recorded is asked for again."""
    seen = len(victim.asked)
    assert victim.run(runs, resume=True) == 0
    assert set(victim.asked[seen:]) & before == set()


@pytest.mark.parametrize("late", [False, True], ids=["before it is written", "right after"])
def test_a_kill_at_every_record_of_the_journal(
    victim: Victim, whole: tuple[dict[str, str], float], tmp_path: Path, late: bool
) -> None:
    """A run of 40 files makes 80 records: each model call, and what each file's task gave back.

    Right after one record is right before the next, so there every other one does.
    """
    for number in range(1, 2 * COUNT + 1, 2 if late else 1):
        runs = tmp_path / str(number)
        start = len(victim.asked)
        assert victim.run(runs, resume=False, die=number, late=late) == -signal.SIGKILL
        assert records(runs) == (number if late else number - 1)
        finish(victim, runs, recorded(runs))
        assert tree(runs) == whole[0]
        assert len(victim.asked) - start <= COUNT + LANES


def test_kills_at_random_instants(victim: Victim, whole: tuple[dict[str, str], float], tmp_path: Path) -> None:
    drawn = random.Random(4)
    kills = runs_made = 0
    while kills < RANDOM_KILLS:
        runs = tmp_path / str(runs_made)
        runs_made += 1
        start = len(victim.asked)
        ended, killed = -signal.SIGKILL, 0
        while ended == -signal.SIGKILL:
            kept = recorded(runs)
            seen = len(victim.asked)
            ended = victim.run(runs, resume=killed > 0, kill_after=drawn.uniform(0, 0.7 * whole[1]))
            killed += ended == -signal.SIGKILL
            if ended == -signal.SIGKILL and is_finished(runs):
                ended = 0  # killed between its last record and its exit
            time.sleep(2 * LATENCY)  # requests that were under way reach the server
            assert set(victim.asked[seen:]) & kept == set()
        assert ended == 0
        kills += killed
        assert tree(runs) == whole[0]
        assert len(victim.asked) - start <= COUNT + killed * LANES
    assert kills >= RANDOM_KILLS


def test_two_processes_resume_one_run_and_one_wins(victim: Victim, tmp_path: Path) -> None:
    assert victim.run(tmp_path, resume=False, die=5) == -signal.SIGKILL
    second = Victim(victim.server, victim.asked)
    commands = [{"resume": True, "url": victim.server.url, "runs": str(tmp_path), "die": None, "late": False}] * 2
    for one, command in zip((victim, second), commands, strict=True):
        one.process.stdin.write(json.dumps(command) + "\n")  # type: ignore[union-attr]
        one.process.stdin.flush()  # type: ignore[union-attr]
    ends = []
    for one in (victim, second):
        one.process.stdout.readline()  # type: ignore[union-attr]
        ends.append(int(one.process.stdout.readline()))  # type: ignore[union-attr]
    second.process.stdin.close()  # type: ignore[union-attr]
    second.process.wait(10)
    second.process.stdout.close()  # type: ignore[union-attr]
    assert sorted(ends) == [0, 1]
