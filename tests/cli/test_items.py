"""Items of a map that fail: left out where the flow says so, unless there is nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import ROOT, flowrun

ITEMS = ROOT / "tests" / "flows_data" / "items.yaml"
MODEL = ["--model", "script:tests.support.small_nodes:shout"]


def test_failed_items_are_left_out_and_told(tmp_path: Path) -> None:
    done = flowrun(ITEMS, *MODEL, "--runs", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed: node 'each', item '0': ValueError: item 0 is bad" in done.stdout
    lines = next(tmp_path.glob("*/events.jsonl")).read_text().splitlines()
    kinds = [json.loads(line)["kind"] for line in lines]
    assert (kinds.count("item finished"), kinds.count("item failed")) == (2, 1)


def test_with_nothing_but_failures_the_run_fails_with_the_reason(tmp_path: Path) -> None:
    done = flowrun(ITEMS, *MODEL, "--runs", tmp_path, "--set", "failing=3", "--quiet", COLUMNS="160")
    assert done.returncode == 1
    assert "node 'each', item '0': ValueError: item 0 is bad" in done.stdout
