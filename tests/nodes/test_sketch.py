"""The hard checks of a sketch: each known gap of released code is a case here, and so is each hostile path."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.base import Answer
from nodes.normalise import NormalisationError, normalise
from nodes.sketch import check_json, read_answer, sketch_schema
from nodes.sketch_checks import EXAMPLE_PACKAGE, MOST_FILES, canonical, check_sketch
from tests.support.planning import make_document, make_sketch, with_file

Change = Callable[[dict[str, Any]], object]


def changed(change: Change) -> dict[str, Any]:
    sketch = copy.deepcopy(make_sketch())
    change(sketch)
    return sketch


def entry(sketch: dict[str, Any], path: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in sketch["files"] if one["path"] == path)
    return found


def test_a_good_sketch_passes_with_or_without_what_is_not_mandatory() -> None:
    assert check_json(make_sketch()) == []
    bare = make_sketch(tech_stack={"language": "Python 3.11", "anything": "else"})
    del bare["dependencies"]
    bare["files"] = [
        {name: value for name, value in file.items() if name in ("path", "purpose", "owner")} for file in bare["files"]
    ]
    assert check_json(bare) == []
    assert check_json(make_sketch(repo_tree=[*make_sketch()["repo_tree"], "shop/", "tests/"])) == []


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        (lambda s: s.pop("files"), "schema", ""),
        (lambda s: entry(s, "shop/cli.py").pop("owner"), "schema", "files[4]"),
        (lambda s: entry(s, "shop/cli.py").update(public_api="def f()"), "schema", "files[4].public_api"),
        (lambda s: s["tech_stack"].update(language="Rust"), "language", "tech_stack.language"),
        (lambda s: s.update(files=[], repo_tree=[]), "no_files", "files"),
        (lambda s: s["repo_tree"].append("shop/extra.py"), "missing_entry", "repo_tree"),
        (lambda s: s["repo_tree"].remove("shop/cli.py"), "not_in_tree", "files[4].path"),
        (lambda s: s["files"].append(copy.deepcopy(s["files"][3])), "duplicate_path", "files[3]"),
        (lambda s: entry(s, "shop/cli.py").update(owner=7), "unknown_owner", "files[4].owner"),
        (lambda s: entry(s, "shop/cli.py").update(owner="1"), "unknown_owner", "files[4].owner"),
        (lambda s: s["developer_plan"].update(num_developers=3), "developer_count", "developer_plan.num_developers"),
        (lambda s: s["developer_plan"]["owners"].append({"id": 0, "focus": ""}), "duplicate_owner", "developer_plan.owners"),
        (lambda s: s["developer_plan"].update(num_developers=3, owners=[{"id": n} for n in range(3)]), "idle_developer", "developer_plan.owners"),
        (lambda s: entry(s, "shop/cli.py")["depends_on"].append("shop/tax.py"), "unknown_dependency", "files[4].depends_on[2]"),
        (lambda s: entry(s, "shop/cli.py")["depends_on"].append("shop.items"), "unknown_dependency", "files[4].depends_on[2]"),
        (lambda s: entry(s, "shop/cli.py")["depends_on"].append("shop/items.py::Price"), "unknown_symbol", "files[4].depends_on[2]"),
        (lambda s: entry(s, "shop/items.py")["depends_on"].append("shop/cli.py"), "cycle", "files"),
        (lambda s: entry(s, "shop/cli.py")["public_api"].append("def main() -> None"), "conflicting_symbol", "files[4].public_api[1]"),
        (lambda s: entry(s, "shop/cli.py")["public_api"].append("run"), "bad_signature", "files[4].public_api[1]"),
        (lambda s: entry(s, "shop/cli.py")["public_api"].append("run: def go() -> None"), "name_mismatch", "files[4].public_api[1]"),
        (lambda s: s["dependencies"].append("json"), "stdlib_requirement", "dependencies[1]"),
        (lambda s: s["dependencies"].append("reqeusts"), "lookalike_requirement", "dependencies[1]"),
        (lambda s: s["dependencies"].append("x @ git+https://example.org/x"), "bad_requirement", "dependencies[1]"),
        (lambda s: s["dependencies"].append("rich<5"), "conflicting_requirement", "dependencies[1]"),
    ],
)  # fmt: skip
def test_what_is_no_valid_sketch(change: Change, code: str, place: str) -> None:
    found = check_json(changed(change))
    assert (code, place) in [(one.code, one.place) for one in found], found
    assert all(one.message for one in found)


def test_a_failed_check_says_what_to_write_instead() -> None:
    found = check_sketch(with_file("shop/cli.py", depends_on=["shop/item.py", "shop/items.py::Inventry"]))
    assert [one.message for one in found] == [
        "'shop/item.py' is no file of the sketch; did you mean 'shop/items.py'?",
        "'shop/items.py' exports no 'Inventry'; did you mean 'Inventory'?",
    ]


def test_references_within_a_file_are_no_cycle() -> None:
    assert check_sketch(with_file("shop/items.py", depends_on=["shop/items.py::Item"])) == []
    ring = with_file("shop/items.py", depends_on=["shop/cli.py::main"])
    assert [one.code for one in check_sketch(ring)] == ["cycle"]
    assert "shop/items.py -> shop/cli.py" in check_sketch(ring)[0].message + " -> shop/cli.py"


@pytest.mark.parametrize(
    ("missing", "what"),
    [
        ("pyproject.toml", "pyproject.toml"),
        ("README.md", "README.md"),
        ("tests/test_items.py", "tests"),
        ("shop/__init__.py", "__init__.py"),
    ],
)
def test_a_project_needs_what_makes_it_installable_and_tested(missing: str, what: str) -> None:
    sketch = make_sketch()
    sketch["files"] = [one for one in sketch["files"] if one["path"] != missing]
    sketch["repo_tree"].remove(missing)
    found = check_sketch(sketch)
    assert [one.code for one in found] == ["layout"]
    assert what in found[0].message


def test_the_example_handed_back_is_found_but_not_a_task_about_the_same() -> None:
    sketch = with_file(f"{EXAMPLE_PACKAGE}/tables.py")
    assert [one.code for one in check_sketch(sketch)] == ["echoed_example"]
    assert check_sketch(sketch, "# Tidewatch\n\nIt shows tides.") == []


def test_at_most_a_thousand_files() -> None:
    sketch = make_sketch()
    for number in range(MOST_FILES):
        sketch["files"].append({"path": f"shop/m{number}.py", "purpose": "", "owner": 0})
        sketch["repo_tree"].append(f"shop/m{number}.py")
    assert [one.code for one in check_sketch(sketch)] == ["too_many_files"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "empty"), ("sorry", "no JSON"), ("[1, 2]", "list"), ('{"files": [', ""), (json.dumps(make_sketch())[:-1], ""),
     ("```json\n{'a': 1}\n```", ""), ('{"a": 1, "a": 2}', "twice"), ('{"a": NaN}', "NaN"), ('"text"', "str"), ('{"a": 1} {"b": 2}', "different")],
)  # fmt: skip
def test_what_does_not_load_is_excluded_and_never_mended(text: str, reason: str) -> None:
    draft = read_answer(Answer(text, "m"), check_json)
    assert not draft.parsed
    assert not draft.valid
    assert [one.code for one in draft.checks] == ["not_json"]
    assert reason in draft.checks[0].message


def test_a_fenced_sketch_loads_and_a_cut_off_one_says_so() -> None:
    draft = read_answer(Answer(f"Here it is:\n```json\n{json.dumps(make_sketch())}\n```\n", "m"), check_json)
    assert draft.sketch == make_sketch()
    assert draft.valid
    cut_off = Answer('{"files": [', "m", finish_reason="length")
    assert "cut off at the output limit" in read_answer(cut_off, check_json).checks[0].message


HOSTILE = [
    "/etc/passwd", "//server/share/x.py", "../x.py", "shop/../../x.py", "..", ".", "", "shop/..", "~/../x", "C:/x.py", "C:\\x.py", "c:x.py",
    "\\\\server\\x.py", "shop\\..\\..\\x.py", "..\\x.py", ".git/hooks/pre-commit", "shop/.git/config", ".GIT/config", ".gIt", ".git\u200c/config",
    "git~1/config", "GIT~2", ".gitmodules", "con", "shop/nul", "aux.py", "shop/COM1.txt", "lpt9", "prn .py", "conin$", "com¹.py", "shop./x.py",
    "shop /x.py", "x.py.", "x.py ", " x.py", "shop/ x.py", "x\0.py", "x\n.py", "x\r.py", "x\t.py", "x\x1b[2J.py", "x\u202e.py", "x\u200b.py",
    "x\u2028.py", "x\ud800.py", "x?.py", "x*.py", "x|.py", "x<y>.py", 'x".py', "x.py:stream", "file:///etc/passwd", "a" * 300 + ".py",
    "/".join(["d"] * 40) + "/x.py", "shop/items.py/x.py", "./../x.py", "shop//../../x.py", "\u3000x.py", "..\u2024/x.py", "%2e%2e/..", "..;/../x.py",
    "／etc/passwd/..", "shop/\u00a0", "\ufeffx.py",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE, ids=repr)
def test_no_hostile_sketch_gets_a_path_outside_the_repository(path: str) -> None:
    assert len(HOSTILE) > 60
    for sketch in (with_file(path), make_sketch(repo_tree=[*make_sketch()["repo_tree"], path])):
        assert not {one.code for one in check_json(sketch)}.isdisjoint({"bad_path", "path_clash", "missing_entry"})
    assert {"bad_path", "path_clash"} & {one.code for one in check_json(with_file(path))}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("Shop/Items.py", "path_collision"), ("shop/ITEMS.py", "path_collision"), ("shop/ﬁles.py", None), ("shop/e\u0301.py", None),
        ("readme.md", "path_collision"), ("src/shop/items.py", "module_collision"), ("shop/items/__init__.py", "module_collision"),
    ],
)  # fmt: skip
def test_paths_that_are_one_on_some_systems_collide(path: str, code: str | None) -> None:
    assert [one.code for one in check_json(with_file(path))] == ([code] if code else [])
    both = with_file("shop/\u00e9.py", with_file("shop/e\u0301.py"))
    assert [one.code for one in check_json(both)] == ["duplicate_path"]


def test_spellings_of_one_path_are_one_path() -> None:
    sketch = with_file("shop/cli.py", path="./shop//cli.py", depends_on=["./shop/items.py::Item"])
    assert check_sketch(sketch) == []
    assert canonical("./a//b/./c.py") == "a/b/c.py"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*make_sketch(), "path", "owner", "owners", "public_api"]), inner, max_size=4)
    ),
    max_leaves=10,
)
TEXT = st.one_of(
    st.text(max_size=10),
    st.sampled_from([*HOSTILE, "shop/items.py", "def f(x) -> int", "class A", "rich>=1", "shop/items.py::Item"]),
)


@settings(max_examples=200, deadline=None)
@given(
    st.one_of(
        JSON, st.dictionaries(st.sampled_from(list(make_sketch())), JSON).map(lambda part: {**make_sketch(), **part})
    )
)
def test_any_json_at_all_goes_through_the_checks(data: Any) -> None:
    assert all(one.code and one.message for one in check_json(data))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"path": TEXT, "purpose": TEXT, "owner": st.integers(0, 2)},
            optional={
                "public_api": st.lists(TEXT, max_size=3),
                "depends_on": st.lists(TEXT, max_size=3),
                "implements": st.lists(TEXT, max_size=2),
                "lines": st.integers(),
            },
        ),
        max_size=4,
    ),
    st.lists(TEXT, max_size=4),
    st.lists(TEXT, max_size=3),
)
def test_whatever_passes_the_checks_stays_inside_the_repository(
    files: list[dict[str, Any]], tree: list[str], needs: list[str]
) -> None:
    sketch = make_sketch(dependencies=needs)
    sketch["files"] += files
    sketch["repo_tree"] += [*tree, *(file["path"] for file in files)]
    sketch["developer_plan"] = {"num_developers": 3, "owners": [{"id": n} for n in range(3)]}
    if check_json(sketch):
        return
    try:
        contract = normalise(sketch, make_document())
    except NormalisationError:
        return
    for path in contract["repo_tree"]:
        assert not PurePosixPath(path).is_absolute()
        assert not PureWindowsPath(path).drive
        assert not {"..", ".git"} & set(re.split(r"[/\\]", path.casefold()))


def test_a_model_is_shown_no_exotic_keyword() -> None:
    def keywords(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(keywords, schema)) if schema else set()
        if not isinstance(schema, dict):
            return set()
        inner = [keywords(value) for name, value in schema.items() if name != "properties"]
        return set(schema).union(*inner, *map(keywords, schema.get("properties", {}).values()))

    schema = sketch_schema()
    assert keywords(schema) == {"type", "properties", "required", "additionalProperties", "items"}

    def strict(part: dict[str, Any]) -> None:
        if part["type"] == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
        for inner in [*part.get("properties", {}).values(), *([part["items"]] if "items" in part else [])]:
            strict(inner)

    strict(dict(schema))
