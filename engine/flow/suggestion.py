"""What a misspelt name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_MOST = 500  # comparing is slow: of more names, those that begin alike are looked at


@dataclass(frozen=True)
class Hint:
    """The end of a message about an unknown name. Looking for a close name takes time, so it waits until it is read.

    otherwise  what is said when no known name is close
    """

    wrong: str
    known: Iterable[str]
    otherwise: str = ""

    def __str__(self) -> str:
        return suggestion(self.wrong, self.known) or self.otherwise


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """The end of a message that offers the closest of the known names; nothing when none is close."""
    close = closest(wrong, known)
    return f". Did you mean '{close}'?" if close else ""


def closest(wrong: str, known: Iterable[str]) -> str | None:
    """The known name that is most like a wrong one, if any is like it."""
    from difflib import get_close_matches

    names = sorted(set(known))
    lower = {name.lower(): name for name in names}
    if wrong.lower() in lower:
        return lower[wrong.lower()]
    for length in (1, 2, 3) if len(names) > _MOST else ():
        names = [name for name in names if name.startswith(wrong[:length])] or names
    close = get_close_matches(wrong[:100], names[:_MOST], n=1, cutoff=0.6)
    return close[0] if close else None
