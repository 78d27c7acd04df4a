from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.flow.merge import merge, merge_all, prune

# keys in capitals hold maps, the others values, so that no map meets a value: there merging is associative
Document = dict[str, Any]
_values = st.one_of(st.none(), st.integers(0, 5), st.text("xy", max_size=2), st.lists(st.integers(0, 3), max_size=2))
_leaves = st.dictionaries(st.sampled_from("abc"), _values, max_size=3)
documents = st.recursive(
    _leaves,
    lambda inner: st.builds(
        lambda leaves, maps: {**leaves, **maps}, _leaves, st.dictionaries(st.sampled_from("ABC"), inner, max_size=2)
    ),
    max_leaves=6,
)
anything = st.recursive(
    _values, lambda inner: st.dictionaries(st.sampled_from("abAB"), inner, max_size=3), max_leaves=8
).map(lambda value: value if isinstance(value, dict) else {"a": value})


@given(documents, documents, documents)
def test_merging_is_associative_where_maps_meet_maps(a: Document, b: Document, c: Document) -> None:
    assert merge(a, merge(b, c)) == merge(merge(a, b), c)


@given(anything)
def test_nothing_is_neutral_and_merging_again_changes_nothing(a: Document) -> None:
    assert merge({}, a) == a == merge(a, {})
    assert merge(a, a) == a


@given(anything, anything)
def test_what_is_above_stands(a: Document, b: Document) -> None:
    below, above = copy.deepcopy((a, b))
    merged = merge(a, b)
    assert (a, b) == (below, above)
    assert merge(merged, b) == merged
    for key, value in b.items():
        assert isinstance(value, dict) or merged[key] == value


@given(anything, anything)
def test_resolving_is_idempotent_and_leaves_no_null_in_maps(a: Document, b: Document) -> None:
    resolved = merge_all([a, b])
    assert merge_all([resolved]) == resolved == prune(resolved)

    def nulls(value: Any) -> bool:
        return isinstance(value, dict) and any(one is None or nulls(one) for one in value.values())

    assert not nulls(resolved)


def test_null_removes_and_a_later_layer_may_bring_back() -> None:
    base: Document = {"rag": {"top_k": 5, "enabled": True}, "x": 1}
    assert merge_all([base, {"rag": None}]) == {"x": 1}
    assert merge_all([base, {"rag": {"top_k": None}}]) == {"rag": {"enabled": True}, "x": 1}
    assert merge_all([base, {"rag": None}, {"rag": {"top_k": 3}}]) == {"rag": {"top_k": 3}, "x": 1}


def test_lists_are_replaced() -> None:
    assert merge({"a": [1, 2, 3]}, {"a": [4]}) == {"a": [4]}
