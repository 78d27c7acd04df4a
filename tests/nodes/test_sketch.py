"""The hard checks of a sketch: each known gap of released code is a case here."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.normalise import normalise
from nodes.sketch import check_sketch, read_sketch
from tests.support.sketches import GOOD, entry


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    sketch = copy.deepcopy(GOOD)
    change(sketch)
    return sketch


def rename(old: str, new: str) -> Callable[[dict[str, Any]], object]:
    """Change a path in the tree and in its entry."""

    def change(sketch: dict[str, Any]) -> None:
        sketch["repo_tree"] = [new if path == old else path for path in sketch["repo_tree"]]
        entry(sketch, old)["path"] = new

    return change


def test_a_good_sketch_passes() -> None:
    assert check_sketch(GOOD) == []


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        (lambda s: s.pop("files"), "shape", "$"),
        (lambda s: entry(s, "shop/cart.py").pop("owner"), "shape", "files[2]"),
        (lambda s: s["tech_stack"].update(language="Rust"), "language", "tech_stack.language"),
        (lambda s: s["repo_tree"].append("shop/extra.py"), "no_entry", "files"),
        (lambda s: s["repo_tree"].remove("shop/cart.py"), "not_in_tree", "files[2].path"),
        (lambda s: s["files"].append(copy.deepcopy(s["files"][0])), "duplicate_entry", "files[4].path"),
        (lambda s: entry(s, "shop/cart.py").update(owner=7), "unknown_owner", "files[2].owner"),
        (lambda s: s["developer_plan"].update(num_developers=3), "developer_count", "developer_plan.num_developers"),
        (lambda s: s["developer_plan"]["owners"].append({"id": 0, "focus": ""}), "duplicate_owner", "developer_plan.owners"),
        (lambda s: entry(s, "shop/cart.py").update(owner=0), "idle_developer", "developer_plan.owners"),
        (lambda s: entry(s, "shop/cart.py")["depends_on"].append("shop/tax.py"), "unknown_dependency", "files[2].depends_on[1]"),
        (lambda s: entry(s, "shop/cart.py")["depends_on"].append("shop/price.py::Price"), "unknown_symbol", "files[2].depends_on[1]"),
        (lambda s: entry(s, "shop/price.py")["depends_on"].append("shop/cart.py"), "cycle", "files"),
        (lambda s: entry(s, "shop/price.py")["public_api"].append("def with_tax() -> int"), "duplicate_symbol", "files[1].public_api[1]"),
        (lambda s: entry(s, "shop/price.py")["public_api"].append("with_tax(x)"), "bad_signature", "files[1].public_api[1]"),
        (lambda s: entry(s, "shop/price.py")["public_api"].append("def Tax.rate(self) -> int"), "no_class", "files[1].public_api"),
        (lambda s: s["dependencies"].append("json"), "bad_dependency", "dependencies[0]"),
        (lambda s: s["dependencies"].append("reqeusts"), "bad_dependency", "dependencies[0]"),
        (lambda s: s["dependencies"].append("not a requirement"), "bad_dependency", "dependencies[0]"),
        (lambda s: s["dependencies"].append("x @ git+https://example.org/x"), "bad_dependency", "dependencies[0]"),
        (rename("README.md", "../README.md"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "/etc/passwd"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "C:\\x.md"), "bad_path", "repo_tree[3]"),
        (rename("README.md", ".git/hooks/pre-commit"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "shop/.GIT/config"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "aux.md"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "a./b.md"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "a\u202e.md"), "bad_path", "repo_tree[3]"),
        (rename("README.md", "Shop/Price.py"), "path_collision", "repo_tree[3]"),
        (rename("README.md", "shop/price.py/x.md"), "path_collision", "repo_tree"),
    ],
)  # fmt: skip
def test_what_is_no_valid_sketch(change: Callable[[dict[str, Any]], object], code: str, place: str) -> None:
    found = check_sketch(changed(change))
    assert (code, place) in [(one.code, one.place) for one in found], found


@pytest.mark.parametrize(
    "text", ["", "sorry", "[1, 2]", '{"files": [', json.dumps(GOOD)[:-1], "```json\n{'a': 1}\n```"]
)
def test_what_does_not_load_is_excluded_and_never_mended(text: str) -> None:
    sketch, checks = read_sketch(text)
    assert sketch is None
    assert [one.code for one in checks] == ["not_json"]


def test_a_fenced_sketch_loads() -> None:
    assert read_sketch(f"Here it is:\n```json\n{json.dumps(GOOD)}\n```\n") == (GOOD, [])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, "path", "owner"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(list(GOOD)), JSON))
def test_any_json_at_all_goes_through_the_checks(data: dict[str, Any]) -> None:
    assert check_sketch(data)
    assert all(one.message for one in check_sketch({**GOOD, **data}))


def test_normalising_gives_owners_paths_and_the_graph() -> None:
    sketch = changed(lambda s: entry(s, "shop/cart.py")["depends_on"].append("shop/cart.py::Cart"))
    contract = normalise(sketch, ["tax"])
    assert contract["developers"] == ["dev-0", "dev-1"]
    cart = next(one for one in contract["files"] if one["path"] == "shop/cart.py")
    assert cart["depends_on"] == ["shop/price.py"]
    assert cart["uses"] == ["shop/price.py::with_tax"]
    assert cart["owner"] == "dev-1"
    assert [one["name"] for one in cart["public_api"]] == ["Cart", "Cart.add"]
    assert cart["requirements"] == ["tax"]
    assert "'shop/cart.py' does not depend on itself" in contract["notes"]
    assert "'shop/price.py' implements 'nowhere', which is no section of the document" in contract["notes"]


def test_normalising_does_not_touch_the_sketch_and_repeats() -> None:
    before = copy.deepcopy(GOOD)
    first, second = normalise(GOOD, ["tax"]), normalise(GOOD, ["tax"])
    assert before == GOOD
    assert first == second
