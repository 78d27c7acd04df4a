"""Finds expressions in strings, and names in expressions, without understanding CEL beyond its tokens."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from engine.flow.suggestion import Hint

MOST = 100

_TOKEN = re.compile(
    r"""[rRbB]{0,2}(?P<quote>'''|\"\"\"|'|")"""  # where a string begins
    r"|(?P<name>[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)(?P<call>\s*\()?"
    r"|(?P<other>//[^\n]*|\d[\w.]*|\S)"
)


class ExpressionFault(Exception):
    """An expression that cannot be used; `offset` counts characters from the beginning of what was looked at."""

    def __init__(self, message: str, offset: int, hint: Hint | None = None) -> None:
        self.message, self.offset, self.hint = message, offset, hint
        super().__init__(message)

    def moved(self, by: int) -> ExpressionFault:
        """The same fault, counted from `by` characters earlier."""
        return ExpressionFault(self.message, self.offset + by, self.hint)


@dataclass(frozen=True)
class Reference:
    """A name that an expression uses, such as ("params", "qa", "max_rounds"), and where it stands in the text."""

    path: tuple[str, ...]
    offset: int
    in_has: bool = False


@dataclass(frozen=True)
class Piece:
    """A part of a string: plain text, or an expression without its `${` and `}`."""

    text: str
    start: int
    is_expression: bool


def split(text: str) -> Iterator[Piece]:
    """The pieces of a string. Raises ExpressionFault for a `${` without its `}`, and for more than MOST expressions."""
    position, count = 0, 0
    while position < len(text):
        start = text.find("${", position)
        count += 1
        if count > MOST:
            raise ExpressionFault(f"more than {MOST} expressions in one text", start)
        if start < 0:
            yield Piece(text[position:], position, False)
            return
        if start > position:
            yield Piece(text[position:start], position, False)
        end = _end(text, start + 2)
        yield Piece(text[start + 2 : end], start + 2, True)
        position = end + 1


def references(text: str, roots: Collection[str]) -> Iterator[Reference]:
    """The names in an expression that begin with one of the roots."""
    before = ""
    for kind, word, at in _tokens(text):
        if kind == "name" and before != ".":
            path = tuple(part.strip() for part in word.rstrip("(").split("."))
            if word.endswith("("):
                path = path[:-1]  # the last part is a function: state.tasks.exists(...)
            if path and path[0] in roots:
                yield Reference(path, at, in_has=before == "has(" and len(path) > 1)
        before = word


def _end(text: str, start: int) -> int:
    """Where the `}` of an expression stands."""
    depth = 0
    for kind, sign, at in _tokens(text, start):
        if kind != "other":
            continue
        if sign == "}" and not depth:
            return at
        depth += (sign == "{") - (sign == "}")
    raise ExpressionFault("an expression '${' without its '}'", start - 2)


def _tokens(text: str, start: int = 0) -> Iterator[tuple[str, str, int]]:
    """Strings, dotted names and other signs of CEL; a name that is called ends in "("."""
    position = start
    while found := _TOKEN.search(text, position):
        position = found.end()
        if found["quote"]:
            raw = "r" in found[0].lower()
            position = _after_string(text, position, found["quote"], raw)
            yield "string", text[found.start() : position], found.start()
        elif found["name"]:
            yield "name", found["name"] + ("(" if found["call"] else ""), found.start()
        else:
            yield "other", found["other"], found.start()


def _after_string(text: str, position: int, quote: str, raw: bool) -> int:
    while position < len(text):
        if text.startswith(quote, position):
            return position + len(quote)
        position += 2 if text[position] == "\\" and not raw else 1
    return len(text)
