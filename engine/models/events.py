"""How a model tells what happened between a request and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

OnEvent = Callable[[str, Mapping[str, Any]], None]


def no_event(kind: str, data: Mapping[str, Any]) -> None:
    """Nobody listens."""
