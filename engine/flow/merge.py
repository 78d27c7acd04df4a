"""Laying one document over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are merged key by key; anything else in `above` takes the place of what is below. Neither is changed.

    A null stays, so that it still removes what lies further below; `prune` takes it out in the end. Where no map meets
    something that is no map the order of merging does not matter: merge(a, merge(b, c)) == merge(merge(a, b), c).
    """
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(old, value) if both else value  # type: ignore[arg-type]
    return merged


def prune(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without the keys whose value is null, at every depth of its maps; lists are kept as they are."""
    return {
        key: prune(value) if isinstance(value, Mapping) else value
        for key, value in document.items()
        if value is not None
    }


def merge_all(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All documents over one another, the last on top, without nulls."""
    merged: dict[str, Any] = {}
    for document in documents:
        merged = merge(merged, document)
    return prune(merged)
