"""Large projects: a plan of packages, then the files of each, by a scripted architect."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from engine.errors import BudgetExceeded, ModelError
from engine.models.base import Answer, Request
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.architect import draft_sketch
from nodes.cto import candidate_text, diagnostics
from nodes.normalise import normalise
from nodes.packages import Packages, expected_files, part_shape_faults, plan_faults
from nodes.preprocessing.document import normalize
from nodes.sketch import check_json
from tests.support.fake_context import FakeContext, run_node

AREAS = ["catalog", "orders", "billing", "stock", "users", "mail"]
PER_AREA = 19
TREE = "\n".join(f"├── {area}_{number}.py" for area in AREAS for number in range(18))
DOCUMENT = normalize(f"# Shop\n\nThe program must sell things.\n\n## Layout\n\n```\n{TREE}\n```\n")
PARAMS = {"self_check": 1, "preferences": ["layered"], "hierarchical_over": 40}


def interface(area: str) -> list[dict[str, Any]]:
    return [
        {
            "path": f"shop/{area}/core.py",
            "public_api": [f"class {area.title()}", f"def {area.title()}.open(self) -> None"],
        }
    ]


def make_plan() -> dict[str, Any]:
    root = {
        "name": "root",
        "folders": ["."],
        "purpose": "The command and packaging.",
        "files": 6,
        "interface": [],
        "depends_on": list(AREAS),
        "implements": [],
    }
    packages = [
        {
            "name": area,
            "folders": [f"shop/{area}", f"tests/{area}"],
            "purpose": f"All about {area}.",
            "files": PER_AREA,
            "interface": interface(area),
            "depends_on": AREAS[:index][-1:],
            "implements": ["layout"],
        }
        for index, area in enumerate(AREAS)
    ]
    stack = {"language": "Python", "framework": "none", "test": "pytest"}
    return {"tech_stack": stack, "dependencies": ["rich>=13"], "packages": [root, *packages]}


def entry(path: str, **changes: Any) -> dict[str, Any]:
    return {
        "path": path,
        "purpose": "Does it.",
        "public_api": [],
        "depends_on": [],
        "owner": 0,
        "implements": [],
        "lines": 9,
    } | changes


def make_part(name: str) -> dict[str, Any]:
    if name == "root":
        uses = [f"shop/{area}/core.py::{area.title()}" for area in AREAS]
        files = [
            entry(path)
            for path in ("pyproject.toml", "README.md", "shop/__init__.py", "tests/test_shop.py", "shop/__main__.py")
        ]
        files.append(entry("shop/cli.py", public_api=["def main() -> int"], depends_on=uses))
        return {"developer_plan": {"num_developers": 1, "owners": [{"id": 0, "focus": "root"}]}, "files": files}
    earlier = AREAS[: AREAS.index(name)][-1:]
    core = interface(name)[0]
    files = [
        entry(f"shop/{name}/__init__.py"),
        entry(core["path"], public_api=core["public_api"], depends_on=[f"shop/{one}/core.py" for one in earlier]),
        *(
            entry(f"shop/{name}/part_{n}.py", owner=1, depends_on=[f"{core['path']}::{name.title()}"])
            for n in range(12)
        ),
        *(entry(f"tests/{name}/test_{n}.py", owner=1, depends_on=[core["path"]]) for n in range(5)),
    ]
    owners = [{"id": 0, "focus": name}, {"id": 1, "focus": "the rest"}]
    return {"developer_plan": {"num_developers": 2, "owners": owners}, "files": files}


class Architect:
    """Answers with the plan and the parts; `wrong` says what it answers for a package, by try from 1."""

    def __init__(self, wrong: dict[tuple[str, int], Any] | None = None, plans: list[Any] | None = None) -> None:
        self.wrong, self.plans, self.asked = wrong or {}, plans or [], list[tuple[str, int]]()

    def __call__(self, request: Request) -> Any:
        text = request.messages[1].content
        if ":packages " in request.place:
            return json.dumps(self.plans.pop(0) if self.plans else make_plan())
        found = re.search(r"Design the package (\w+), all", text)
        assert found is not None, text[-300:]
        attempt = int(request.place.rpartition(" ")[2])
        self.asked.append((found[1], attempt))
        said = self.wrong.get((found[1], attempt), make_part(found[1]))
        return said if isinstance(said, str | Exception | Answer) else json.dumps(said)


def draft(script: Any, **changes: Any) -> tuple[dict[str, Any], FakeContext]:
    context = FakeContext(script, params={**PARAMS, **changes.pop("params", {})}, node="architect", **changes)
    inputs = {"document": DOCUMENT, "claims": [], "seat": 0}
    found: dict[str, Any] = run_node(draft_sketch, inputs, context)["candidates"]
    schema = json.loads(schema_file("candidates").read_text(encoding="utf-8"))
    assert schema_faults([found], schema) == []
    return found, context


def test_a_project_of_120_files_is_planned_then_drafted_package_by_package() -> None:
    architect = Architect()
    candidate, context = draft(architect)
    assert candidate["valid"], candidate["attempts"]
    sketch = candidate["sketch"]
    assert len(sketch["files"]) == len(sketch["repo_tree"]) == 6 + 6 * PER_AREA == 120
    assert check_json(sketch) == []
    assert [one["id"] for one in sketch["developer_plan"]["owners"]] == list(range(13))
    assert sketch["dependencies"] == ["rich>=13"]
    assert len(context.requests) == 8
    assert len({one.place for one in context.requests}) == 8
    asked = next(one.messages[1].content for one in context.requests if "package orders" in one.messages[1].content)
    assert "class Catalog" in asked
    assert "shop/catalog/part_0.py" not in asked
    assert asked.startswith(context.requests[0].messages[1].content.partition("# Rules")[0])
    contract = normalise(sketch, DOCUMENT)
    assert len(contract["files"]) == 120
    assert "## Candidate 0" in candidate_text(candidate)
    assert diagnostics([candidate])["validity_rate"] == 1.0


def test_the_files_of_the_packages_are_asked_for_side_by_side() -> None:
    context = FakeContext(Architect(), params=PARAMS, node="architect")
    context.model._delay = 0.01
    most = running = 0
    inner = context.model.answer

    async def counted(request: Request) -> Answer:
        nonlocal most, running
        running += 1
        most = max(most, running)
        try:
            return await inner(request)
        finally:
            running -= 1

    context.model.answer = counted  # type: ignore[method-assign]
    assert run_node(draft_sketch, {"document": DOCUMENT, "claims": [], "seat": 0}, context)["candidates"]["valid"]
    assert most == 7


def bent(name: str, **changes: Any) -> dict[str, Any]:
    part = make_part(name)
    part["files"][-1].update(changes)
    return part


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ("no JSON", "not_json"),
        ({"files": 3}, "schema"),
        (bent("orders", owner=7), "unknown_owner"),
        (bent("orders", path="../x.py"), "bad_path"),
        (bent("orders", path="shop/users/x.py"), "foreign_path"),
        (bent("orders", path="shop/billing/core.py"), "foreign_path"),
        (bent("orders", depends_on=["shop/catalog/part_1.py"]), "unknown_dependency"),
        (bent("orders", depends_on=["shop/catalog/core.py::Nothing"]), "unknown_symbol"),
        (bent("orders", depends_on=["shop/mail/core.py::Mail"]), "unplanned_dependency"),
        ({**make_part("orders"), "files": make_part("orders")["files"][2:]}, "broken_promise"),
        (ModelError("the endpoint is down"), "no_answer"),
        (Answer('{"files": [', "m", finish_reason="length"), "not_json"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_package_that_fails_is_asked_again_alone_and_the_candidate_is_invalid_if_it_still_fails(
    wrong: Any, code: str
) -> None:
    architect = Architect({("orders", 1): wrong})
    candidate, context = draft(architect)
    assert candidate["valid"]
    assert sorted(one for one in architect.asked if one[1] == 2) == [("orders", 2)]
    assert code in {one["code"] for one in candidate["attempts"][1]["checks"]}
    assert all("package 'orders'" in one["message"] for one in candidate["attempts"][1]["checks"])
    again = next(one for one in context.requests if one.place.endswith("draft 2")).messages
    if not isinstance(wrong, ModelError):
        assert code in again[-1].content
    architect = Architect({("orders", 1): wrong, ("orders", 2): wrong})
    candidate, _ = draft(architect)
    assert not candidate["valid"]
    assert code in {one["code"] for one in candidate["attempts"][-1]["checks"]}


def test_what_only_the_whole_fails_is_handed_to_the_package_it_is_about() -> None:
    without = make_part("root")
    without["files"] = without["files"][1:]
    architect = Architect({("root", 1): without})
    candidate, context = draft(architect)
    assert candidate["valid"]
    assert [one["code"] for one in candidate["attempts"][1]["checks"]] == ["layout"]
    assert [one for one in architect.asked if one[1] == 2] == [("root", 2)]
    assert "pyproject.toml" in context.requests[-1].messages[-1].content


def test_an_end_of_the_run_is_no_failed_check() -> None:
    with pytest.raises(BudgetExceeded):
        draft(Architect({("mail", 1): BudgetExceeded("tokens", 1, 2)}))


def plan_with(**changes: Any) -> dict[str, Any]:
    plan = make_plan()
    plan["packages"][2].update(changes)
    return plan


@pytest.mark.parametrize(
    ("plan", "code"),
    [
        ({**make_plan(), "packages": []}, "no_packages"),
        ({**make_plan(), "packages": make_plan()["packages"] * 9}, "too_many_packages"),
        ({**make_plan(), "packages": make_plan()["packages"][1:]}, "no_root"),
        ({**make_plan(), "dependencies": ["json"]}, "stdlib_requirement"),
        ({**make_plan(), "tech_stack": {"language": "Go", "framework": "", "test": ""}}, "language"),
        (plan_with(files=2000), "too_many_files"),
        (plan_with(name="catalog"), "duplicate_package"),
        (plan_with(folders=[]), "no_folder"),
        (plan_with(folders=["../orders"]), "bad_path"),
        (plan_with(folders=["/etc"]), "bad_path"),
        (plan_with(folders=["shop/.git"]), "bad_path"),
        (plan_with(folders=["SHOP/Catalog"]), "shared_folder"),
        (plan_with(depends_on=["nobody"]), "unknown_package"),
        (plan_with(depends_on=["root"]), "cycle"),
        (plan_with(interface=interface("mail")), "foreign_path"),
        (plan_with(interface=[{"path": "shop/orders/a.py", "public_api": ["nonsense ("]}]), "bad_signature"),
        (plan_with(interface=[{"path": "shop/orders/CON.py", "public_api": []}]), "bad_path"),
        ([], "schema"),
        ({"packages": [1]}, "schema"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_plan_that_cannot_be_followed_is_sent_back(plan: Any, code: str) -> None:
    checks = plan_faults(plan)
    assert code in {one.code for one in checks}
    assert all(one.message for one in checks)
    if isinstance(plan, list):
        return
    candidate, context = draft(Architect(plans=[plan]))
    assert candidate["valid"]
    assert code in context.requests[1].messages[-1].content
    candidate, context = draft(Architect(plans=[plan, plan]))
    assert (candidate["valid"], candidate["sketch"], len(context.requests)) == (False, None, 2)


def test_the_joined_sketch_is_bounded() -> None:
    plan = make_plan()
    for one in plan["packages"]:
        one["files"] = 1
    part = make_part("mail")
    part["files"] += [entry(f"shop/mail/more_{number}.py") for number in range(1000)]
    candidate, _ = draft(Architect({("mail", 1): part, ("mail", 2): part}, plans=[plan]))
    assert not candidate["valid"]
    assert "too_many_files" in {one["code"] for one in candidate["attempts"][-1]["checks"]}


def test_a_draft_that_shows_how_large_the_project_is_is_begun_anew_by_packages() -> None:
    document = normalize("# Shop\n\nThe program must sell things.\n")
    architect = Architect()

    def script(request: Request) -> Any:
        if ":draft" in request.place:
            return Answer('{"tech_stack": ', "m", finish_reason="length")
        return architect(request)

    context = FakeContext(script, params=PARAMS, node="architect")
    candidate = run_node(draft_sketch, {"document": document, "claims": [], "seat": 0}, context)["candidates"]
    assert candidate["valid"]
    assert len(candidate["sketch"]["files"]) == 120
    assert [one["parsed"] for one in candidate["attempts"]] == [False, True, True]


def test_how_many_files_the_requirements_ask_for() -> None:
    assert expected_files(DOCUMENT) == 108
    assert expected_files({"text": "The tool reads words."}) == 0
    assert expected_files({"text": "`a/b.py` and b.py, a/b.py again"}) == 2
    assert expected_files({"text": "def f(x) -> int:\n" * 120}) == 10


def test_a_package_belongs_to_the_longest_folder_above_it() -> None:
    plan = make_plan()
    plan["packages"][1]["folders"] = ["shop"]
    packages = Packages(plan)
    assert [packages.package_of(one) for one in ("setup.py", "shop/a.py", "shop/orders/deep/b.py", "shop", "x/y")] == [
        "root", "catalog", "orders", "root", "root",
    ]  # fmt: skip
    assert packages.reachable("billing") == {"orders", "catalog"}


def test_any_json_at_all_goes_through_the_checks_of_plans_and_parts() -> None:
    for data in (None, 1, "x", [], {}, {"files": {}, "developer_plan": []}, {"packages": {"a": 1}}):
        assert plan_faults(data)
        assert part_shape_faults(data)
    assert part_shape_faults(make_part("mail")) == []
    plan = copy.deepcopy(make_plan())
    assert plan_faults(plan) == []
