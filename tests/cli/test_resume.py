"""Going on with a run after an edit, and forking one, as a user does it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT, flowrun

FLOW = ROOT / "tests" / "flows_data" / "implement.yaml"
SHOP = "script:tests.support.shop:answer"


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run's folder; tests work on copies."""
    runs = tmp_path_factory.mktemp("runs")
    done = flowrun(FLOW, "--model", SHOP, "--runs", runs, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    return next(path.parent for path in runs.glob("*/run.json"))


@pytest.fixture
def run(first: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first, tmp_path / "runs" / first.name, symlinks=True))


def record(run: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((run / "run.json").read_text())
    return data


def test_a_dry_run_says_what_an_edit_touches_and_does_nothing(run: Path) -> None:
    before = (run / "run.json").read_text()
    done = flowrun("resume", run, "--set", "params.qa.max_rounds=3", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "reuse  given, materialise, schedule, develop, merge",
        "run    qa and what follows: params.qa.max_rounds changed",
    ]
    assert (run / "run.json").read_text() == before


def test_after_an_edit_only_what_depends_on_it_is_asked_again(run: Path) -> None:
    done = flowrun("resume", run, "--set", "params.qa.trigger=end")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "reuse  given, materialise" in done.stdout
    assert "run    schedule and what follows: params.qa.trigger changed" in done.stdout
    after = record(run)
    assert after["params"]["qa"]["trigger"] == "end"
    assert after["resumed"][-1]["node"] == "schedule"
    assert after["usage"]["reused"] == 6  # five files and the test of one, whose questions are the same
    assert after["outcome"]["ok"] is True


def test_rerun_asks_anew(run: Path) -> None:
    done = flowrun("resume", run, "--rerun", "develop", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    after = record(run)
    assert after["reruns"] == {"develop": 1}
    assert after["usage"]["model_calls"] == 9 + 9  # each file, the repair and QA's tests again


def test_nothing_to_do_and_a_node_that_was_never_reached(run: Path) -> None:
    done = flowrun("resume", run, "--set", "model.timeout=5m")  # on which no answer depends
    assert (done.returncode, "the run came to its end" in done.stderr) == (2, True)
    done = flowrun("resume", run, "--rerun", "architect")
    assert done.returncode == 2
    assert "the run has not been there; it has been at: given, materialise" in done.stderr


def test_a_node_that_is_gone_is_refused(run: Path, tmp_path: Path) -> None:
    flow = tmp_path / "edited.yaml"
    call = "tests.support.shop:given_contract"
    flow.write_text(
        f"extends: {FLOW}\nstart: begin\nnodes:\n  given: null\n  begin: {{call: '{call}', next: materialise}}\n"
    )
    done = flowrun("resume", run, "--flow", flow)
    assert done.returncode == 2
    assert "node 'given', which the flow no longer has" in done.stderr


def test_an_edited_edge_is_taken_anew(run: Path, tmp_path: Path) -> None:
    flow = tmp_path / "edited.yaml"
    edges = "[{when: '${size(state.issues) > 9}', to: repair}, {to: done}]"
    flow.write_text(f"extends: {FLOW}\nnodes:\n  qa: {{next: {edges}}}\n")
    done = flowrun("resume", run, "--flow", flow)
    assert done.returncode == 1
    assert "run    qa and what follows: 'next' changed" in done.stdout
    assert "2 files were never written" in done.stdout


def test_another_model_is_refused_unless_it_is_named(run: Path, tmp_path: Path) -> None:
    data = record(run)
    data["model"]["default"]["name"] = "another"
    (run / "run.json").write_text(json.dumps(data))
    done = flowrun("resume", run, "--rerun", "qa")
    assert done.returncode == 2
    assert "was made with another" in done.stderr
    assert "--model NAME" in done.stderr


def test_a_repository_that_was_changed_by_hand_is_noticed(run: Path) -> None:
    (run / "repo" / "shop" / "price.py").write_text("changed = True\n")
    done = flowrun("resume", run, "--rerun", "qa")
    assert done.returncode == 2
    assert "shop/price.py" in done.stderr
    assert "--discard-changes" in done.stderr
    assert flowrun("resume", run, "--rerun", "qa", "--discard-changes", "--quiet").returncode == 0
    assert "changed" not in (run / "repo" / "shop" / "price.py").read_text()


def test_a_fork_shares_what_came_before_and_pays_for_it_once(run: Path) -> None:
    done = flowrun("fork", run, "--at", "schedule", "--set", "qa.trigger=end", "--runs", run.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    fork = next(path for path in run.parent.iterdir() if path != run and path.is_dir())
    told = record(fork)
    assert told["parent"] == {"run": run.name, "node": "schedule", "visit": 1}
    assert told["usage"]["reused"] == 6
    assert told["usage"]["model_calls"] == 9
    assert record(run)["status"] == "finished"
    differences = flowrun("runs", "diff", run, fork, "--json")
    flow = [one for one in json.loads(differences.stdout) if one["part"] == "flow"]
    assert flow == [{"part": "flow", "name": "params.qa.trigger", "values": ["layer", "end"]}]


def test_figures_of_several_runs_stand_side_by_side(run: Path) -> None:
    done = flowrun("runs", "diff", run, run, run)
    assert done.returncode == 0, done.stderr
    lines = {words[0]: words[1:] for line in done.stdout.splitlines() if (words := line.split())}
    assert lines["qa_rounds"] == ["1", "1", "1"]
    assert "trigger" not in done.stdout  # only figures are shown where they do not differ
    assert flowrun("runs", "diff", run).returncode == 2


def test_a_fork_that_changes_nothing_asks_nothing_and_ends_the_same(run: Path) -> None:
    done = flowrun("fork", run, "--at", "develop:2", "--runs", run.parent, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    fork = next(path for path in run.parent.iterdir() if path != run and path.is_dir())
    assert record(fork)["head"] == record(run)["head"]
    assert record(fork)["usage"]["tokens"] == record(run)["usage"]["tokens"]


def test_a_fork_at_a_step_that_never_was_is_refused(run: Path) -> None:
    done = flowrun("fork", run, "--at", "develop:9", "--runs", run.parent)
    assert done.returncode == 2
    assert "it has been at: given, materialise, schedule:1-4, develop:1-4" in done.stderr
    assert list(run.parent.iterdir()) == [run]


def test_runs_are_removed_only_when_told(run: Path) -> None:
    assert flowrun("runs", "rm", run.name, "--runs", run.parent, "--yes").returncode == 0
    assert not run.exists()


def test_a_run_is_held_by_one_process_at_a_time(run: Path) -> None:
    import fcntl

    with (run / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write("4711")
        file.flush()
        done = flowrun("resume", run, "--rerun", "qa")
    assert done.returncode == 2
    assert "is held by process 4711" in done.stderr
