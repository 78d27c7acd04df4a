"""One document as read: plain data, and where each part of it stands."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.errors import Diagnostic
from engine.flow.model import Place

Keys = tuple[str | int, ...]

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_WIDEST = 200


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a key and its value begin, counted from 0; `index` counts characters of the text."""

    key_line: int
    key_column: int
    line: int
    column: int
    index: int


@dataclass(frozen=True)
class Source:
    """A document and the places of its parts.

    name   what messages call it: a path, or the option of the command line
    path   the file, or None for the command line
    spots  per container (by identity) and key or index
    root   where the document begins
    """

    name: str
    path: Path | None
    text: str
    data: dict[str, Any]
    spots: dict[int, dict[str | int, Spot]] = field(default_factory=dict, repr=False)
    root: Spot = Spot(0, 0, 0, 0, 0)

    def find(self, path: Keys) -> tuple[Any, Spot] | None:
        """The value at a path and its spot; None when the document has no such path."""
        value: Any = self.data
        spot = self.root
        for step in path:
            inside = self.spots.get(id(value), {})
            if step not in inside:
                return None
            value, spot = value[step], inside[step]
        return value, spot

    def place(self, line: int, column: int) -> Place:
        """A place of this source from counts that begin at 0."""
        return Place(self.name, line + 1, column + 1)

    def line(self, number: int) -> str:
        """The line with this number (from 1) as it can be shown, or nothing."""
        if not 0 < number <= len(self._starts):
            return ""
        start = self._starts[number - 1]
        end = _BREAK.search(self.text, start)
        line = _UNSEEN.sub(" ", self.text[start : end.start() if end else None])
        return line if len(line) <= _WIDEST else line[:_WIDEST] + " ..."

    def at(self, index: int) -> tuple[int, int]:
        """Line and column (from 0) of a character."""
        line = bisect_right(self._starts, index) - 1
        return line, index - self._starts[line]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _BREAK.finditer(self.text))]

    def diagnostic(self, message: str, line: int, column: int) -> Diagnostic:
        """A fault at a line and column that count from 0."""
        snippet = self.line(line + 1) if column <= _WIDEST else ""
        return Diagnostic(self.name, line + 1, column + 1, message, snippet)


def display(path: Path) -> str:
    """A path as messages show it: relative when it lies below the working directory."""
    whole = absolute(path)
    return str(whole.relative_to(Path.cwd())) if whole.is_relative_to(Path.cwd()) else str(path)


def absolute(path: Path) -> Path:
    """A path from the root. A link stays one: it is a name of its own, and `resolve` fails for links in a circle."""
    return Path(os.path.abspath(path))  # noqa: PTH100
