"""What was damaged is refused by name or made anew; it never gives a wrong result, and never a traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.workspace import Workspace
from tests.support.command import ROOT, flowrun

FLOW = ROOT / "tests" / "flows_data" / "implement.yaml"
BAD = ROOT / "tests" / "flows_data" / "bad.yaml"
SHOP = "script:tests.support.shop:answer"


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A run that the model's budget stopped half way, and the tree of a whole one."""
    whole, half = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("half")
    assert flowrun(FLOW, "--model", SHOP, "--runs", whole, "--quiet").returncode == 0
    limits = ["--set", "budget.calls=5", "--set", "budget.on_exceeded=pause"]
    assert flowrun(FLOW, "--model", SHOP, "--runs", half, "--quiet", *limits).returncode == 130
    return next(half.glob("*/run.json")).parent, Workspace.open(next(whole.glob("*/repo"))).tree("main")


@pytest.fixture
def run(stopped: tuple[Path, dict[str, str]], tmp_path: Path) -> Path:
    return Path(shutil.copytree(stopped[0], tmp_path / stopped[0].name, symlinks=True))


def resume(run: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return flowrun("resume", run, "--set", "budget.calls=100", "--quiet", *more)


def test_a_paused_run_goes_on_with_a_higher_limit(run: Path, stopped: tuple[Path, dict[str, str]]) -> None:
    assert json.loads((run / "run.json").read_text())["outcome"]["reason"].startswith(
        "paused: budget: calls of 5 reached"
    )
    assert resume(run).returncode == 0
    assert Workspace.open(run / "repo").tree("main") == stopped[1]


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def remove(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("name", ["run.json", "flow.yaml", "journal.sqlite", "checkpoints.sqlite"])
@pytest.mark.parametrize("damage", [truncate, empty, remove])
def test_a_file_that_is_cut_off_or_gone(
    run: Path, stopped: tuple[Path, dict[str, str]], name: str, damage: Callable[[Path], None]
) -> None:
    damage(run / name)
    done = resume(run)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    if done.returncode == 0:  # made anew from what is whole
        assert Workspace.open(run / "repo").tree("main") == stopped[1]
    else:
        assert done.returncode in (1, 2)
        assert name in said or "no run" in said


@pytest.mark.parametrize("name", ["journal.sqlite", "checkpoints.sqlite"])
def test_flipped_bytes_never_give_a_wrong_result(
    run: Path, stopped: tuple[Path, dict[str, str]], tmp_path: Path, name: str
) -> None:
    drawn = random.Random(name)
    for number in range(4):
        copy = Path(shutil.copytree(run, tmp_path / "copies" / str(number) / run.name, symlinks=True))
        data = bytearray((copy / name).read_bytes())
        for _ in range(20):
            data[drawn.randrange(100, len(data))] ^= 1 << drawn.randrange(8)
        (copy / name).write_bytes(bytes(data))
        done = resume(copy)
        said = done.stdout + done.stderr
        assert "Traceback" not in said, said
        if done.returncode == 0:
            assert Workspace.open(copy / "repo").tree("main") == stopped[1]
        else:
            assert done.returncode in (1, 2), said


def test_a_damaged_checkpoint_is_left_behind_by_removing_it(run: Path, stopped: tuple[Path, dict[str, str]]) -> None:
    truncate(run / "checkpoints.sqlite")
    (run / "checkpoints.sqlite").unlink()
    assert resume(run).returncode == 0
    assert Workspace.open(run / "repo").tree("main") == stopped[1]
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    again = events[[one["kind"] for one in events].index("run ended") :]
    assert sum(not one["reused"] for one in again if one["kind"] == "answer") == 4  # five of the nine were answered


def test_a_newer_format_is_refused_in_one_sentence(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "format": 99}))
    done = resume(run)
    assert done.returncode == 2
    assert "format 99 is newer than this flowrun knows" in done.stderr
    (run / "run.json").write_text(json.dumps(record))
    with closing(sqlite3.connect(run / "journal.sqlite")) as journal, journal:
        journal.execute("PRAGMA user_version = 99")
    done = resume(run)
    assert done.returncode == 1
    assert "format 99 is newer than this flowrun knows" in done.stdout + done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MB, or a skip where none can be had."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_is_a_clear_error_and_the_run_goes_on_when_there_is_room(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * (8 * 2**20 - 360 * 1024))
    done = flowrun(FLOW, "--model", SHOP, "--runs", small_disk / "runs", "--quiet")
    said = done.stdout + done.stderr
    assert done.returncode in (1, 2), said
    assert "Traceback" not in said
    assert "space" in said or "full" in said
    filler.unlink()
    runs = list((small_disk / "runs").glob("*/run.json"))
    if runs:
        done = flowrun("resume", runs[0].parent, "--quiet")
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", "node 'bad': RuntimeError: the node broke {it} 100%"),
        ("list", "node 'bad': returned list, not a dict"),
        ("undeclared", "node 'bad': wrote more, which it does not declare"),
        ("shape", "node 'bad': wrote 'said' with a wrong shape: $[0]: 1 is not of type 'string'"),
        ("hang", "node 'bad': did not end within 0.5 s"),
        ("param", "node 'bad': KeyError: 'other'"),
    ],
)
def test_a_node_that_misbehaves_fails_the_run_which_can_be_resumed(tmp_path: Path, fault: str, message: str) -> None:
    done = flowrun(BAD, "--set", f"fault={fault}", "--runs", tmp_path / "runs", COLUMNS="200")
    assert done.returncode == 1, done.stdout + done.stderr
    assert message in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    good = tmp_path / "good"
    good.write_text("")
    again = flowrun("resume", "last", "--set", f"fault={good}", "--runs", tmp_path / "runs", "--quiet")
    assert again.returncode == 0, again.stdout + again.stderr


def test_a_clock_that_jumps_back_changes_nothing(stopped: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    script = tmp_path / "jumping.py"
    script.write_text(
        "import itertools, sys, time\n"
        "jumps = itertools.cycle([0, -86400, 3600, -7])\nreal = time.time\n"
        "time.time = lambda: real() + next(jumps)\n"
        "from engine.cli.main import main\nmain(sys.argv[1:])\n"
    )
    command = [sys.executable, script, str(FLOW), "--model", SHOP, "--runs", str(tmp_path / "runs"), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    run = next((tmp_path / "runs").glob("*/run.json")).parent
    assert Workspace.open(run / "repo").tree("main") == stopped[1]
    assert 0 < json.loads((run / "run.json").read_text())["usage"]["seconds"] < 120
