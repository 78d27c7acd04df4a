"""What a run may spend. Checked before each model call with the most that it could cost, settled after it.

What was spent comes from the journal, so a resumed run goes on counting where it was.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from engine.errors import BudgetExceeded
from engine.journal import WALL, Journal, Totals
from engine.places import read_place


class Budget:
    """The limits of a run: tokens, calls, cost (US dollars), wall (seconds that the run was running).

    `limits` may also hold "nodes": tokens, calls and cost of single nodes.
    """

    def __init__(self, limits: Mapping[str, Any], journal: Journal) -> None:
        self.on_exceeded: Literal["finish", "pause", "fail"] = limits.get("on_exceeded", "finish")
        self._limits = {_RUN: limits, **limits.get("nodes", {})}
        self._journal = journal
        self._spent: dict[str, Counter[str]] = defaultdict(Counter)
        self._reserved: dict[str, Counter[str]] = defaultdict(Counter)
        for place, totals in journal.totals_by_place("model").items():
            self._count(read_place(place).node, totals)
        self._earlier = float(journal.meta(WALL, "0"))
        self._started = time.monotonic()

    @contextmanager
    def call(self, node: str, most_tokens: int) -> Iterator[None]:
        """Around a model call that may take up to `most_tokens`; raises BudgetExceeded when that could be too much."""
        asked = Counter({"tokens": most_tokens, "calls": 1})
        for owner in _owners(node):
            self._check(owner, asked)
        for owner in _owners(node):
            self._reserved[owner] += asked
        try:
            yield
        finally:
            for owner in _owners(node):
                self._reserved[owner] -= asked

    def settle(self, node: str, totals: Totals) -> None:
        """Count calls. A reused answer counts like a new one, so that paired runs end at the same point."""
        self._count(node, totals)
        self.save()

    def save(self) -> None:
        """Keep the time the run has been running, for a resume."""
        self._journal.set_meta(WALL, f"{self.wall:.3f}")

    @property
    def wall(self) -> float:
        """Seconds that this run has been running, over all its processes."""
        return self._earlier + time.monotonic() - self._started

    @property
    def spent(self) -> Mapping[str, float]:
        """What was spent, by limit name."""
        return {name: self._used(_RUN, name) for name in ("tokens", "calls", "cost", "wall")}

    def _count(self, node: str, totals: Totals) -> None:
        for owner in _owners(node):
            self._spent[owner].update({"tokens": totals.tokens, "calls": totals.count, "cost": totals.cost})

    def _used(self, owner: str, name: str) -> float:
        return self.wall if name == "wall" else self._spent[owner][name]

    def _check(self, owner: str, asked: Mapping[str, float]) -> None:
        for name in ("tokens", "calls", "cost", "wall"):
            limit = self._limits.get(owner, {}).get(name)
            if limit is None:
                continue
            used = self._used(owner, name)
            if used + self._reserved[owner][name] + asked.get(name, 0) > limit or used >= limit:
                raise BudgetExceeded(f"{name} of node '{owner}'" if owner else name, limit, used)


_RUN = ""


def _owners(node: str) -> tuple[str, str]:
    """Whose limits a node's call counts against: the run's, and those of the flow's own node that it belongs to."""
    return _RUN, node.partition(".")[0]
