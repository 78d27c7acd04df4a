"""Merges trees of a Git repository, whole file by whole file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def three_way(
    bases: Sequence[Mapping[str, str]], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The merged tree, and the paths that cannot be merged.

    With several merge bases a path is settled when those that settle it agree.
    """
    merged, conflicts = {}, []
    for path in sorted(ours.keys() | theirs.keys()):
        left, right = ours.get(path), theirs.get(path)
        settled = {right if base.get(path) == left else left for base in bases if base.get(path) in {left, right}}
        if left == right:
            settled = {left}
        if len(settled) != 1:
            conflicts.append(path)
        elif (blob := settled.pop()) is not None:
            merged[path] = blob
    return merged, conflicts
