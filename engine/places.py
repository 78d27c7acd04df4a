"""Places: where in a run an effect is made, as text. `develop/src/core.py#2:complete` is node, item, visit, call."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLACE = re.compile(r"([^/#]+)(?:/(.*))?#(\d+)(?:~(\d+))?(?::(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """One place.

    visit  which visit of the node, from 1
    rerun  how often the user asked to have the node's work done anew, so that its answers are new too
    step   which of the node's calls, where it makes several
    """

    node: str
    visit: int
    item: str | None = None
    step: str = ""
    rerun: int = 0

    def __str__(self) -> str:
        item = "" if self.item is None else f"/{self.item}"
        rerun = f"~{self.rerun}" if self.rerun else ""
        return f"{self.node}{item}#{self.visit}{rerun}" + (f":{self.step}" if self.step else "")


def read_place(text: str) -> Place:
    """A place from its text."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ValueError(f"not a place: {text!r}")
    node, item, visit, rerun, step = found.groups()
    return Place(node, int(visit), item, step or "", int(rerun or 0))
