"""What a corpus holds and what a search gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Mode = Literal["vector", "text", "hybrid"]


@dataclass(frozen=True)
class Chunk:
    """A piece of text about a repository.

    repository  unique in its corpus, such as "click 8.5.1"
    origin      where it came from ("pypi:click==8.5.1", a URL); licence  as its metadata say, "" if unknown
    kind        what the text is: "readme", "tree", "manifest", "roles", "interfaces"
    part        its number among the repository's chunks, from 0
    """

    repository: str
    origin: str
    licence: str
    kind: str
    part: int
    text: str


@dataclass(frozen=True)
class Hit:
    """A found chunk. `score` orders the hits of one search; `similarity` is the cosine to the query, in -1..1."""

    chunk: Chunk
    score: float
    similarity: float


class Embedder(Protocol):
    """Turns texts into unit vectors of one length."""

    @property
    def name(self) -> str:
        """Identifies model and version; a corpus is searched only with the embedder that it was built with."""

    @property
    def dimension(self) -> int:
        """The vectors' length."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, of length 1 (a text without a known word: zeros). Raises ModelError."""
