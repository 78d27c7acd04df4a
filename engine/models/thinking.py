"""The thoughts that some models write before their answer."""

from __future__ import annotations

import re

_NAMES = "think|thinking|thought|reasoning"
_OPENING = re.compile(rf"\s*<({_NAMES})>")
_CLOSING_LINE = re.compile(rf"^[ \t]*</({_NAMES})>[ \t]*(?:\n|\Z)", re.MULTILINE)


def without_thinking(text: str) -> str:
    """The answer without the thoughts at its beginning; empty when it is nothing but thoughts that were cut off.

    A tag further on is part of the answer. A closing tag without an opening one counts when it is alone on its line:
    there the endpoint's chat template wrote the opening one itself.
    """
    while opening := _OPENING.match(text):
        _, closing, text = text.partition(f"</{opening[1]}>")
        if not closing:
            return ""
    closed = _CLOSING_LINE.search(text)
    if closed and f"<{closed[1]}>" not in text[: closed.start()]:
        return text[closed.end() :]
    return text
