"""A model that answers from a recording, and says what differs when it cannot."""

from __future__ import annotations

import difflib
import json
import os.path
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

from engine.errors import ReplayMiss
from engine.models.base import Answer, Request, digest
from engine.models.events import OnEvent, no_event
from engine.models.recording import Entry, read_recording

Drift = Literal["refuse", "warn"]
_DIFF_LINES = 24
_LONGEST_LINE = 160
_BEFORE = 40  # characters that are shown before a difference


class ReplayModel:
    """Serves recorded answers; its name is the recorded model's, so that a replayed run keeps the journal's keys.

    Everything in a request must match, but the model's name: a recording of several models is replayed by one.
    `drift="warn"` also takes the nearest answer of the same place; `drifted` lists those places in order, and each is
    an event "replay drift".
    Raises InputError if the recording is missing or broken.
    """

    def __init__(self, path: Path, *, drift: Drift = "refuse", on_event: OnEvent = no_event) -> None:
        recording = read_recording(path)
        self.name = recording.model
        self.drifted: list[str] = []
        self._path = path
        self._drift = drift
        self._on_event = on_event
        self._places: dict[str, list[Entry]] = {}
        self._exact: dict[str, Entry] = {}
        own_first = sorted(recording.entries, key=lambda one: one.request.model != recording.model)
        for entry in own_first:
            self._exact.setdefault(_key(entry.request), entry)
        for entry in recording.entries:
            self._places.setdefault(entry.request.place, []).append(entry)

    async def answer(self, request: Request) -> Answer:
        """The recorded answer. Raises ReplayMiss with what differs from the nearest recorded request."""
        entry = self._exact.get(_key(request))
        if entry is not None:
            return entry.answer
        same_place = self._places.get(request.place, [])
        if same_place and self._drift == "warn":
            self.drifted.append(request.place)
            self._on_event("replay drift", {"place": request.place})
            return replace(_nearest(request, same_place).answer, drifted=True)
        raise ReplayMiss(self._explain(request, same_place))

    async def close(self) -> None:
        """Nothing to give back."""

    def _explain(self, request: Request, same_place: list[Entry]) -> str:
        head = f"{self._path}: no recorded answer for {request.place}"
        others = same_place or [one for entries in self._places.values() for one in entries]
        if not others:
            return f"{head}: the recording is empty"
        nearest = _nearest(request, others).request
        difference = _difference(nearest, request)
        if same_place:
            why = "What was recorded there answers another question"
            advice = "Record again with --record, or accept answers to changed questions with --replay-drift=warn."
        else:
            why = f"Nothing was recorded there; the nearest question is that of {nearest.place}"
            advice = "The flow asks at other places than the recorded one: record again with --record."
        return f"{head}. {why}; what differs:\n{difference}\n{advice}"


def _key(request: Request) -> str:
    data = request.to_json()
    del data["model"]
    return digest(data)


def _nearest(request: Request, entries: Iterable[Entry]) -> Entry:
    """The most alike recorded request; of equals the first."""
    wanted = set(_lines(request))

    def likeness(entry: Entry) -> tuple[bool, bool, bool, float]:
        other = entry.request
        lines = set(_lines(other))
        return (
            other.sample == request.sample,
            (other.schema is None) == (request.schema is None),
            len(other.messages) == len(request.messages),
            len(wanted & lines) / max(len(wanted | lines), 1),
        )

    return max(entries, key=likeness)


def _difference(recorded: Request, asked: Request) -> str:
    """A short unified diff of two requests as text."""
    diff = difflib.unified_diff(_lines(recorded), _lines(asked), "recorded", "asked", lineterm="", n=1)
    lines = list(islice(diff, _DIFF_LINES + 1))
    shown = [_cut(line, _counterpart(lines, number)) for number, line in enumerate(lines)]
    if len(shown) > _DIFF_LINES:
        shown[-1] = "…"
    return "\n".join(f"    {line}" for line in shown)


def _counterpart(lines: list[str], number: int) -> str:
    """The line of the other text that stands in the place of this one: the most like it near by, or an empty one."""
    sign = lines[number][:1]
    other = {"-": "+", "+": "-"}.get(sign)
    near = [one for one in lines[max(number - _DIFF_LINES, 0) : number + _DIFF_LINES] if one[:1] == other]
    return max(near, key=lambda one: _common(one, lines[number]), default="")


def _common(one: str, other: str) -> int:
    """How many characters after the sign are the same in both."""
    return len(os.path.commonprefix([one[1:], other[1:]]))  # noqa: RUF071 - of characters


def _cut(line: str, counterpart: str) -> str:
    """A line short enough to be read, from a little before where it begins to differ."""
    start = max(_common(line, counterpart) - _BEFORE, 0) if len(line) > _LONGEST_LINE and counterpart else 0
    sign, text = line[:1], line[1:]
    before, after = "…" if start else "", "…" if len(text) > start + _LONGEST_LINE else ""
    return f"{sign}{before}{text[start : start + _LONGEST_LINE]}{after}"


def _lines(request: Request) -> list[str]:
    data = request.to_json()
    lines = [f"place: {request.place}", f"sample: {request.sample}"]
    lines += [f"{name}: {value}" for name, value in data["decoding"].items()]
    for message in request.messages:
        lines += [f"=== {message.role} ===", *message.content.splitlines()]
    if request.schema is not None:
        lines += ["=== schema ===", *json.dumps(request.schema, indent=1, sort_keys=True).splitlines()]
    return lines
