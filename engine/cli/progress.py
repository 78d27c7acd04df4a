"""What a run is doing, a line at a time."""

from __future__ import annotations

import time
from typing import Any

import click

from engine.cli.plain import plain


class Progress:
    """Turns events into lines: seconds since the start, node, what happened."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = {
            "node started": self._node,
            "item finished": self._item,
            "item failed": self._failed,
            "note": self._note,
            "retry": self._retry,
            "model retry": self._retry,
            "model workaround": self._what,
            "model warning": self._what,
            "replay drift": self._drift,
            "budget exceeded": self._retry,
            "requirement failed": self._requirement,
        }

    def show(self, event: dict[str, Any]) -> None:
        """Print an event if a person would want to see it."""
        show = self._shown.get(event["kind"])
        if show is not None:
            show(event)

    def _line(self, name: str, text: str) -> None:
        click.echo(plain(f"{time.monotonic() - self._began:7.1f}s  {name:<12} {text}"))

    def _node(self, event: dict[str, Any]) -> None:
        again = f" (visit {event['visit']})" if event["visit"] > 1 else ""
        self._line(event["node"], f"started{again}")

    def _item(self, event: dict[str, Any]) -> None:
        self._line(event["node"], f"{event['item']} done")

    def _failed(self, event: dict[str, Any]) -> None:
        self._line(event["node"], f"{event['item']} failed: {event['why']}")

    def _note(self, event: dict[str, Any]) -> None:
        self._line(event["place"].partition("#")[0].partition("/")[0], event["text"])

    def _retry(self, event: dict[str, Any]) -> None:
        self._line(event.get("node") or event["kind"], str(event.get("why", "")))

    def _what(self, event: dict[str, Any]) -> None:
        self._line("model", event["what"])

    def _drift(self, event: dict[str, Any]) -> None:
        self._line("model", f"{event['place']}: a recorded answer to another question serves; this shows nothing of it")

    def _requirement(self, event: dict[str, Any]) -> None:
        self._line("sandbox", f"{event['name']} cannot be installed: {event['reason']}")
