"""The order of hits: by score, made one from several searches, at most one of each repository."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.retrieval.base import Chunk, Hit

RRF_CONSTANT = 60  # Cormack, Clarke and Buettcher 2009


def ranked(hits: Iterable[Hit]) -> list[Hit]:
    """Best first; equal ones by repository and part."""
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.repository, hit.chunk.part))


def fused(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Reciprocal rank fusion: a hit scores 1 / (60 + its rank) in each ranking that holds it."""
    scores: dict[Chunk, float] = {}
    similarity: dict[Chunk, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.chunk] = scores.get(hit.chunk, 0.0) + 1 / (RRF_CONSTANT + rank)
            similarity[hit.chunk] = hit.similarity
    return ranked(Hit(chunk, score, similarity[chunk]) for chunk, score in scores.items())


def distinct(hits: Iterable[Hit]) -> list[Hit]:
    """The first hit of each repository."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.chunk.repository, hit)
    return list(first.values())
