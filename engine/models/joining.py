"""Joins an answer that was cut off with its continuation, without loss and without repetition.

A continuation may go on exactly where the text stopped, repeat its last words or lines, begin all over, or open a fence
again, perhaps after a word of explanation. Which it is shows in the characters that both have in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST_OVERLAP = 8000
_SHORTEST_OVERLAP = 24  # shorter ones happen by chance, unless they are a whole unfinished line
_SHORTEST_LINE = 4
_RESTART = 200
_FENCE_LINE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_EXPLANATION = 3  # lines


def join(text: str, more: str) -> str:
    """`text` with what `more` adds to it."""
    if restarts(text, more):
        return more
    for candidate in _variants(more):
        shared = overlap(text, candidate)
        if shared:
            return text + candidate[shared:]
    return text + _inside_fence(text, more)


def restarts(text: str, more: str) -> bool:
    """Whether the continuation is the whole answer again."""
    start = text[:_RESTART]
    once = text.find(start, 1) < 0 and not _repeats_itself(start)
    return len(start.strip()) >= _SHORTEST_OVERLAP and more.startswith(start) and once


def overlap(text: str, more: str) -> int:
    """How many characters at the start of `more` are the end of `text` said again."""
    for size in range(min(len(text), len(more), _LONGEST_OVERLAP), 0, -1):
        if text.endswith(more[:size]):
            return size if _is_repetition(text, size) else 0
    return 0


def _is_repetition(text: str, size: int) -> bool:
    """Whether an overlap can be no accident, and no next turn of what the text repeats already."""
    shared, before = text[-size:], text[:-size]
    if before.endswith(shared) or _repeats_itself(shared):
        return False
    unfinished_line = (not before or before.endswith("\n")) and "\n" not in shared
    said = len(shared.strip())
    return said >= _SHORTEST_LINE if unfinished_line else size >= _SHORTEST_OVERLAP and said >= _SHORTEST_OVERLAP // 2


def _repeats_itself(text: str) -> bool:
    """Whether a text is one piece at least twice in a row, the last perhaps not whole."""
    return any(text.startswith(text[size:]) for size in range(1, len(text) // 2 + 1))


def _variants(more: str) -> Iterator[str]:
    """The continuation as it is, and without a fence that it opens again, first in it or after an explanation."""
    yield more
    opening = _FENCE_LINE.search(more)
    if opening and more.count("\n", 0, opening.start()) <= _EXPLANATION:
        yield more[opening.end() + 1 :]


def _inside_fence(text: str, more: str) -> str:
    """The continuation without a fence that it opens although one is open."""
    opening = _FENCE_LINE.search(more)
    if opening is None or more.count("\n", 0, opening.start()) > _EXPLANATION or not _fence_is_open(text):
        return more
    again = bool(opening[2].strip()) or len(_FENCE_LINE.findall(more)) % 2 == 0
    return more[opening.end() + 1 :] if again and _is_explanation(more[: opening.start()]) else more


def _is_explanation(text: str) -> bool:
    """Whether words before a fence are about it, and not code."""
    return not text.strip() or text.rstrip().endswith((":", "."))


def _fence_is_open(text: str) -> bool:
    opened: str | None = None
    for found in _FENCE_LINE.finditer(text):
        if opened is None:
            opened = found[1]
        elif found[1].startswith(opened) and not found[2].strip():
            opened = None
    return opened is not None
