"""Makers of chunks for tests of building: quick, slow, and such that bring their process down."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import InputError
from engine.retrieval.base import Chunk
from engine.retrieval.making import Made


class Lenient:
    """A screen that keeps out what says "secret", and a second of one name without its version."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def judge(self, chunks: Sequence[Chunk]) -> str:
        name = chunks[0].repository.partition(" ")[0]
        if "secret" in chunks[0].text:
            return "it is secret"
        if name in self.kept:
            return f"the same as {self.kept[name]}"
        self.kept[name] = chunks[0].repository
        return ""

    def forget(self, repository: str) -> None:
        self.kept.pop(repository.partition(" ")[0], None)

    def leaks(self, chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
        return [("all", "it is secret")] if "secret" in chunks[0].text else []


class ScriptedMaker:
    """Sources are `what:name:text`; `what` says what becomes of it."""

    chunks_each = 1
    seconds = 0.0

    def __init__(self, targets: Path | None = None, **thresholds: float) -> None:
        self.chunking: Mapping[str, Any] = {}

    def expand(self, sources: Sequence[str]) -> list[str]:
        return list(sources)

    def screen(self) -> Lenient:
        return Lenient()

    def make(self, source: str, digests: Mapping[str, str]) -> Made:
        what, name, text = source.split(":")
        time.sleep(self.seconds)
        if what == "bad":
            raise InputError(text)
        if what == "bug":
            raise ValueError(text)
        if what == "die":
            os._exit(3)
        if what == "memory":
            bytearray(2**42)
        if digests.get(name) == text:
            return Made(name, text, files=1)
        if what == "fork":
            return Made(name, text, (), "a fork", 1)
        origin = f"origin:{name.replace(' ', '==')}"
        chunks = (Chunk(name, origin, "", "readme", part, f"{text} {part}") for part in range(self.chunks_each))
        return Made(name, text, tuple(chunks), files=1)


class SlowMaker(ScriptedMaker):
    """One that gives time to be killed, and chunks enough to be written in between."""

    chunks_each = 200
    seconds = 0.05
