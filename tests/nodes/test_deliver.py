"""The end of a run: what is delivered, what it is worth, and the figures that ablations are compared by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import InputError
from nodes.deliver import finish, report
from nodes.diagnostics import coordination_figures, size_figures
from tests.nodes.test_develop import PRICE, Team, fenced, issue
from tests.support.fake_context import FakeContext, run_node

PARAMS = {"qa": {"max_rounds": 2}, "reference": ""}


@pytest.fixture
def team(tmp_path: Path) -> Team:
    team = Team(tmp_path)
    team.write("shop/price.py", [fenced(PRICE)])
    return team


def end(team: Team, ended: str | None = None, **more: Any) -> FakeContext:
    context = FakeContext((), params=PARAMS, folder=team.folder, ended=ended)
    inputs = {"contract": team.contract.data, "head": team.head, "issues": [], "pending": [], "qa_round": 0, **more}
    context.output = run_node(finish, inputs, context)  # type: ignore[attr-defined]
    return context


def test_only_a_validated_commit_ends_a_run_well(team: Team) -> None:
    (good,) = end(team, validated=team.head).conclusions
    assert (good.ok, good.reason) == (True, "a whole validation passed")
    (stale,) = end(team, validated="0" * 40).conclusions
    assert (stale.ok, stale.reason) == (False, "the repository was never validated as a whole")
    (ended,) = end(team, ended="budget: tokens of 5 reached", validated=team.head).conclusions
    assert (ended.ok, ended.reason) == (False, "budget: tokens of 5 reached; what there is was delivered")


def test_why_a_run_ended_is_said(team: Team) -> None:
    open_ = [issue("shop/price.py")]
    assert end(team, issues=open_, qa_round=3).conclusions[0].reason.startswith("the limit of 2 QA rounds was reached")
    assert end(team, issues=open_, qa_round=1).conclusions[0].reason == "1 issues are open"
    assert end(team, pending=["shop/cli.py"]).conclusions[0].reason == "1 files were never written"


def test_open_issues_are_reported_beside_the_repository(team: Team) -> None:
    context = end(team, issues=[issue("shop/price.py", detail="a ``` fence")])
    text = Path(context.conclusions[0].summary["report"]).read_text()
    assert "## shop/price.py: assertion" in text
    assert "owner: dev-0" in text
    assert "\n````\na ``` fence\n````\n" in text
    assert team.git("status", "--porcelain") == ""
    assert "report" not in end(team, validated=team.head).conclusions[0].summary


def test_a_report_names_every_issue(team: Team) -> None:
    text = report([issue("shop/price.py", number) for number in range(30)], team.contract)
    assert text.count("\n## ") == 30


def round_record(**more: Any) -> dict[str, Any]:
    base = {"round": 1, "written": [], "tests_run": 0, "tests_passed": 0, "mismatches": 0, "failure_classes": {}}
    return {**base, "requeued": [], "brief_requests": 0, "context_tokens": [], **more}


def test_figures_of_coordination_add_up_over_the_validations() -> None:
    rounds = [
        round_record(written=["a", "b"], context_tokens=[100, 300], brief_requests=1, round=0),
        round_record(
            written=["a"], tests_run=4, tests_passed=1, mismatches=2, failure_classes={"logic": 2, "import": 1}
        ),
        round_record(tests_run=5, tests_passed=5, requeued=["b"], context_tokens=[1100]),
    ]
    found = coordination_figures(rounds)
    assert (found["qa_rounds"], found["validations"], found["mismatches"]) == (1, 3, 2)
    assert (found["repairs"], found["requeued_dependents"], found["brief_requests"]) == (1, 1, 1)
    assert (found["context_mean"], found["context_median"]) == (500, 300)
    assert found["scores"] == [0.25, 1.0]
    assert found["failures"] == {"packaging": 0, "import": 1, "api_mismatch": 0, "logic": 2}
    assert coordination_figures([])["context_mean"] == 0


def test_size_is_compared_with_a_reference(tmp_path: Path) -> None:
    (tmp_path / "pkg" / ".git").mkdir(parents=True)
    (tmp_path / "pkg" / ".git" / "config").write_text("x")
    (tmp_path / "pkg" / "a.py").write_text("# comment\n\nx = 1\ny = 2\n")
    (tmp_path / "pkg" / "b.txt").write_text("x = 1\n")
    repository = {"a.py": b"x = 1\ny = 2\nz = 3\n", "README.md": b"# x\n", "c.py": b""}
    assert size_figures(repository, "") == {"files": 3, "python_lines": 3}
    found = size_figures(repository, str(tmp_path / "pkg"))
    assert (found["files_error"], found["python_lines_error"]) == (0.5, 0.5)
    with pytest.raises(InputError, match=r"params\.reference: there is no folder"):
        size_figures(repository, str(tmp_path / "none"))
