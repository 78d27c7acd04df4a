"""No hostile sketch gets a path outside the repository: what passes the checks is made and read back with git."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import paths
from engine.models.base import Answer
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.materialise import create_tree
from nodes.normalise import NormalisationError, normalise
from nodes.sketch import Draft, check_json, read_answer
from tests.nodes.hostile_sketches import hostile_sketches
from tests.support.fake_context import FakeContext, run_node
from tests.support.planning import make_document, with_file

HOSTILE = list(hostile_sketches())
REFUSED = [one for one in HOSTILE if one[2] is not None]
HARMLESS = [one for one in HOSTILE if one[2] is None]
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the git program is not installed")


def read(text: str) -> Draft:
    return read_answer(Answer(text, "m"), check_json)


def made(sketch: dict[str, Any], folder: Path) -> list[str]:
    """The paths that a sketch makes, as git tells them; nothing else of the folder is touched."""
    contract = normalise(sketch, make_document())
    assert schema_faults(contract, json.loads(schema_file("contract").read_text(encoding="utf-8"))) == []
    context = FakeContext(folder=folder, params={"allocation": {"mode": "dynamic", "team": 4}})
    run_node(create_tree, {"contract": contract}, context)
    listed = subprocess.run(
        ["git", "-C", folder / "repo", "ls-tree", "-r", "-z", "main"], check=True, capture_output=True
    ).stdout.decode()
    entries = [one.split("\t", 1) for one in listed.split("\0") if one]
    assert {head.split()[0] for head, _ in entries} == {"100644"}
    found = [path for _, path in entries]
    assert sorted(found) == sorted(contract["repo_tree"])
    assert [one.name for one in folder.iterdir()] == ["repo"]
    there = {one.relative_to(folder / "repo").as_posix() for one in (folder / "repo").rglob("*") if not one.is_dir()}
    assert {one for one in there if not one.startswith(".git/")} == set(found)
    assert not any(one.is_symlink() for one in (folder / "repo").rglob("*"))
    hooks = folder / "repo" / ".git" / "hooks"
    assert not hooks.exists() or not any(hooks.iterdir())
    return found


def clean(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return (
        paths.fault(path) is None and "/".join(parts) == path and not {"..", ".git", "/"} & set(map(str.lower, parts))
    )


def test_the_table_holds_what_it_should() -> None:
    assert len(HOSTILE) > 200
    assert len({name for name, _, _ in HOSTILE}) == len(HOSTILE)
    assert sum(code == "bad_path" for _, _, code in HOSTILE) > 60


@pytest.mark.parametrize(("text", "code"), [one[1:] for one in REFUSED], ids=[one[0][:60] for one in REFUSED])
def test_a_hostile_sketch_is_refused_by_name(text: str, code: str) -> None:
    draft = read(text)
    assert code in {one.code for one in draft.checks}, draft.checks[:3]
    for one in draft.checks:
        assert len(one.message) < 3000
        one.message.encode()


@needs_git
@pytest.mark.parametrize("text", [one[1] for one in HARMLESS], ids=[one[0][:60] for one in HARMLESS])
def test_what_is_not_refused_makes_clean_paths_only(text: str, tmp_path: Path) -> None:
    draft = read(text)
    assert draft.valid, draft.checks
    assert draft.sketch is not None
    assert all(map(clean, made(draft.sketch, tmp_path)))


PIECES = [
    "..", ".", "/", "//", "\\", "shop", "items.py", "x.py", ".git", ".GIT", "git~1", "con", "NUL.txt", "C:", "~", "-x",
    "ﬁ", "．", "／", "‥", " ", ".", ":", "::$DATA", "\0", "\n", "\u200c", "\u202e", "é", "e\u0301", "ß", "$HOME",
    "%2e", "商", "a" * 300,
]  # fmt: skip
PATH = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join)


@needs_git
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(PATH, st.text(max_size=12)), min_size=1, max_size=3))
def test_whatever_passes_the_checks_stays_in_the_repository(tmp_path_factory: Any, names: list[str]) -> None:
    sketch = with_file("shop/till.py")
    for name in names:
        sketch = with_file(name, sketch)
    if not check_json(sketch):
        assert all(map(clean, made(sketch, tmp_path_factory.mktemp("made"))))


WHOLE = json.dumps(with_file("shop/till.py"), indent=1)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.one_of(
        st.text(),
        st.builds(
            lambda start, length, put: WHOLE[:start] + put + WHOLE[start + length :],
            st.integers(0, len(WHOLE)),
            st.integers(0, 40),
            st.one_of(
                st.text(max_size=4), st.sampled_from(["NaN", "1e999", '"', "[" * 2000, "\\ud800", "```", "<think>"])
            ),
        ),
    )
)
def test_any_answer_at_all_is_read_without_an_error(text: str) -> None:
    draft = read(text)
    assert draft.valid == (not draft.checks)
    assert draft.valid or all(one.code and one.message for one in draft.checks)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | PATH | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "id", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELD = st.sampled_from(["tech_stack", "repo_tree", "dependencies", "developer_plan", "files"])
FILE_FIELD = st.sampled_from(["path", "purpose", "public_api", "depends_on", "owner", "implements", "lines"])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.dictionaries(FIELD, ANY_JSON, max_size=2), st.dictionaries(FILE_FIELD, ANY_JSON, max_size=2))
def test_any_json_in_any_place_is_judged_without_an_error(fields: dict[str, Any], of_a_file: dict[str, Any]) -> None:
    sketch = {**with_file("shop/cli.py", **of_a_file), **fields}
    checks = check_json(sketch)
    assert all(one.code and one.message for one in checks)
    if not checks:
        try:
            contract = normalise(sketch, make_document())
        except NormalisationError as error:
            assert str(error)
        else:
            assert all(map(clean, contract["repo_tree"]))
