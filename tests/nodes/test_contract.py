from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nodes.contract import Contract, is_source, is_test, module_name
from tests.support.contracts import make_contract


@st.composite
def relations(draw: st.DrawFn) -> dict[str, list[str]]:
    count = draw(st.integers(1, 12))
    names = [f"pkg/m{n}.py" for n in range(count)]
    needs = {
        name: sorted(draw(st.sets(st.sampled_from(names[:n]), max_size=3))) if n else [] for n, name in enumerate(names)
    }
    return {name: needs[name] for name in draw(st.permutations(names))}


def test_priority_is_depth_then_fanout_then_sketch_order() -> None:
    contract = Contract(make_contract({"a.py": [], "b.py": ["a.py"], "c.py": ["a.py"], "d.py": ["b.py"], "e.py": []}))
    assert contract.priority("a.py") == [2, 2, 0]
    assert contract.priority("b.py") == [1, 1, -1]
    assert contract.priority("c.py") == [0, 0, -2]
    assert max(["b.py", "c.py"], key=contract.priority) == "b.py"


@given(relations())
def test_dependency_order_puts_every_file_after_what_it_needs(needs: dict[str, list[str]]) -> None:
    contract = Contract(make_contract(needs))
    place = {path: index for index, path in enumerate(contract.order)}
    assert set(place) == set(needs)
    assert all(place[one] < place[path] for path, found in needs.items() for one in found)
    assert contract.sorted(reversed(contract.order)) == contract.order
    for path, found in needs.items():
        assert all(contract.depth[one] > contract.depth[path] for one in found)


def test_module_names_follow_the_path() -> None:
    names = {"src/pkg/a.py": "pkg.a", "pkg/__init__.py": "pkg", "a.py": "a", "src/pkg/__init__.py": "pkg"}
    assert {path: module_name(path) for path in names} == names


def test_tests_are_told_from_sources() -> None:
    assert [is_test(path) for path in ("tests/test_a.py", "tests/conftest.py", "test_a.py", "pkg/testing.py")] == [
        True,
        True,
        True,
        False,
    ]
    assert is_source("pkg/latest.py")
    assert not is_source("README.md")
