"""What QA makes of a wave: issues, what goes back to whom, what is still untested, and the figures of a validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from nodes.contract import Contract
from nodes.qa import collect_findings
from nodes.repair import repair_scope, requeue
from nodes.schedule import OWN_TESTS, PACKAGING, file_task, validation_task, whole_validation
from tests.nodes.test_develop import CART, DATA, PRICE, Team, fenced, issue
from tests.support.contracts import make_contract
from tests.support.fake_context import FakeContext, run_node

PASSED = {"run": 2, "passed": 2, "failures": []}


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = Team(tmp_path)
    for path, text in (("README.md", "# Shop\n"), ("shop/price.py", PRICE), ("shop/cart.py", CART)):
        team.write(path, [fenced(text)])
    team.write("shop/extra.py", [fenced("LIMIT: int = 3\n")])
    team.write("shop/cli.py", [fenced("from shop.cart import total\n\nprint(total([1]))\n")])
    return team


def look(team: Team, tasks: Sequence[Mapping[str, Any]], mode: str = "dynamic", **more: Any) -> dict[str, Any]:
    inputs = {
        "contract": team.contract.data,
        "head": team.head,
        "tasks": list(tasks),
        "files": team.files,
        "pending": [],
        "untested": [],
        "runs": {},
        "unwritten": {},
        "issues": [],
        "qa_round": 0,
        **more,
    }
    context = FakeContext((), params={"allocation": {"mode": mode}}, folder=team.folder)
    return run_node(collect_findings, inputs, context)


def failure(
    name: str = "test_tax", detail: str = "", message: str = "assert 200 == 120", **more: Any
) -> dict[str, Any]:
    return {"name": name, "error": "AssertionError", "message": message, "detail": detail, "test": 1, **more}


def ran(*failures: Mapping[str, Any]) -> dict[str, Any]:
    return {"run": 2, "passed": 2 - len(failures), "failures": list(failures)}


def task(team: Team, path: str, kind: str = "write", issues: Sequence[Any] = ()) -> dict[str, Any]:
    return file_task(team.contract, path, kind, (), issues)


def test_a_clean_wave_leaves_what_was_written_to_be_tested(team: Team) -> None:
    output = look(
        team,
        [task(team, "shop/cart.py"), task(team, "README.md"), validation_task("shop/price.py")],
        untested=["shop/price.py"],
        runs={"test:shop/price.py": PASSED},
    )
    assert (output["issues"], output["qa_round"], output["validated"]) == ([], 0, "")
    assert output["untested"] == ["shop/cart.py"], "a README is no source"
    (record,) = output["rounds"]
    assert (record["tests_run"], record["tests_passed"], record["whole"]) == (2, 2, False)
    assert record["written"] == ["shop/cart.py", "README.md"]


def test_a_whole_validation_without_a_finding_validates_the_commit(team: Team) -> None:
    tasks = whole_validation(team.contract)
    runs = {one["key"]: PASSED for one in tasks}
    assert look(team, tasks, runs=runs)["validated"] == team.head
    runs[PACKAGING] = ran({**failure("README.md", message="it cannot be installed"), "error": "install"})
    output = look(team, tasks, runs=runs)
    assert output["validated"] == ""
    (found,) = output["issues"]
    assert (found["category"], found["repair"]) == ("packaging", ["README.md"])


def test_a_failing_test_goes_back_with_its_source_and_is_counted_over_rounds(team: Team) -> None:
    detail = "shop/price.py:2: in with_tax\nE   assert 200 == 120"
    tests = {"shop/price.py": [{"source": "def test_tax(): ...", "commit": "c", "failures": 1}]}
    arguments: dict[str, Any] = {"runs": {"test:shop/price.py": ran(failure(detail=detail))}, "tests": tests}
    first = look(team, [validation_task("shop/price.py")], **arguments)
    (found,) = first["issues"]
    assert (found["repair"], found["test"], found["seen"]) == (["shop/price.py"], "def test_tax(): ...", 1)
    assert (first["qa_round"], first["untested"]) == (1, ["shop/price.py"])
    assert first["rounds"][0]["failure_classes"] == {"logic": 1}
    arguments["runs"] = {"test:shop/price.py": ran(failure(detail=detail, message="assert 201 == 120"))}
    second = look(team, [validation_task("shop/price.py")], rounds=first["rounds"], qa_round=1, **arguments)
    assert (second["issues"][0]["id"], second["issues"][0]["seen"]) == (found["id"], 2)


def test_two_failures_of_one_file_are_both_kept(team: Team) -> None:
    runs = {"test:shop/price.py": ran(failure(), failure("test_other", message="assert None is not None"))}
    output = look(team, [validation_task("shop/price.py")], runs=runs)
    assert len(output["issues"]) == 2
    (repair,) = run_node(requeue, {"contract": DATA, "issues": output["issues"]}, FakeContext(()))["repairs"]
    assert (repair["path"], len(repair["issues"])) == ("shop/price.py", 2)


def test_an_assertion_failure_requeues_one_file_and_no_consumer(team: Team) -> None:
    output = look(team, [validation_task("shop/price.py")], runs={"test:shop/price.py": ran(failure())})
    repairs = run_node(
        requeue, {"contract": DATA, "issues": output["issues"], "repairs": output["repairs"]}, FakeContext(())
    )
    assert [one["path"] for one in repairs["repairs"]] == ["shop/price.py"]


def test_the_repository_s_own_test_is_not_blamed_for_what_is_repaired_already(tmp_path: Path) -> None:
    data = make_contract(
        {"shop/price.py": [], "shop/cart.py": ["shop/price.py"], "tests/test_cart.py": ["shop/cart.py"]}
    )
    team = Team(tmp_path)
    team.contract = Contract(data)
    own = failure("test_cart", detail="tests/test_cart.py:5: in test_cart\nE   assert 1 == 2", test=0)
    runs = {OWN_TESTS: ran(own), "test:shop/price.py": ran(failure())}
    tests = {"shop/price.py": [{"source": "def test_tax(): ...", "commit": "c", "failures": 1}]}
    issues = look(team, [], runs=runs, tests=tests, files={})["issues"]
    assert [one["repair"] for one in issues] == [["shop/price.py"]]
    issues = look(team, [], runs={OWN_TESTS: ran(own)}, files={})["issues"]
    assert [one["target"] for one in issues] == ["tests/test_cart.py"]


def test_a_file_that_breaks_the_contract_or_was_left_unfinished_is_an_issue_before_any_test(team: Team) -> None:
    team.write("shop/price.py", [fenced("def with_tax(cents: str) -> int:\n    return undefined_name\n")])
    team.files["shop/extra.py"]["placeholders"] = ["line 3: ..."]
    output = look(team, [task(team, "shop/price.py")], unwritten={"shop/cli.py": "no answer"})
    found = {(one["category"], one["repair"][0]) for one in output["issues"]}
    assert {("interface", "shop/price.py"), ("placeholder", "shop/extra.py"), ("unwritten", "shop/cli.py")} <= found
    assert any("undefined_name" in one["message"] for one in output["issues"])
    assert output["rounds"][0]["mismatches"] >= 1


def test_a_test_that_needs_what_is_still_to_come_blames_nobody_yet(team: Team) -> None:
    runs = {"test:shop/price.py": ran(failure())}
    output = look(team, [validation_task("shop/price.py")], runs=runs, pending=["shop/price.py"])
    assert (output["issues"], output["untested"]) == ([], [])


def test_who_uses_a_changed_name_follows_and_others_do_not(team: Team) -> None:
    repair = task(team, "shop/price.py", "repair", [issue("shop/price.py")])
    changed = {"symbols": ["~with_tax"], "compatibility": "breaking"}
    team.files["shop/price.py"] |= changed
    output = look(team, [repair])
    (follower,) = output["repairs"]
    assert (follower["path"], follower["kind"]) == ("shop/cart.py", "adapt")
    assert "~with_tax" in follower["issues"][0]["message"]
    assert output["rounds"][0]["requeued"] == ["shop/cart.py"]
    assert look(team, [repair], "round_robin")["repairs"] == [], "a fixed team follows only what QA reports"
    team.files["shop/price.py"] |= {"symbols": ["-RATE"]}
    assert look(team, [repair])["repairs"] == [], "nobody uses RATE"
    team.files["shop/price.py"] |= {"symbols": ["+MORE"], "compatibility": "compatible"}
    assert look(team, [repair])["repairs"] == []
    team.files["shop/price.py"] |= changed
    knew = {**task(team, "shop/cart.py", "repair"), "depends_on": ["shop/price.py"]}
    assert look(team, [repair, knew])["repairs"] == [], "it was written after the change, from the new brief"


def test_an_issue_that_nobody_worked_on_stays_open_and_one_that_was_is_tested_again(team: Team) -> None:
    left, tried = issue("shop/price.py", 1), issue("shop/cart.py", 2)
    output = look(team, [task(team, "shop/cart.py", "repair", [tried])], issues=[left, tried], qa_round=3)
    assert [one["id"] for one in output["issues"]] == ["i1"]
    assert output["qa_round"] == 3
    assert output["untested"] == ["shop/price.py", "shop/cart.py"]


def test_after_two_repairs_that_did_not_help_the_owner_of_the_dependency_is_asked() -> None:
    view = Contract(make_contract({"a.py": [], "b.py": [], "c.py": ["a.py", "b.py"]}))
    scopes = [repair_scope(issue("c.py", seen=seen), view) for seen in range(1, 7)]
    assert scopes == [["c.py"], ["c.py"], ["a.py"], ["b.py"], ["c.py"], ["a.py"]]
    lonely = issue("a.py", seen=5)
    assert repair_scope(lonely, view) == ["a.py"]
    assert repair_scope(issue("c.py", seen=4, category="unwritten"), view) == ["c.py"]


def test_what_is_repaired_anyway_is_not_adapted_too() -> None:
    adapt = [{"path": path, "kind": "adapt", "issues": []} for path in ("shop/cart.py", "shop/cli.py")]
    inputs = {"contract": DATA, "issues": [issue("shop/cart.py")], "repairs": adapt}
    repairs = run_node(requeue, inputs, FakeContext(()))["repairs"]
    assert [(one["path"], one["kind"]) for one in repairs] == [("shop/cart.py", "repair"), ("shop/cli.py", "adapt")]


def test_a_test_that_asks_for_what_nobody_promised_is_read_again_before_anybody_is_blamed(team: Team) -> None:
    source = "from shop.price import no_such_name\n\n\ndef test_it():\n    assert no_such_name() == 1\n"
    message = "ImportError: cannot import name 'no_such_name' from 'shop.price' (/work/shop/price.py)"
    place = ".flowrun-qa/test_shop_price_1.py"
    detail = f"{place}:1: in <module>\n    from shop.price import no_such_name\nE   {message}"
    runs = {"test:shop/price.py": ran(failure("test_it", detail, message, error="ImportError"))}
    tasks = whole_validation(team.contract)

    def found(failures: int) -> dict[str, Any]:
        tests = {"shop/price.py": [{"source": source, "commit": "c", "failures": failures}]}
        return look(team, tasks, runs=runs, tests=tests)

    first = found(failures=1)
    assert (first["issues"], first["untested"], first["validated"]) == ([], ["shop/price.py"], "")
    second = found(failures=2)
    assert [one["target"] for one in second["issues"]] == ["shop/price.py"]
