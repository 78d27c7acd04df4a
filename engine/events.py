"""events.jsonl: one line per event, in the order things happened, and whoever wants to listen."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Listener = Callable[[dict[str, Any]], None]


class EventLog:
    """Appends events to a file and hands them to listeners."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", errors="surrogateescape")
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call `listener` with every event from now on."""
        self._listeners.append(listener)

    def emit(self, kind: str, **data: Any) -> None:
        """Write one event; `at` is seconds since the epoch."""
        event = {"at": round(time.time(), 3), "kind": kind, **data}
        self._file.write(json.dumps(event, ensure_ascii=True, default=str) + "\n")
        self._file.flush()
        for listener in list(self._listeners):
            try:
                listener(event)
            except OSError:  # nobody reads the output any more; the run goes on without it
                self._listeners.remove(listener)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
