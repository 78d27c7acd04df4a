"""What makes the chunks of a corpus out of sources. The engine knows none itself: one is found by its import path."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from engine.errors import InputError
from engine.retrieval.base import Chunk


@dataclass(frozen=True)
class Made:
    """What became of one source.

    repository  what the corpus calls it; `digest` tells whether it changed
    chunks      None when the corpus has it, with this digest, already
    excluded    why it must not be in a corpus, or ""
    files       how many of its files were read
    """

    repository: str
    digest: str
    chunks: tuple[Chunk, ...] | None = None
    excluded: str = ""
    files: int = 0


class Screen(Protocol):
    """Judges repositories one after the other."""

    def judge(self, chunks: Sequence[Chunk]) -> str:
        """Why a repository must not be in the corpus; "" lets it in, and later ones are compared with it."""

    def forget(self, repository: str) -> None:
        """Take back that a repository was let in."""

    def leaks(self, chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
        """Which targets a repository overlaps, and each reason."""


class Maker(Protocol):
    """Turns sources into repositories and their chunks. It is sent to worker processes."""

    def expand(self, sources: Sequence[str]) -> list[str]:
        """The sources of single repositories, each once. Raises InputError for one that is none."""

    def make(self, source: str, digests: Mapping[str, str]) -> Made:
        """Read one source; `digests` are those of the corpus, by repository. Raises InputError."""

    def screen(self) -> Screen:
        """A new screen."""

    @property
    def chunking(self) -> Mapping[str, Any]:
        """How texts are cut, for the corpus's record."""


def open_maker(call: str, targets: Path | None = None, **thresholds: float) -> Maker:
    """The maker at an import path `module:name`, called with a list of targets. Raises InputError."""
    module, _, name = call.partition(":")
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"--maker {call}: cannot be imported: {error}") from error
    maker: Maker = make(targets, **thresholds)
    return maker
