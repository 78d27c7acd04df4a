"""Gathers what is wrong with a flow, each with its place, so that all of it is said at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.errors import Diagnostic, FlowError
from engine.flow.layers import Layers
from engine.flow.scanner import ExpressionFault
from engine.flow.source import Keys, Source, Spot
from engine.flow.structure import context
from engine.flow.suggestion import Hint

MOST = 200


@dataclass(frozen=True)
class Fault:
    """One fault: in a source of the flow, at a line and column that count from 0."""

    source: Source
    line: int
    column: int
    message: str
    hint: Hint | None = None

    def diagnostic(self) -> Diagnostic:
        """The fault as it is shown."""
        return self.source.diagnostic(f"{self.message}{self.hint or ''}", self.line, self.column)


@dataclass
class Faults:
    """The faults found so far. `others` are those of other files: schemas and subflows."""

    layers: Layers
    found: list[Fault] = field(default_factory=list)
    others: list[Diagnostic] = field(default_factory=list)

    def add(self, path: Keys, message: str, *, key: bool = False, hint: Hint | None = None) -> None:
        """A fault of the value at a path, or with `key` of the key there."""
        source, spot = self.layers.origin(path)
        line, column = (spot.key_line, spot.key_column) if key else (spot.line, spot.column)
        self.found.append(Fault(source, line, column, message, hint))

    def add_expression(self, path: Keys, fault: ExpressionFault) -> None:
        """A fault of an expression: its place inside the string at a path."""
        source, spot = self.layers.origin(path)
        found = source.find(path)
        text = found[0] if found else None
        line, column = _inside(source, spot, text, fault.offset) if isinstance(text, str) else (spot.line, spot.column)
        self.found.append(Fault(source, line, column, context(path) + fault.message, fault.hint))

    def __bool__(self) -> bool:
        return bool(self.found or self.others)

    def diagnostics(self) -> list[Diagnostic]:
        """All of them in the order of the files, the same said once, not more than can be read."""
        order = {id(source): number for number, source in enumerate(self.layers.sources)}
        ranked = sorted(self.found, key=lambda one: (order.get(id(one.source), -1), one.line, one.column))
        shown = _unique([*(one.diagnostic() for one in ranked[:MOST]), *self.others])
        left_out = max(len(ranked) - MOST, 0) + max(len(shown) - MOST, 0)
        if not left_out:
            return shown
        last = shown[: MOST - 1][-1]
        return [*shown[:MOST], Diagnostic(last.file, last.line, last.column, f"and {left_out} faults more")]

    def raise_all(self) -> None:
        """Raise FlowError if there is any fault."""
        if self:
            raise FlowError(self.diagnostics())


def _unique(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return list(dict.fromkeys(diagnostics))


def _inside(source: Source, spot: Spot, text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character of a scalar; the scalar's beginning where it is not written as it reads.

    However the scalar is folded or indented, its characters but the spaces stand in the file in the same order.
    """
    file = source.text
    at = spot.index
    if file[at : at + 1] in "|>":
        at = file.find("\n", at)
    elif file[at : at + 1] in "\"'":
        at += 1
    for character in text[:offset]:
        if character.isspace():
            continue
        at = _next_visible(file, at)
        if file[at : at + 1] != character:
            return spot.line, spot.column
        at += 1
    return source.at(_next_visible(file, at) if text[offset : offset + 1].strip() else at)


def _next_visible(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
