"""The demo's flow, end to end, from the recording; its result is read back with git and pytest."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO
from tests.support.command import ROOT, clean_environment, flowrun, git

EXAMPLE = ROOT / "examples" / "cronwhen"
REPLAY = [*DEMO, "--model", "replay:examples/cronwhen/codeteam.jsonl"]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the git program is not installed")


def record_of(run: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((run / "run.json").read_text())
    return data


def test_it_passes_and_says_what_came_of_it(demo: tuple[Path, str]) -> None:
    run, shown = demo
    record = record_of(run)
    assert record["outcome"]["ok"] is True
    assert list(record["outcome"]["summary"]) == ["sketch", "files", "developers", "QA", "tests passed", "own tests"]
    assert record["usage"]["model_calls"] == 36
    for expected in (
        "seat 0",
        "14 of 14 written",
        "3 of them with findings",
        "a whole validation passed",
        "repository",
    ):
        assert expected in shown
    assert "├── crontab.py" in shown
    assert "dev-1: Repair cronwhen/explain.py" in shown


def test_qa_found_something_that_repair_fixed(demo: tuple[Path, str]) -> None:
    events = [json.loads(line) for line in (demo[0] / "events.jsonl").read_text().splitlines()]
    notes = [one["text"] for one in events if one["kind"] == "note"]
    found = next(index for index, text in enumerate(notes) if text.startswith("exception in cronwhen/fields.py"))
    assert "'fri-sun' starts after its end" in notes[found]
    assert "cronwhen/fields.py back to dev-0: 1 issues" in notes[found + 1]
    assert notes[found + 2] == "1 files, 17 of 17 tests passed, 0 issues"


@needs_git
def test_git_reads_it_and_every_file_is_its_owners(demo: tuple[Path, str]) -> None:
    repository = demo[0] / "repo"
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    authors: dict[str, set[str]] = {}
    for line in git(repository, "log", "--no-merges", "--name-only", "--format=>%an").splitlines():
        if line.startswith(">"):
            author = line[1:]
        elif line:
            authors.setdefault(line, set()).add(author)
    files = git(repository, "ls-files").split()
    assert len(files) == 14
    assert all(len(authors[path] - {"cto"}) == 1 for path in files)


def test_its_tests_pass_when_it_is_checked_out_elsewhere(demo: tuple[Path, str], tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    if shutil.which("git"):
        git(demo[0], "clone", "--quiet", str(demo[0] / "repo"), str(copy))
    else:
        shutil.copytree(demo[0] / "repo", copy)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=copy, env=clean_environment(PYTHONPATH=""), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "28 passed" in done.stdout


def test_it_is_the_program_that_was_asked_for(demo: tuple[Path, str]) -> None:
    command = [sys.executable, "-m", "cronwhen", "next", "0 12 * * 5", "--from", "2026-03-01T08:00", "--count", "3"]
    environment = clean_environment(PYTHONPATH="")
    done = subprocess.run(command, cwd=demo[0] / "repo", env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["2026-03-06 12:00", "2026-03-13 12:00", "2026-03-20 12:00"]


def test_a_question_that_was_not_recorded_ends_it(tmp_path: Path) -> None:
    done = flowrun(*REPLAY, "--runs", tmp_path, "--quiet", "--set", "qa.trigger=end")
    assert done.returncode == 1  # the wave is another one, so its questions were not recorded
    assert "no recorded answer for" in done.stdout


def test_a_flow_by_name_and_the_word_run_mean_the_same(tmp_path: Path) -> None:
    rest = ["--input", f"requirements={EXAMPLE / 'none.md'}", "--model", "replay:x", "--runs", tmp_path]
    said = [flowrun(*words, *rest).stderr for words in (["codeteam"], ["run", "codeteam"], ["run", DEMO[0]])]
    assert said[0] == said[1] == said[2]
    assert "no such file" in said[0]
