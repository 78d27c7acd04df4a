"""QA's tests of a file: written from what was promised, run beside the repository, doubted when they fail twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelError
from engine.sandbox.base import SandboxResult
from nodes.qa_tasks import fault_of_test, names_of_tests, validate_file, validate_repository
from nodes.schedule import OWN_TESTS, file_task, validation_task
from tests.nodes.test_develop import CART, DATA, DOCUMENT, PARAMS, PRICE, Team, fenced
from tests.support.fake_context import FakeContext, run_node
from tests.support.programs import run_here

GOOD = "from shop.price import with_tax\n\n\ndef test_tax():\n    assert with_tax(100) == 120\n"
WRONG = "from shop.price import with_tax\n\n\ndef test_free():\n    assert with_tax(100) == 100\n"


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = Team(tmp_path)
    team.write("shop/price.py", [fenced(PRICE)])
    return team


def validate(team: Team, script: Any, tests: Sequence[Mapping[str, Any]] = ()) -> tuple[dict[str, Any], FakeContext]:
    context = FakeContext(script, params=PARAMS, folder=team.folder, item="test:shop/price.py", commands=run_here)
    inputs = {
        "contract": DATA,
        "document": DOCUMENT,
        "head": team.head,
        "files": team.files,
        "tests": {"shop/price.py": list(tests)},
        "task": validation_task("shop/price.py"),
    }
    return run_node(validate_file, inputs, context), context


def known(team: Team, source: str, failures: int = 0) -> dict[str, Any]:
    return {"source": source, "commit": team.files["shop/price.py"]["commit"], "failures": failures}


def test_a_new_test_is_written_without_the_code_and_run(team: Team) -> None:
    output, context = validate(team, [fenced(GOOD)])
    (request,) = context.requests
    text = "".join(message.content for message in request.messages)
    assert "cents // 5" not in text
    assert "Tax is 20 {percent} of ${price}." in text
    assert output["runs"] == {"test:shop/price.py": {"run": 1, "passed": 1, "failures": []}}
    assert [test["source"] for test in output["tests"]["shop/price.py"]] == [GOOD]
    assert team.git("status", "--porcelain") == "", "nothing of it enters the repository"


def test_a_file_that_did_not_change_gets_no_new_test_and_one_that_did_gets_another(team: Team) -> None:
    _, context = validate(team, [], [known(team, GOOD)])
    assert context.requests == []
    before = known(team, GOOD)
    team.write("shop/price.py", [fenced(PRICE + "\n")], "repair")
    output, context = validate(team, [fenced(GOOD.replace("test_tax", "test_more"))], [before])
    assert "- test_tax" in context.requests[0].messages[-1].content
    assert output["runs"]["test:shop/price.py"]["run"] == 2


def test_a_failure_says_which_test_it_was(team: Team) -> None:
    output, _ = validate(team, [], [known(team, GOOD), known(team, WRONG)])
    run = output["runs"]["test:shop/price.py"]
    assert (run["run"], run["passed"]) == (2, 1)
    assert [(one["name"], one["test"], one["error"]) for one in run["failures"]] == [("test_free", 2, "AssertionError")]
    assert [test["failures"] for test in output["tests"]["shop/price.py"]] == [0, 1]


def test_a_test_that_fails_for_the_second_time_is_read_again_and_may_be_corrected(team: Team) -> None:
    output, context = validate(team, [fenced(GOOD)], [known(team, WRONG, failures=1)])
    assert "assert 120 == 100" in context.requests[0].messages[-1].content
    assert output["runs"]["test:shop/price.py"]["failures"] == []
    assert output["tests"]["shop/price.py"] == [known(team, GOOD)]


@pytest.mark.parametrize("said", [fenced(WRONG), "I do not know.", fenced("def broken(:\n"), ModelError("no")])
def test_a_test_that_is_left_as_it_is_counts_on(team: Team, said: Any) -> None:
    output, _ = validate(team, [said], [known(team, WRONG, failures=1)])
    assert output["tests"]["shop/price.py"] == [known(team, WRONG, failures=2)]
    assert len(output["runs"]["test:shop/price.py"]["failures"]) == 1


def test_what_is_no_test_is_sent_back_once_and_then_left_out(team: Team) -> None:
    output, context = validate(team, [fenced("x = 1\n"), fenced(GOOD)])
    assert "it holds no test function" in context.requests[1].messages[-1].content
    assert output["runs"]["test:shop/price.py"]["passed"] == 1
    output, context = validate(team, ["", "sorry"])
    assert output == {
        "tests": {"shop/price.py": []},
        "runs": {"test:shop/price.py": {"run": 0, "passed": 0, "failures": []}},
    }
    assert any("QA wrote no test of shop/price.py" in data.get("text", "") for _, data in context.events)


def test_the_repository_s_own_tests_are_run_as_its_user_would(tmp_path: Path) -> None:
    team = Team(tmp_path)
    ran: list[tuple[Sequence[str], Mapping[str, bytes]]] = []

    def run(command: Sequence[str], files: Mapping[str, bytes]) -> SandboxResult:
        ran.append((command, files))
        return run_here(command, files)

    team.write("shop/price.py", [fenced(PRICE)])
    team.write("shop/cart.py", [fenced(CART)])
    task = {**file_task(team.contract, "README.md", "write", ()), "key": OWN_TESTS, "kind": OWN_TESTS}
    context = FakeContext((), params=PARAMS, folder=tmp_path, commands=run)
    output = run_node(validate_repository, {"contract": DATA, "head": team.head, "task": task}, context)
    assert output == {"runs": {OWN_TESTS: {"run": 0, "passed": 0, "failures": []}}}
    assert ran == [], "a tree without tests has none to run"
    with_tests = {**DATA, "files": [*DATA["files"], {**DATA["files"][0], "path": "tests/test_shop.py"}]}
    output = run_node(validate_repository, {"contract": with_tests, "head": team.head, "task": task}, context)
    (failure,) = output["runs"][OWN_TESTS]["failures"]
    assert failure["error"] == "no_tests", "a run of tests that executed none is a failure"
    assert not any(path.startswith(".flowrun-qa") for path in ran[0][1])


def test_names_and_faults_of_a_test_file() -> None:
    assert names_of_tests("class TestA:\n    def test_b(self): ...\nasync def test_c(): ...\ndef helper(): ...\n") == [
        "test_c",
        "test_b",
    ]
    assert fault_of_test(GOOD) is None
    assert fault_of_test("def helper(): ...") == "it holds no test function"
    assert str(fault_of_test("def (")).startswith("it does not parse")
    assert str(fault_of_test("x = '\0'")).startswith("it does not parse")
