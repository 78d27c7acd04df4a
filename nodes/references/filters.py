"""Which of the found repositories may be shown to an architect: no copies, and none that is the task itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from engine.errors import InputError
from nodes.references.similarity import duplicate_of, overlap, shingles

if TYPE_CHECKING:
    from datasketch import MinHash

_FEWEST_FILES = 4
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_SOURCE_FILE = re.compile(r"[\w./-]+\.(?:py|toml|cfg)\b")


@dataclass(frozen=True)
class Limits:
    """From which similarity on a found repository is left out, 0 to 1; 1.01 switches a filter off.

    near_duplicate   of two found texts, by MinHash
    task_text        part of the shorter text's runs of words that the requirements have too
    task_similarity  cosine to the requirements
    """

    near_duplicate: float = 0.8
    task_text: float = 0.3
    task_similarity: float = 0.95

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Limits:
        """Limits from a flow's parameters. Raises InputError for what is none."""
        known = set(cls.__dataclass_fields__)
        for name, value in given.items():
            if name not in known:
                raise InputError(f"params.rag.filters.{name}: unknown; known: {', '.join(sorted(known))}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1.01:
                raise InputError(f"params.rag.filters.{name}: {value!r} is no number from 0 to 1.01")
        return cls(**given)


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
