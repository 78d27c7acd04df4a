"""The demo's flow, end to end, from the recording; its result is read back with git and pytest."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO, INPUT
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
    assert list(record["outcome"]["summary"]) == ["sketch", "files", "developers", "QA", "tests passed", "own tests", "context"]
    assert record["usage"]["model_calls"] == 35
    assert 0 < record["outcome"]["figures"]["context_median"] < 3100  # tokens (CodeTeam, Table 9)
    for expected in (
        "seat 0",
        "17 of 17 written",
        "313 of 313 passed",
        "a whole validation passed",
        "repository",
    ):
        assert expected in shown
    assert "├── crontab.py" in shown
    assert "dev-2: Implement tests/test_cli.py" in shown


def test_without_retrieval_a_test_that_asked_too_much_was_corrected_and_nobody_blamed(tmp_path: Path) -> None:
    arm = "codeteam-no-rag"
    recording = f"replay:examples/cronwhen/{arm}.jsonl"
    done = flowrun(f"flows/{arm}.yaml", *INPUT, "--model", recording, "--runs", tmp_path, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    run = next(path.parent for path in tmp_path.glob("*/run.json"))
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    notes = [one["text"] for one in events if one["kind"] == "note"]
    failed = notes.index("written: 1, tests passed: 4 of 11, issues: 0")
    assert notes[failed + 1] == "1 tests of cronwhen/errors.py were corrected: they contradicted the requirements"
    figures = record_of(run)["outcome"]["figures"]
    assert (figures["scores"][0], figures["scores"][-1], figures["qa_rounds"]) == (0.3636, 1.0, 0)
    assert not any("references from corpus" in text for text in notes)


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
    assert len(files) == 17
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
    assert "313 passed" in done.stdout


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
