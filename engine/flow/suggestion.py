"""What a misspelt name was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable


def suggestion(wrong: str, known: Iterable[str]) -> str:
    r"""Did you mean 'next'?", or nothing when no known name is close."""
    from difflib import get_close_matches

    names = sorted(set(known))
    lower = {name.lower(): name for name in names}
    if wrong.lower() in lower:
        return f" Did you mean '{lower[wrong.lower()]}'?"
    close = get_close_matches(wrong[:100], names[:20_000], n=1, cutoff=0.6)
    return f" Did you mean '{close[0]}'?" if close else ""
