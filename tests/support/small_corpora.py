"""Corpora for tests: an embedder without a model, and repositories made of a few words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from engine.retrieval.base import Chunk
from engine.retrieval.vectors import unit_rows

Repository = tuple[str, str, list[Chunk]]


@dataclass(frozen=True)
class WordEmbedder:
    """A text's vector is the sum of its words' random ones: texts with common words are near each other."""

    name: str = "words"
    dimension: int = 32

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), self.dimension), np.float32)
        for number, text in enumerate(texts):
            for word in text.lower().split():
                rows[number] += _vector(word, self.dimension)
        return unit_rows(rows)


@cache
def _vector(word: str, dimension: int) -> NDArray[np.float32]:
    seed = hashlib.sha256(word.encode("utf-8", "replace")).digest()
    return np.random.default_rng(int.from_bytes(seed[:8], "big")).normal(size=dimension).astype(np.float32)


def repository(name: str, *texts: str, digest: str = "1") -> Repository:
    chunks = [Chunk(name, f"pypi:{name}", "MIT", "readme", part, text) for part, text in enumerate(texts)]
    return name, digest, chunks
