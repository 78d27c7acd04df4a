"""One gate for all calls to an endpoint, so that many callers at once do not run into its limits together.

What the limits are is learned: from the headers that endpoints send (requests and tokens that are left, and when they
are there again), from what an endpoint asks to wait, and from refusals, which halve how many calls may run at once;
each success lets that grow again.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

_MOST = 256
_LOOK = 0.05
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass
class Allowance:
    """What an endpoint still grants until `reset` (by the monotonic clock)."""

    limit: float
    remaining: float
    reset: float

    def wait(self, need: float, now: float) -> float:
        """Seconds until `need` is granted; what is more than the whole limit is not held back."""
        return max(self.reset - now, 0.0) if self.remaining < min(need, self.limit) else 0.0


class Limiter:
    """Lets calls pass while the endpoint takes them. Belongs to no event loop."""

    def __init__(self) -> None:
        self._allowances: dict[str, Allowance] = {}
        self._paused_until = 0.0
        self._running = 0
        self._most = float(_MOST)
        self._narrowed = 0.0

    @property
    def most(self) -> int:
        """How many calls may run at once now."""
        return max(int(self._most), 1)

    @property
    def allowances(self) -> Mapping[str, Allowance]:
        """What the endpoint said last that it grants, of requests and of tokens."""
        return dict(self._allowances)

    @asynccontextmanager
    async def call(self, tokens: int) -> AsyncIterator[None]:
        """Wait for a turn for a call of about so many tokens, and hold it."""
        while True:
            wait = self._wait(tokens, time.monotonic())
            if wait <= 0:
                break
            await asyncio.sleep(wait * random.uniform(1.0, 1.1))  # noqa: S311 - so that not all wake together
        self._running += 1
        self._take(tokens)
        try:
            yield
        finally:
            self._running -= 1

    def learn(self, headers: Mapping[str, str]) -> None:
        """Take in what a response says is left."""
        now = time.monotonic()
        for what in ("requests", "tokens"):
            limit, left = (_number(headers.get(f"x-ratelimit-{one}-{what}")) for one in ("limit", "remaining"))
            reset = seconds_of(headers.get(f"x-ratelimit-reset-{what}", ""))
            if limit is not None and left is not None and reset is not None:
                self._allowances[what] = Allowance(limit, left, now + reset)

    def refused(self, began: float, wait: float) -> None:
        """A call that began then was too much: hold all back for `wait` seconds, and let fewer run at once.

        Calls that were under way together count as one refusal.
        """
        now = time.monotonic()
        self._paused_until = max(self._paused_until, now + wait)
        if began >= self._narrowed:
            self._narrowed = now
            self._most = max(min(self._most, self._running + 1) / 2, 1.0)

    def succeeded(self) -> None:
        """A call went through."""
        self._most = min(self._most + 1 / self._most, _MOST)

    def _wait(self, tokens: int, now: float) -> float:
        need = {"requests": 1.0, "tokens": float(tokens)}
        waits = [one.wait(need[what], now) for what, one in self._allowances.items()]
        busy = _LOOK if self._running >= self.most else 0.0
        return max(self._paused_until - now, busy, *waits, 0.0)

    def _take(self, tokens: int) -> None:
        now = time.monotonic()
        self._allowances = {what: one for what, one in self._allowances.items() if one.reset > now}
        for what, allowance in self._allowances.items():
            allowance.remaining -= tokens if what == "tokens" else 1


def seconds_of(text: str) -> float | None:
    """A length of time as endpoints write it: "1.5", "6m0s", "120ms"; None if it is none."""
    text = text.strip().lower()
    number = _number(text)
    if number is not None:
        return number
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text)
    if not parts or "".join(f"{value}{unit}" for value, unit in parts) != text:
        return None
    return sum(float(value) * _UNITS[unit] for value, unit in parts)


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,15}(\.\d+)?", text) else None
