"""Which of the found repositories may be shown to an architect: no copies, and none that is the task itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from nodes.references.settings import Limits
from nodes.references.similarity import duplicate_of, overlap, shingles

if TYPE_CHECKING:
    from datasketch import MinHash

_FEWEST_FILES = 4
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_SOURCE_FILE = re.compile(r"[\w./-]+\.(?:py|toml|cfg)\b")


@dataclass(frozen=True)
class Candidate:
    """A found repository: its best chunk's text and cosine, its file tree, and all that describes it."""

    repository: str
    origin: str
    licence: str
    similarity: float
    found: str
    tree: Sequence[str]
    text: str


class Filters:
    """Judges candidates, best first."""

    def __init__(self, document: Mapping[str, Any], limits: Limits) -> None:
        self._limits = limits
        self._task = shingles(document["text"])
        self._named = frozenset(_names(document))
        self._files = frozenset(_SOURCE_FILE.findall(document["text"]))
        self._kept: list[tuple[str, MinHash]] = []
        self._trees: dict[frozenset[str], str] = {}

    def reason(self, one: Candidate) -> str:
        """Why a candidate is left out; "" keeps it, and later ones are compared with it."""
        return self._is_task(one) or self._is_copy(one)

    def _is_task(self, one: Candidate) -> str:
        name = canonicalize_name(one.repository.partition(" ")[0].rpartition("/")[2])
        if name in self._named:
            return "named like the task"
        if one.similarity >= self._limits.task_similarity:
            return f"too similar to the task: cosine {one.similarity:.2f}"
        said = overlap(shingles(one.found), self._task)
        if said >= self._limits.task_text:
            return f"too similar to the task: {said:.2f} of the text is in it"
        files = frozenset(path for path in one.tree if path.endswith((".py", ".toml", ".cfg")))
        if len(files) >= _FEWEST_FILES and files <= self._files:
            return "the file tree that the task asks for"
        return ""

    def _is_copy(self, one: Candidate) -> str:
        tree = frozenset(one.tree)
        if len(tree) >= _FEWEST_FILES and tree in self._trees:
            return f"the same file tree as {self._trees[tree]}"
        twin, own = duplicate_of(one.found, self._kept, self._limits.near_duplicate)
        if twin is not None:
            return f"nearly the same text as {twin}"
        self._kept.append((one.repository, own))
        self._trees[tree] = one.repository
        return ""


def _names(document: Mapping[str, Any]) -> Iterator[str]:
    """What the task's project may be called: its title, or the title's first word."""
    title = document["title"].strip("` ")
    for text in (title, title.partition(":")[0].strip("` "), title.partition(" - ")[0].strip("` ")):
        if _NAME.fullmatch(text):
            yield canonicalize_name(text)
