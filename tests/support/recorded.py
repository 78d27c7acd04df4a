"""Answers a request over HTTP from a recording, found by its messages alone, as an endpoint would see them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.models.conversation import GO_ON
from engine.models.recording import read_recording
from engine.models.structured import INSTRUCTION


class RecordedAnswers:
    """What a recording says to a request's messages; what is asked to go on is given the rest of the answer."""

    def __init__(self, path: Path) -> None:
        self._answers: dict[tuple[tuple[str, str], ...], str] = {}
        for entry in read_recording(path).entries:
            asked = tuple((one.role, without_schema(one.content)) for one in entry.request.messages)
            assert self._answers.setdefault(asked, entry.answer.text) == entry.answer.text
        self.unknown: list[str] = []

    def __call__(self, body: Mapping[str, Any]) -> str:
        asked = tuple((one["role"], without_schema(one["content"])) for one in body["messages"])
        if asked[-1] == ("user", GO_ON):
            said = body["messages"][-2]["content"]
            whole = self._answers[asked[:-2]]
            assert whole.startswith(said)
            return whole[len(said) :]
        if asked not in self._answers:
            self.unknown.append(asked[-1][1])
        return self._answers.get(asked, "this was never asked")


def without_schema(text: str) -> str:
    """A message as it was before the client put a schema at its end."""
    return text.partition(INSTRUCTION)[0].rstrip()
