"""What becomes of a run does not depend on who reads its output, and the output commands no terminal."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.command import ROOT, flowrun, start_flowrun

FLOW = ROOT / "tests" / "flows_data" / "implement.yaml"
SHOP = "script:tests.support.shop:answer"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one finished run."""
    folder = tmp_path_factory.mktemp("runs")
    assert flowrun(FLOW, "--model", SHOP, "--runs", folder, "--quiet").returncode == 0
    return folder


def test_a_closed_pipe_changes_nothing_of_the_run(tmp_path: Path) -> None:
    process = start_flowrun(FLOW, "--model", SHOP, "--runs", tmp_path)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 0
    assert "Traceback" not in process.stderr.read()
    process.stderr.close()
    record = json.loads(next(tmp_path.glob("*/run.json")).read_text())
    assert (record["status"], record["outcome"]["ok"], record["usage"]["model_calls"]) == ("finished", True, 9)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [["runs", "list"], ["runs", "show", "last"]])
def test_an_output_that_cannot_be_written_is_one_line(runs: Path, words: list[str]) -> None:
    command = start_flowrun(*words, "--runs", runs)
    command.communicate(timeout=30)
    with Path("/dev/full").open("w") as full:
        from tests.support.command import clean_environment

        done = subprocess.run(
            command.args, cwd=ROOT, env=clean_environment(), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "flowrun: cannot write to standard output: No space left on device\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_run_is_stopped_and_can_go_on(tmp_path: Path, number: signal.Signals) -> None:
    process = start_flowrun(FLOW, "--model", f"mailbox:{tmp_path / 'mail'}", "--runs", tmp_path / "runs")
    wait_for(tmp_path / "mail" / "requests")
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, out + err
    assert json.loads(next((tmp_path / "runs").glob("*/run.json")).read_text())["status"] == "stopped"


def test_a_killed_run_is_shown_as_killed_and_how_to_go_on(tmp_path: Path) -> None:
    process = start_flowrun(FLOW, "--model", f"mailbox:{tmp_path / 'mail'}", "--runs", tmp_path / "runs")
    wait_for(tmp_path / "mail" / "requests")
    assert "running" in flowrun("runs", "list", "--runs", tmp_path / "runs").stdout
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    shown = flowrun("runs", "list", "--runs", tmp_path / "runs").stdout
    assert "killed" in shown
    command = shown[shown.index("flowrun resume") :].split()
    assert Path(command[2]).is_dir()
    assert "flowrun resume" in flowrun("runs", "show", "last", "--runs", tmp_path / "runs").stdout


def test_one_damaged_run_does_not_hide_the_others(runs: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(runs, tmp_path / "runs", symlinks=True))
    (copy / "bad-20260101-000000-00000").mkdir()
    (copy / "bad-20260101-000000-00000" / "run.json").write_text("{")
    shown = flowrun("runs", "list", "--runs", copy)
    assert shown.returncode == 0
    assert "damaged" in shown.stdout
    assert "finished  a whole validation passed" in shown.stdout
    assert flowrun("runs", "show", "last", "--runs", copy).returncode == 0


def test_untrusted_text_does_not_reach_the_terminal_raw(tmp_path: Path) -> None:
    name = tmp_path / "esc\x1b[31m.md"
    name.write_text("# \x1b]0;title\x07 only a heading [bold red]x[/]\n")
    done = flowrun("codeteam", "--input", f"requirements={name}", "--model", SHOP, "--runs", tmp_path / "runs")
    assert done.returncode in (1, 2)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


def test_a_misspelt_command_is_told() -> None:
    done = flowrun("resum", "last")
    assert done.returncode == 2
    assert "there is no command 'resum'. Did you mean 'resume'?" in done.stderr


def wait_for(folder: Path) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not (folder.is_dir() and any(folder.iterdir())):
        time.sleep(0.05)
    assert any(folder.iterdir())
