"""What must not be in a corpus: what overlaps a benchmark target, and copies of what is in it already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from engine.retrieval.base import Chunk
from nodes.references.identity import Identity, identity_of
from nodes.references.similarity import likeness, sketch
from nodes.references.targets import Thresholds, overlaps

if TYPE_CHECKING:
    from datasketch import MinHashLSH

_Key = TypeVar("_Key")
_FEWEST_FILES = 4  # smaller trees are alike by chance


class Screen:
    """Judges repositories one after the other; what it lets in is what the next ones are compared with."""

    def __init__(self, targets: Sequence[Identity] = (), thresholds: Thresholds | None = None) -> None:
        self._targets, self._thresholds = targets, thresholds or Thresholds()
        self._names: dict[str, str] = {}
        self._projects: dict[str, str] = {}
        self._trees: dict[tuple[str, ...], str] = {}
        self._kept: dict[str, Identity] = {}
        self._readmes: MinHashLSH | None = None

    def leaks(self, chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
        """Which targets a repository overlaps, and each reason."""
        one = identity_of(chunks)
        return [(target.repository, why) for target in self._targets for why in overlaps(one, target, self._thresholds)]

    def judge(self, chunks: Sequence[Chunk]) -> str:
        """Why a repository must not be in the corpus; "" lets it in."""
        leaks = self.leaks(chunks)
        if leaks:
            return f"overlaps the target {leaks[0][0]}: {leaks[0][1]}"
        one = identity_of(chunks)
        if why := self._copy(one):
            return why
        self._remember(one)
        return ""

    def forget(self, repository: str) -> None:
        """Compare no later one with a repository that was let in."""
        one = self._kept.pop(repository, None)
        if one is None:
            return
        self._names = _without(self._names, repository)
        self._projects = _without(self._projects, repository)
        self._trees = _without(self._trees, repository)
        if self._readmes is not None and one.shingles:
            self._readmes.remove(repository)

    def _copy(self, one: Identity) -> str:
        if one.package and one.package in self._names:
            return f"the same package as {self._names[one.package]}: a fork, a mirror or another version"
        if one.repository in self._kept:
            return "another repository of that name is in the corpus"
        if one.project and one.project in self._projects:
            return f"the same origin as {self._projects[one.project]}"
        if len(one.tree) >= _FEWEST_FILES and one.tree in self._trees:
            return f"the same file tree as {self._trees[one.tree]}"
        return self._near(one)

    def _near(self, one: Identity) -> str:
        """Nearly the README of another: with a tree that is alike too, a renamed copy."""
        if self._readmes is None or not one.shingles:
            return ""
        for other in sorted(self._readmes.query(sketch(one.shingles))):
            known = self._kept[other]
            alike = likeness(one.shingles, known.shingles)
            trees = likeness(frozenset(one.tree), frozenset(known.tree))
            if alike >= self._thresholds.duplicate and (trees >= 0.5 or alike >= 0.95):
                return f"nearly the same as {other}: README {alike:.2f}, file tree {trees:.2f}"
        return ""

    def _remember(self, one: Identity) -> None:
        from datasketch import MinHashLSH

        if self._readmes is None:
            # Somewhat lower than the threshold: what it finds is compared exactly afterwards.
            self._readmes = MinHashLSH(threshold=max(self._thresholds.duplicate - 0.1, 0.1), num_perm=128)
        self._kept[one.repository] = one
        if one.package:
            self._names[one.package] = one.repository
        if one.project:
            self._projects[one.project] = one.repository
        self._trees.setdefault(one.tree, one.repository)
        if one.shingles:
            self._readmes.insert(one.repository, sketch(one.shingles))


def _without(known: dict[_Key, str], repository: str) -> dict[_Key, str]:
    return {key: name for key, name in known.items() if name != repository}
