"""A flow as a node, and a run that waits for approval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT, flowrun

OUTER = ROOT / "tests" / "flows_data" / "outer.yaml"
MODEL = ["--model", "script:tests.support.small_nodes:shout"]


@pytest.fixture
def waiting(tmp_path: Path) -> Path:
    """A run that waits before its second node."""
    done = flowrun(OUTER, "--input", "word=day", *MODEL, "--runs", tmp_path)
    assert done.returncode == 130, done.stdout + done.stderr
    assert "waiting for approval before node 'talk' (visit 1)" in done.stdout
    assert "flowrun approve" in done.stdout
    return next(path.parent for path in tmp_path.glob("*/run.json"))


def record(run: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((run / "run.json").read_text())
    return data


def events(run: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [one for one in lines if one["kind"] == kind]


def test_an_approved_run_goes_on_and_the_inner_flow_gives_back_what_both_declare(waiting: Path) -> None:
    assert record(waiting)["status"] == "waiting"
    done = flowrun("approve", waiting)
    assert done.returncode == 0, done.stdout + done.stderr
    places = [one["place"] for one in events(waiting, "answer")]
    assert places == ["talk.1.speak/0#1", "talk.1.speak/1#1", "again#1"]
    assert record(waiting)["approvals"][0]["node"] == "talk"
    finished = events(waiting, "node finished")
    assert [(one["node"], one["writes"]) for one in finished] == [
        ("prepare", ["greeting"]),
        ("talk.1.speak", ["said"]),
        ("talk", ["said"]),
        ("again", ["said"]),
    ]


def test_a_resume_does_not_go_past_it(waiting: Path) -> None:
    done = flowrun("resume", waiting)
    assert done.returncode == 130
    assert record(waiting)["status"] == "waiting"


def test_a_rejected_run_ends_and_says_why(waiting: Path) -> None:
    done = flowrun("reject", waiting, "--why", "too dear")
    assert done.returncode == 1
    assert record(waiting)["outcome"]["reason"] == "rejected before node 'talk' (visit 1): too dear"
    again = flowrun("approve", waiting)
    assert again.returncode == 2
    assert "does not wait for approval; it is finished" in again.stderr


def test_an_edit_of_the_inner_flow_is_seen(waiting: Path, tmp_path: Path) -> None:
    assert flowrun("approve", waiting, "--quiet").returncode == 0
    inner = tmp_path / "inner.yaml"
    inner.write_text((OUTER.parent / "inner.yaml").read_text().replace("times: 2", "times: 3"))
    outer = tmp_path / "outer.yaml"
    outer.write_text(OUTER.read_text().replace(", approve: true", ""))
    done = flowrun("resume", waiting, "--flow", outer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "run    talk and what follows: 'approve' changed, 'flow' changed" in done.stdout
    assert record(waiting)["usage"]["reused"] == 3
