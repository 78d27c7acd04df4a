"""A measured figure beside its target, and the table of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    unit    "x" for a ratio, else what the value counts
    target  the most that it should be (with `at_least`, the least), or None where none is set
    detail  what the ratio was made of
    """

    what: str
    value: float
    unit: str = "x"
    target: float | None = None
    at_least: bool = False
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether the figure keeps to its target."""
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    def cells(self) -> tuple[str, str, str, str]:
        """What is shown: what was measured, its value, the target, details."""
        sign = ">=" if self.at_least else "<="
        target = "" if self.target is None else f"{sign} {self.target:g} {self.unit}"
        value = f"{self.value:.3g} {self.unit}" if self.value < 100 else f"{self.value:.0f} {self.unit}"
        return self.what, value, target + ("" if self.met else " **missed**"), self.detail


HEAD = ("what", "measured", "target", "of")


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table whose columns are as wide as what is in them."""
    rows = [HEAD, *(one.cells() for one in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
