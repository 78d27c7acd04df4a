"""`flowrun plan` and `flowrun node`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command import ROOT, flowrun

README = ROOT / "examples" / "cronwhen" / "README.md"
IMPLEMENT = ROOT / "tests" / "flows_data" / "implement.yaml"
SHOP = "script:tests.support.shop:answer"


def test_a_plan_says_order_parameters_and_calls_and_runs_nothing(tmp_path: Path) -> None:
    done = flowrun("plan", ROOT / "flows" / "codeteam.yaml", "-i", f"requirements={README}", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    order = [one["node"] for one in plan["nodes"]]
    assert order[:6] == ["preprocess", "retrieve", "claim", "architect", "cto", "materialise"]
    by_name = {one["node"]: one for one in plan["nodes"]}
    assert (by_name["claim"]["items"], by_name["claim"]["calls"]) == (4, 4)
    assert by_name["develop"]["calls"] == "1 per item of state.tasks"
    assert by_name["qa"]["then"][-1] == "done"
    assert plan["least_calls"] == 9
    assert list(tmp_path.iterdir()) == []


def test_a_plan_follows_parameters() -> None:
    done = flowrun("plan", "codeteam", "-i", f"requirements={README}", "--set", "architects=2")
    assert "claim x 2  calls: 2" in done.stdout
    assert "params.architects = 2" in done.stdout
    assert "model calls known beforehand: 5" in done.stdout


def test_a_node_alone_prints_what_it_writes() -> None:
    done = flowrun("node", "codeteam", "preprocess", "-i", f"requirements={README}", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)["document"]
    assert document["title"] == "cronwhen"
    assert "shields.io" not in document["text"]


def test_a_node_over_a_state_of_ones_own(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    from tests.support.shop import CONTRACT

    state.write_text(json.dumps({"contract": CONTRACT, "pending": CONTRACT["repo_tree"]}))
    done = flowrun("node", IMPLEMENT, "schedule", "--state", state, "--json")
    assert done.returncode == 0, done.stderr
    tasks = json.loads(done.stdout)["tasks"]
    assert [one["path"] for one in tasks] == ["shop/__init__.py", "shop/price.py", "README.md"]


def test_a_node_from_the_middle_of_a_run_asks_only_what_is_new(tmp_path: Path) -> None:
    assert flowrun(IMPLEMENT, "--model", SHOP, "--runs", tmp_path, "--quiet").returncode == 0
    done = flowrun("node", IMPLEMENT, "develop:2", "--run", "last", "--runs", tmp_path)
    assert done.returncode == 2
    done = flowrun("node", IMPLEMENT, "develop", "--run", "last", "--runs", tmp_path)
    assert done.returncode == 0, done.stderr
    assert '"shop/price.py"' in done.stdout
    assert "0 model calls" not in done.stderr
    assert len(list(tmp_path.iterdir())) == 1


def test_wrong_words_are_refused(tmp_path: Path) -> None:
    cases = [
        (["node", "codeteam", "architct"], "has no node 'architct'; it has: preprocess"),
        (["node", "codeteam", "cto", "--state", tmp_path / "none.json"], "cannot be read as JSON"),
        (["plan", "codeteam", "-i", "requirements=/no/such"], "no such file"),
    ]
    (tmp_path / "list.json").write_text("[1]")
    cases.append((["node", IMPLEMENT, "cto", "--state", tmp_path / "list.json"], "must hold one JSON object"))
    (tmp_path / "key.json").write_text('{"contrct": {}}')
    cases.append((["node", IMPLEMENT, "qa", "--state", tmp_path / "key.json"], "no state key 'contrct'"))
    for words, expected in cases:
        given = [] if "-i" in words or words[1] == IMPLEMENT else ["-i", f"requirements={README}"]
        done = flowrun(*words, *given)  # type: ignore[misc]
        assert done.returncode == 2, done.stdout + done.stderr
        assert expected in done.stderr
        assert "Traceback" not in done.stderr
