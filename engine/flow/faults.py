"""Gathers what is wrong with a flow, each with its place, so that all of it is said at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.errors import Diagnostic, FlowError
from engine.flow.expressions import ExpressionFault
from engine.flow.layers import Layers
from engine.flow.source import Keys, Source, Spot
from engine.flow.structure import context

MOST = 200


@dataclass
class Faults:
    """The faults found so far."""

    layers: Layers
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, path: Keys, message: str, *, key: bool = False) -> None:
        """A fault of the value at a path, or with `key` of the key there."""
        source, spot = self.layers.origin(path)
        line, column = (spot.key_line, spot.key_column) if key else (spot.line, spot.column)
        self.found.append(source.diagnostic(message, line, column))

    def add_expression(self, path: Keys, text: str, fault: ExpressionFault) -> None:
        """A fault of an expression: its place inside the string at a path."""
        source, spot = self.layers.origin(path)
        line, column = _inside(source, spot, text, fault.offset)
        self.found.append(source.diagnostic(context(path) + fault.message, line, column))

    def raise_all(self) -> None:
        """Raise FlowError if there is any fault: in the order of the file, the same said once."""
        if self.found:
            order = {source.name: number for number, source in enumerate(self.layers.sources)}
            unique = sorted(
                set(self.found), key=lambda one: (order.get(one.file, -1), one.line, one.column, one.message)
            )
            raise FlowError(shortened(unique))


def shortened(found: list[Diagnostic]) -> list[Diagnostic]:
    """Not more than can be read."""
    if len(found) <= MOST:
        return found
    last = found[MOST]
    rest = Diagnostic(last.file, last.line, last.column, f"and {len(found) - MOST} faults more")
    return [*found[:MOST], rest]


def _inside(source: Source, spot: Spot, text: str, offset: int) -> tuple[int, int]:
    """Line and column of a character of a scalar; the scalar's beginning when it is not written as it reads."""
    for shift in (0, 1):  # plain, quoted
        if source.text.startswith(text, spot.index + shift):
            return source.at(spot.index + shift + offset)
    first = text.split("\n")[0][: offset + 1]
    found = source.text.find(first.strip(), spot.index) if first.strip() else -1
    return (
        source.at(found)
        if 0 <= found < spot.index + 2 * len(text) + 100 and offset < len(first)
        else (spot.line, spot.column)
    )
