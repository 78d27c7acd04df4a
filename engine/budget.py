"""What a run may spend. Checked before each model call with the most that it could cost, settled after it.

What was spent comes from the journal, so a resumed run goes on counting where it was.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from engine.errors import BudgetExceeded
from engine.journal import WALL, Journal


class Budget:
    """The limits of a run: tokens, calls, cost (US dollars), wall (seconds that the run was running)."""

    def __init__(self, limits: Mapping[str, Any], journal: Journal) -> None:
        self.on_exceeded: Literal["finish", "pause", "fail"] = limits.get("on_exceeded", "finish")
        self._limits = {
            name: limits[name] for name in ("tokens", "calls", "cost", "wall") if limits.get(name) is not None
        }
        self._journal = journal
        spent = journal.totals("model")
        self._spent: dict[str, float] = {"tokens": spent.tokens, "calls": spent.count, "cost": spent.cost}
        self._reserved: dict[str, float] = {"tokens": 0, "calls": 0}
        self._earlier = float(journal.meta(WALL, "0"))
        self._started = time.monotonic()

    @contextmanager
    def call(self, most_tokens: int) -> Iterator[None]:
        """Around a model call that may take up to `most_tokens`; raises BudgetExceeded when that could be too much."""
        asked: dict[str, float] = {"tokens": most_tokens, "calls": 1}
        self._check(asked)
        for name, amount in asked.items():
            self._reserved[name] += amount
        try:
            yield
        finally:
            for name, amount in asked.items():
                self._reserved[name] -= amount

    def settle(self, tokens: int, cost: float) -> None:
        """Count one call. A reused answer counts like a new one, so that paired runs end at the same point."""
        self._spent["tokens"] += tokens
        self._spent["cost"] += cost
        self._spent["calls"] += 1
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
        return {**self._spent, "wall": self.wall}

    def _check(self, asked: Mapping[str, float]) -> None:
        for name, limit in self._limits.items():
            used = self.wall if name == "wall" else self._spent[name]
            if used + self._reserved.get(name, 0) + asked.get(name, 0) > limit or used >= limit:
                raise BudgetExceeded(name, limit, used)
