"""How much two texts say the same: shared runs of words, exactly for two texts, by MinHash among many."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Set
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datasketch import MinHash

_WORD = re.compile(r"\w+")
_RUN = 4  # words
_FEWEST = 12  # runs; a text with fewer is too short to be told from another by them
_PERMUTATIONS = 128


def shingles(text: str) -> frozenset[int]:
    """Every run of four words, in lower case, as a number of 32 bits."""
    words = _WORD.findall(text.lower())
    runs = (" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1))
    return frozenset(map(_number, runs))


def overlap(one: frozenset[int], other: frozenset[int]) -> float:
    """The part of the shorter text's runs that the other one has too, 0 to 1; 0 for texts too short to tell."""
    fewest = min(len(one), len(other))
    return len(one & other) / fewest if fewest >= _FEWEST else 0.0


def likeness(one: Set[object], other: Set[object]) -> float:
    """Shared members over all members, 0 to 1."""
    return len(one & other) / len(one | other) if one or other else 0.0


def sketch(members: Iterable[int]) -> MinHash:
    """The MinHash of a set, the same on every machine."""
    from datasketch import MinHash

    made = MinHash(num_perm=_PERMUTATIONS, seed=1, hashfunc=_same)
    made.update_batch(sorted(members))
    return made


def duplicate_of(text: str, others: Iterable[tuple[str, MinHash]], threshold: float) -> tuple[str | None, MinHash]:
    """The name of the first of `others` that is nearly the same text, and the text's own sketch."""
    own = sketch(shingles(text) or {_number(text)})
    return next((name for name, one in others if one.jaccard(own) >= threshold), None), own


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _same(number: int) -> int:
    return number
