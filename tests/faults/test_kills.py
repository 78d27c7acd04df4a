"""A killed run goes on: the same tree in the end, and no answered call is made again (counted at the server)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from engine.places import read_place
from engine.workspace import Workspace
from tests.support.command import ROOT, clean_environment
from tests.support.many_files import COUNT, LANES, asked_file, code
from tests.support.openai_server import OpenAIServer

LATENCY = 0.01  # seconds; so that a kill finds calls under way
RANDOM_KILLS = int(os.environ.get("FLOWRUN_KILLS", "40"))


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
        return self.run_several(1, runs, resume=resume, die=die, late=late, kill_after=kill_after)[0]

    def run_several(self, children: int, runs: Path, *, kill_after: float | None = None, **how: Any) -> list[int]:
        """How children ended that did the same at the same time."""
        assert self.process.stdin is not None and self.process.stdout is not None
        command = {"die": None, "late": False, **how, "url": self.server.url, "runs": str(runs), "children": children}
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        pids = json.loads(self.process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it came to its end before
                os.kill(pids[0], signal.SIGKILL)
        ends: list[int] = json.loads(self.process.stdout.readline())
        return ends

    def close(self) -> None:
        """End the process."""
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait(10)
        self.process.stdout.close()  # type: ignore[union-attr]


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
        found.close()


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


def run_on(victim: Victim, runs: Path, **how: Any) -> int:
    """Begin or resume; nothing that was recorded before is asked for again."""
    kept, seen = recorded(runs), len(victim.asked)
    ended = victim.run(runs, resume=True, **how)
    time.sleep(2 * LATENCY)  # requests that were under way reach the server
    assert set(victim.asked[seen:]) & kept == set()
    return ended


@pytest.mark.parametrize("late", [False, True], ids=["before it is written", "right after"])
def test_a_kill_at_every_record_of_the_journal(
    victim: Victim, whole: tuple[dict[str, str], float], tmp_path: Path, late: bool
) -> None:
    """A run of 40 files makes 80 records: each model call, and what each file's task gave back.

    One run is killed at record after record; a copy of it as the kill left it is finished now and then. Right after
    one record is right before the next, so there every other one does.
    """
    runs, start, kills = tmp_path / "run", len(victim.asked), 0
    if not late:
        assert run_on(victim, runs, die=1) == -signal.SIGKILL
    while (ended := run_on(victim, runs, die=2, late=late)) != 0:
        assert ended == -signal.SIGKILL
        kills += 1
        assert records(runs) == (2 * kills if late else kills)
        if kills % 10 == 1:
            copy = tmp_path / str(kills)
            shutil.copytree(runs, copy, symlinks=True)
            asked = len(victim.asked)
            assert run_on(victim, copy) == 0
            assert tree(copy) == whole[0]
            start += len(victim.asked) - asked
    assert kills == (COUNT if late else 2 * COUNT - 1)
    assert tree(runs) == whole[0]
    assert len(victim.asked) - start <= COUNT + (kills + 1) * LANES


def test_kills_at_random_instants(victim: Victim, whole: tuple[dict[str, str], float], tmp_path: Path) -> None:
    """So many as FLOWRUN_KILLS says; a run is killed again and again until it comes to its end."""
    drawn = random.Random(4)
    kills = runs_made = 0
    while kills < RANDOM_KILLS:
        runs = tmp_path / str(runs_made)
        runs_made += 1
        start, killed = len(victim.asked), 0
        while run_on(victim, runs, kill_after=drawn.uniform(0, 0.6 * whole[1])) == -signal.SIGKILL:
            killed += 1
            if is_finished(runs):  # killed between its last record and its exit
                break
        assert is_finished(runs)
        kills += killed
        assert tree(runs) == whole[0]
        assert len(victim.asked) - start <= COUNT + killed * LANES


def test_two_processes_resume_one_run_and_one_wins(victim: Victim, tmp_path: Path) -> None:
    assert victim.run(tmp_path, resume=False, die=5) == -signal.SIGKILL
    assert sorted(victim.run_several(2, tmp_path, resume=True)) == [0, 2]
    assert "is held by process" in (tmp_path / "refused").read_text()
