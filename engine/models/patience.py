"""How long failures of an endpoint are borne."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.models.failures import Kind


@dataclass(frozen=True)
class Patience:
    """How long failures are borne.

    tries    how often a request is sent that fails in one way, by the kind of failure
    first    seconds before the second try; it doubles with each
    longest  the longest such pause
    asked    the longest that an endpoint may ask to wait
    idle     how long an endpoint may say nothing in the middle of an answer
    unreached  how often at most, if the endpoint has never answered yet: then it is likely the address
    """

    tries: Mapping[Kind, int] = field(
        default_factory=lambda: {
            "rate_limit": 30,
            "server": 8,
            "connection": 8,
            "timeout": 3,
            "malformed": 5,
            "empty": 3,
        },
        hash=False,
    )
    first: float = 1.0
    longest: float = 60.0
    asked: float = 600.0
    idle: float = 600.0
    unreached: int = 3

    def pause(self, failures: int) -> float:
        """Seconds to wait after so many failures: exponential, with jitter."""
        pause: float = min(self.first * 2.0 ** (failures - 1), self.longest)
        return pause * random.uniform(0.5, 1.0)  # noqa: S311 - no secret is drawn here
