"""Lines of a paragraph that would begin something else, once they stand where they did not stand before."""

from __future__ import annotations

import re

_BLOCK_START = re.compile(
    r"#{1,6}(?:[ \t]|$)|```|~~~|>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|([-*_])[ \t]*(?:\1[ \t]*){2,}$|=+$|-+$"
    r"|<(?:[A-Za-z][\w-]*[\s>/]|[/!?])"
)
_DEFINITION = re.compile(r"\[[^\]\n]{1,999}\]:")
_NUMBERED = re.compile(r"(\d{1,9})[.)]")


def escape_line(line: str, *, first: bool = False) -> str:
    """The line with a backslash before what would begin a heading, a list, code, a quote, HTML.

    `first` says that it is the first one of its paragraph, where it could define a link too.
    """
    if first and _DEFINITION.match(line):
        return "\\" + line
    if not _BLOCK_START.match(line):
        return line
    number = _NUMBERED.match(line)
    return f"{number[1]}\\{line[number.end(1) :]}" if number else "\\" + line
