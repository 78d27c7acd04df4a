"""A whole run of the implementation half, as a user starts, stops, resumes and reads it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.command import ROOT, flowrun, git, start_flowrun

FLOW = ROOT / "tests" / "flows_data" / "implement.yaml"
SHOP = "script:tests.support.shop:answer"
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the git program is not installed")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished run's folder and what was printed."""
    runs = tmp_path_factory.mktemp("runs")
    done = flowrun(FLOW, "--model", SHOP, "--runs", runs)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(path.parent for path in runs.glob("*/run.json")), done.stdout


def test_the_record_says_what_ran_and_how_it_ended(finished: tuple[Path, str]) -> None:
    run, _ = finished
    record = json.loads((run / "run.json").read_text())
    assert record["status"] == "finished"
    assert record["outcome"]["ok"] is True
    assert record["outcome"]["reason"] == "a whole validation passed"
    assert record["usage"]["model_calls"] == 9
    assert record["sandbox"] in ("podman", "bubblewrap", "sandlock") and not record["unprotected"]
    assert record["flow"]["name"] == "implement"


def test_the_terminal_shows_tree_history_and_outcome(finished: tuple[Path, str]) -> None:
    _, shown = finished
    for expected in (
        "cart.py",
        "dev-1: Implement shop/cart.py",
        "1 of 1 passed",
        "a whole validation passed",
        "5 of 5 written",
    ):
        assert expected in shown


@needs_git
def test_git_reads_who_wrote_what(finished: tuple[Path, str]) -> None:
    repository = finished[0] / "repo"
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""
    log = git(repository, "log", "--format=%an|%s", "--", "shop/price.py").splitlines()
    assert log == ["dev-0|Repair shop/price.py", "dev-0|Implement shop/price.py", "cto|Create the file tree"]
    assert git(repository, "branch", "--format=%(refname:short)").split() == ["dev-0", "dev-1", "main"]
    reason = git(repository, "log", "-1", "--format=%b", "--author=dev-1", "--", "shop/cart.py")
    assert json.loads(reason.strip().removeprefix("Update-Reason: "))["symbols"] == [
        "+Cart",
        "+Cart.__init__",
        "+Cart.add",
        "+Cart.total",
    ]


def test_no_temporary_test_is_delivered_and_no_fence_reached_a_file(finished: tuple[Path, str]) -> None:
    repository = finished[0] / "repo"
    files = sorted(path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file())
    delivered = [path for path in files if not path.startswith(".git/")]
    assert delivered == ["README.md", "shop/__init__.py", "shop/cart.py", "shop/price.py", "tests/test_cart.py"]
    assert "```" not in (repository / "shop" / "cart.py").read_text()
    assert (repository / "README.md").read_text().count("```") == 2


def test_the_repository_passes_its_tests_elsewhere(finished: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(finished[0] / "repo", tmp_path / "copy", ignore=shutil.ignore_patterns(".git"))
    done = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=tmp_path / "copy", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_same_answers_give_the_same_history(finished: tuple[Path, str], tmp_path: Path) -> None:
    done = flowrun(FLOW, "--model", SHOP, "--runs", tmp_path, "--quiet")
    assert done.returncode == 0
    again = next(path.parent for path in tmp_path.glob("*/run.json"))
    tips = [(run / "repo" / ".git" / "refs" / "heads" / "main").read_text() for run in (finished[0], again)]
    assert tips[0] == tips[1]


def test_runs_are_listed_and_shown(finished: tuple[Path, str]) -> None:
    runs = finished[0].parent
    assert finished[0].name in flowrun("runs", "list", "--runs", runs).stdout
    assert "a whole validation passed" in flowrun("runs", "show", "last", "--runs", runs).stdout
    shown = flowrun("runs", "show", finished[0].name[:12], "--runs", runs, "--json")
    assert json.loads(shown.stdout)["id"] == finished[0].name


def test_a_finished_run_is_not_resumed(finished: tuple[Path, str]) -> None:
    done = flowrun("resume", "last", "--runs", finished[0].parent)
    assert done.returncode == 2
    assert "the run came to its end" in done.stderr


def test_a_stopped_run_goes_on_and_asks_nothing_twice(finished: tuple[Path, str], tmp_path: Path) -> None:
    mailbox, runs = tmp_path / "mail", tmp_path / "runs"
    process = start_flowrun(FLOW, "--model", f"mailbox:{mailbox}", "--runs", runs)
    answer_all(mailbox, until="develop_shop_cart.py", process=process)
    process.send_signal(signal.SIGINT)  # nobody may ever answer, so this one is not waited for
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "flowrun resume" in out
    record = json.loads(next(runs.glob("*/run.json")).read_text())
    assert record["status"] == "stopped"

    asked = {path.stem for path in (mailbox / "requests").glob("*.json")}
    answered = {path.stem for path in (mailbox / "answers").iterdir()}
    shutil.rmtree(mailbox)
    process = start_flowrun("resume", "last", "--runs", runs)
    answer_all(mailbox, until=None, process=process)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    asked_again = {path.stem for path in (mailbox / "requests").glob("*.json")}
    assert asked_again & answered == set()
    assert asked - answered <= asked_again
    resumed = next(path.parent for path in runs.glob("*/run.json"))
    tips = [(run / "repo" / ".git" / "refs" / "heads" / "main").read_text() for run in (finished[0], resumed)]
    assert tips[0] == tips[1]


def test_a_run_that_was_stopped_before_its_first_merge_goes_on(tmp_path: Path) -> None:
    mailbox, runs = tmp_path / "mail", tmp_path / "runs"
    process = start_flowrun(FLOW, "--model", f"mailbox:{mailbox}", "--runs", runs)
    answer_all(mailbox, until="develop", process=process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    done = flowrun("resume", "last", "--model", SHOP, "--runs", runs, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr


def answer_all(mailbox: Path, until: str | None, process: subprocess.Popen[str]) -> None:
    """Answer every request by the script until one whose name begins with `until` is seen, or the run ends."""
    from engine.models.base import Request
    from tests.support.shop import answer

    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        for file in sorted((mailbox / "requests").glob("*.json")) if mailbox.exists() else []:
            target = mailbox / "answers" / f"{file.stem}.txt"
            if until and file.stem.startswith(until):
                return
            if not target.exists():
                half = target.with_suffix(".half")
                half.write_text(answer(Request.from_json(json.loads(file.read_text()))))
                half.rename(target)
        time.sleep(0.05)
