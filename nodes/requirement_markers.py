"""Markers of the requirements document as sketches use them: found again, and checked for cover."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nodes.preprocessing.sections import slug


class Markers:
    """The markers of a document (schemas/document.schema.json)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._sections: Sequence[Mapping[str, Any]] = document["sections"]
        self._known = {one["marker"] for one in self._sections}
        self._by_heading = {slug(one["heading"]): one["marker"] for one in reversed(self._sections)}

    def resolve(self, text: str) -> str | None:
        """The marker that a sketch means: written `usage`, `{#usage}`, or as the heading's words."""
        name = text.strip().strip("{}#[] ")
        return name if name in self._known else self._by_heading.get(slug(name.rpartition("/")[2]))

    def uncovered(self, implemented: Iterable[str]) -> list[str]:
        """The sections below the title that no marker covers: neither their own nor one of a section above them."""
        covered = {self.resolve(one) for one in implemented}
        missing: list[str] = []
        above: list[tuple[int, bool]] = []
        for section in self._sections:
            if section["level"] < 2:
                above = []
                continue
            while above and above[-1][0] >= section["level"]:
                above.pop()
            there = section["marker"] in covered or any(one for _, one in above)
            above.append((section["level"], there))
            if not there:
                missing.append(section["marker"])
        return missing

    @property
    def sections(self) -> int:
        """How many sections there are below the title."""
        return sum(one["level"] > 1 for one in self._sections)
