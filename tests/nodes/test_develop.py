"""A developer's task: its context, briefs on request, patches, commits; and how finished tasks come together."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ContextTooLong, ModelError, ReplayMiss, WorkspaceError
from engine.models.base import Request
from nodes.briefs import brief, read_update_reason
from nodes.contract import Contract
from nodes.develop import implement_file
from nodes.materialise import create_tree
from nodes.merge import merge_branches
from nodes.schedule import file_task
from nodes.writing import requested_briefs
from tests.support.contracts import make_contract
from tests.support.fake_context import FakeContext, run_node

DATA = make_contract(
    {
        "README.md": [],
        "shop/price.py": [],
        "shop/cart.py": ["shop/price.py"],
        "shop/extra.py": [],
        "shop/cli.py": ["shop/cart.py"],
    },
    {
        "shop/price.py": [("with_tax", "def with_tax(cents: int) -> int")],
        "shop/cart.py": [("total", "def total(items: list[int]) -> int")],
        "shop/extra.py": [("LIMIT", "LIMIT: int")],
    },
    {"shop/cart.py": "dev-1"},
)
DOCUMENT = {
    "title": "Shop",
    "text": "# Shop\n\nTax is 20 {percent} of ${price}.",
    "sections": [
        {"marker": "tax", "heading": "Tax", "level": 1, "text": "# Tax\n\nTax is 20 percent."},
        {"marker": "other", "heading": "Other", "level": 1, "text": "# Other\n\nNothing to do with it."},
    ],
    "dropped": [],
    "states_requirements": True,
}
PARAMS: dict[str, Any] = {
    "git": {"enabled": True},
    "context": {"max_tokens": 8000},
    "allocation": {"mode": "dynamic", "team": 4},
}
PRICE = "def with_tax(cents: int) -> int:\n    return cents + cents // 5\n"
CART = "from shop.price import with_tax\n\n\ndef total(items: list[int]) -> int:\n    return with_tax(sum(items))\n"


class Team:
    """A repository after the tree was made; `write` does one task as the flow would, and merges it."""

    def __init__(self, tmp_path: Path, params: Mapping[str, Any] = PARAMS) -> None:
        self.folder, self.params, self.document = tmp_path, params, DOCUMENT
        made = run_node(create_tree, {"contract": DATA}, self.context(()))
        self.contract, self.head = Contract(made["contract"]), made["head"]
        self.files: dict[str, Any] = {}

    def context(self, script: Any) -> FakeContext:
        return FakeContext(script, params=self.params, folder=self.folder, item="x")

    def write(
        self, path: str, script: Any, kind: str = "write", issues: Sequence[Any] = (), **more: Any
    ) -> FakeContext:
        context = self.context(script)
        if more:
            context.params = {**self.params, **more}
        task = file_task(self.contract, path, kind, {path}, issues)
        inputs = {"contract": self.contract.data, "document": self.document, "head": self.head, "files": self.files}
        self.output = run_node(implement_file, {**inputs, "task": task}, context)
        unwritten = self.output.get("unwritten", {})
        self.files = {**self.files, **self.output.get("files", {})}
        merged = run_node(
            merge_branches, {**inputs, "files": self.files, "tasks": [task], "unwritten": unwritten}, context
        )
        self.head, self.files = merged["head"], {**self.files, **merged["files"]}
        return context

    def text(self, path: str) -> str:
        return (self.folder / "repo" / path).read_text()

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder / "repo", capture_output=True, text=True, check=True)
        return done.stdout


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


def fenced(text: str) -> str:
    return f"Here you are.\n\n```python\n{text}```\n"


def issue(path: str, number: int = 1, **more: Any) -> dict[str, Any]:
    base = {
        "id": f"i{number}",
        "category": "assertion",
        "message": f"finding {number}",
        "suspected": [path],
        "repair": [path],
    }
    return {
        **base,
        "target": path,
        "test": "def test_tax(): ...",
        "detail": "E assert 1 == 2",
        "round": 1,
        "seen": 1,
        **more,
    }


def test_a_context_is_the_fragment_the_named_requirements_and_briefs_and_no_other_owners_code(team: Team) -> None:
    entry = next(one for one in team.contract.data["files"] if one["path"] == "shop/cart.py")
    entry["requirements"] = ["tax"]
    team.write("shop/price.py", [fenced(PRICE)])
    (request,) = team.write("shop/cart.py", [fenced(CART)]).requests
    text = request.messages[-1].content
    assert "def total(items: list[int]) -> int" in text
    assert "Tax is 20 percent." in text
    assert "Nothing to do with it" not in text
    assert "### shop/price.py\npurpose of shop/price.py\ndef with_tax(cents: int) -> int" in text
    assert "cents // 5" not in text, "a brief shows no code"
    assert "dev-" not in text, "who owns what is the same question to every team"


def test_what_all_developers_share_comes_first(team: Team) -> None:
    (first,) = team.write("shop/price.py", [fenced(PRICE)]).requests
    (second,) = team.write("shop/extra.py", [fenced("LIMIT: int = 3\n")]).requests
    one, other = ("".join(message.content for message in request.messages) for request in (first, second))
    common = next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    assert one[:common].endswith("# Your file: shop/")


def test_a_brief_on_request_is_given_twice_at_most_and_counted(team: Team) -> None:
    answers = ["BRIEF: shop/extra.py\nBRIEF: `shop/cart.py`\n- BRIEF: README.md", fenced(PRICE)]
    context = team.write("shop/price.py", answers)
    told = context.requests[1].messages[-1].content
    assert "### shop/extra.py" in told
    assert "LIMIT: int" in told
    assert "### README.md\nno further brief: 2 are the most" in told
    record = team.files["shop/price.py"]
    assert (record["brief_requests"], len(record["context_tokens"])) == (2, 2)
    assert team.text("shop/price.py") == PRICE


def test_a_brief_of_what_is_not_there_is_refused_and_still_counts(team: Team) -> None:
    context = team.write("shop/price.py", ["BRIEF: shop/secret.py", fenced(PRICE)])
    assert "there is no such file in the tree" in context.requests[1].messages[-1].content
    assert team.files["shop/price.py"]["brief_requests"] == 1


def test_a_developer_that_only_asks_for_briefs_leaves_the_file_unwritten_with_the_reason(team: Team) -> None:
    team.write("shop/price.py", ["BRIEF: shop/extra.py"] * 6)
    assert "asks for briefs and writes nothing" in team.output["unwritten"]["shop/price.py"]
    assert "files" not in team.output


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("BRIEF: a/b.py", ["a/b.py"]),
        ("  - brief: `a.py`\n\nBRIEF b.py\n", ["a.py", "b.py"]),
        ("I need a brief.\nBRIEF: a.py", []),
        ("```python\nBRIEF: int = 1\n```", []),
        ("", []),
    ],
)
def test_only_an_answer_of_nothing_else_is_a_request_for_briefs(text: str, paths: list[str]) -> None:
    assert requested_briefs(text) == paths


def test_a_model_that_cannot_be_asked_leaves_the_file_to_be_tried_again(team: Team) -> None:
    team.write("shop/price.py", [ModelError("the endpoint is on fire")])
    assert team.output == {"unwritten": {"shop/price.py": "the endpoint is on fire"}}
    context = team.write("shop/cart.py", [fenced(CART)])
    assert team.files["shop/cart.py"]["without"] == ["shop/price.py"]
    assert (
        "not written yet; the contract declares:\ndef with_tax(cents: int) -> int"
        in context.requests[0].messages[-1].content
    )
    with pytest.raises(ReplayMiss):
        team.write("shop/extra.py", [ReplayMiss("no such request")])


def test_a_context_that_is_too_long_for_the_model_is_cut_and_asked_again(team: Team) -> None:
    def script(request: Request) -> str:
        if request.messages[-1].content.count("one more line") > 300:
            raise ContextTooLong("too long", limit=900)
        return fenced(PRICE)

    team.document = {**DOCUMENT, "text": "one more line\n" * 400}
    context = team.write("shop/price.py", script)
    assert team.text("shop/price.py") == PRICE
    assert len(context.requests) == 2
    team.write("shop/extra.py", script, context={"max_tokens": 50})
    assert "raise params.context.max_tokens" in team.output["unwritten"]["shop/extra.py"]


def test_the_commit_says_what_changed_computed_from_the_code(team: Team) -> None:
    team.write("shop/price.py", [fenced(PRICE + "\nRATE = 5\n\n\ndef _helper() -> None:\n    pass\n")])
    reason = read_update_reason(team.git("log", "-1", "--format=%B", "dev-0"))
    assert reason == {
        "target": "shop/price.py",
        "symbols": ["+RATE", "+with_tax"],
        "compatibility": "new",
        "affected": ["shop/cart.py"],
    }
    team.write("shop/price.py", [fenced(PRICE)], "repair", [issue("shop/price.py")])
    reason = read_update_reason(team.git("log", "-1", "--format=%B", "dev-0"))
    assert reason is not None
    assert (reason["symbols"], reason["compatibility"]) == (["-RATE"], "breaking")
    told = brief(team.contract, "shop/price.py", team.files["shop/price.py"], team.context(()).workspace)
    assert "latest update (breaking): -RATE" in told


def test_who_did_what_shows_in_the_history_and_nothing_is_left_over(team: Team) -> None:
    team.write("shop/price.py", [fenced(PRICE)])
    team.write("shop/cart.py", [fenced(CART)])
    graph = team.git("log", "--graph", "--format=%an: %s")
    for line in ("dev-0: Implement shop/price.py", "dev-1: Implement shop/cart.py", "cto: Merge 1 file of dev-1"):
        assert line in graph
    assert team.git("branch", "--format=%(refname:short)").split() == ["dev-0", "dev-1", "main"]
    assert team.git("status", "--porcelain") == ""
    team.git("fsck", "--strict")


def test_without_git_coordination_there_are_no_branches_no_reasons_and_briefs_as_the_sketch_declares(
    tmp_path: Path,
) -> None:
    team = Team(tmp_path, {**PARAMS, "git": {"enabled": False}})
    team.write("shop/price.py", [fenced(PRICE + "\nRATE = 5\n")])
    context = team.write("shop/cart.py", [fenced(CART)])
    text = context.requests[0].messages[-1].content
    assert (
        "### shop/price.py\npurpose of shop/price.py\nthe contract declares:\ndef with_tax(cents: int) -> int" in text
    )
    assert "RATE" not in text
    assert team.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert team.git("log", "--format=%B").split("\n\n") != []
    assert "Update-Reason" not in team.git("log", "--format=%B")
    assert team.text("shop/cart.py") == CART


PATCH = """\
```diff
--- a/shop/price.py
+++ b/shop/price.py
@@ -1,2 +1,2 @@
 def with_tax(cents: int) -> int:
-    return cents * 2
+    return cents + cents // 5
```
"""


def wrong_price(team: Team) -> None:
    team.write("shop/price.py", [fenced("def with_tax(cents: int) -> int:\n    return cents * 2\n")])


def test_a_repair_may_be_a_patch_and_sees_the_finding_with_its_test(team: Team) -> None:
    wrong_price(team)
    context = team.write("shop/price.py", [PATCH], "repair", [issue("shop/price.py"), issue("shop/price.py", 2)])
    assert team.text("shop/price.py") == PRICE
    text = context.requests[0].messages[-1].content
    assert "unified diff of shop/price.py" in text
    for part in ("finding 1", "finding 2", "E assert 1 == 2", "def test_tax(): ...", "return cents * 2"):
        assert part in text
    assert team.files["shop/price.py"]["mended"] == ["i1", "i2"]


def test_a_patch_that_does_not_apply_is_sent_back_for_the_whole_file(team: Team) -> None:
    wrong_price(team)
    context = team.write(
        "shop/price.py", [PATCH.replace("cents * 2", "cents * 3"), fenced(PRICE)], "repair", [issue("shop/price.py")]
    )
    assert "cannot be applied to shop/price.py" in context.requests[1].messages[-1].content
    assert team.text("shop/price.py") == PRICE


def test_a_second_repair_of_the_same_finding_sees_the_first_and_takes_another_approach(team: Team) -> None:
    wrong_price(team)
    team.write("shop/price.py", [PATCH], "repair", [issue("shop/price.py")])
    context = team.write("shop/price.py", [fenced(PRICE)], "repair", [issue("shop/price.py", seen=2)])
    text = context.requests[0].messages[-1].content
    assert "-    return cents * 2\n+    return cents + cents // 5" in text
    assert "take another approach" in text
    assert "unified diff of" not in text
    other = team.write("shop/price.py", [fenced(PRICE)], "repair", [issue("shop/price.py", 7)])
    assert "(nothing yet)" in other.requests[0].messages[-1].content


def test_a_write_outside_ones_own_files_is_refused_by_the_workspace(team: Team) -> None:
    workspace = team.context(()).workspace
    for path, why in (("shop/cart.py", "it belongs to someone else"), ("stray.py", "it is not in the contract's tree")):
        with pytest.raises(WorkspaceError, match=why):
            workspace.commit("dev-0", {path: b""}, message="m", author="dev-0", allowed=["shop/price.py"])
