"""A measured figure beside its target, and the table of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    unit    "x" for a ratio, else what the value counts
    target  the most that it should be, or None where none is set
    detail  what the ratio was made of
    """

    what: str
    value: float
    unit: str = "x"
    target: float | None = None
    detail: str = ""

    @property
    def met(self) -> bool:
        """Whether the figure keeps to its target."""
        return self.target is None or self.value <= self.target

    def cells(self) -> tuple[str, str, str, str]:
        """What is shown: what was measured, its value, the target, details."""
        target = "" if self.target is None else f"<= {self.target:g} {self.unit}"
        value = f"{self.value:.3g} {self.unit}" if self.value < 100 else f"{self.value:.0f} {self.unit}"
        return self.what, value, target + ("" if self.met else " **missed**"), self.detail


@dataclass(frozen=True)
class Skipped:
    """What could not be measured here, and why."""

    what: str
    why: str

    def cells(self) -> tuple[str, str, str, str]:
        """What is shown of it."""
        return self.what, "-", "", self.why


HEAD = ("what", "measured", "target", "of")


def table(figures: Sequence[Figure | Skipped]) -> str:
    """The figures as a Markdown table whose columns are as wide as what is in them."""
    rows = [HEAD, *(one.cells() for one in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
