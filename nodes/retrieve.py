"""Retrieves design references for the architects from a corpus of the user's (CodeTeam, 3.2.3 and 3.3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from engine.context import Context
from engine.errors import InputError
from engine.node import node
from nodes.references.compact import compact_text
from nodes.references.filters import Candidate, Filters
from nodes.references.readme import summarise
from nodes.references.settings import Settings

if TYPE_CHECKING:
    from engine.retrieval.base import Hit, Mode
    from engine.retrieval.corpus import Corpus

_SPARE = 4  # candidates looked at for each reference that is wanted


@node(reads=("document",), writes=("references",), params=("rag",))
async def design_references(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The best references of distinct repositories, and what was left out and why; none where there is no corpus.

    Raises InputError for parameters that do not fit, and for a corpus that is required and not there.
    """
    settings, document = Settings.read(ctx.params["rag"]), inputs["document"]
    corpus = _open(settings)
    if corpus is None:
        return {"references": _without(settings, ctx)}
    found = await _search(corpus, summarise(document["text"]), settings, ctx)
    references, excluded = _select(found, document, settings)
    names = ", ".join(one["repository"] for one in references) or "none"
    ctx.event("note", text=f"references from corpus '{corpus.name}': {names}; {len(excluded)} left out")
    return {"references": {"corpus": corpus.name, "references": references, "excluded": excluded}}


def _open(settings: Settings) -> Corpus | None:
    from engine.retrieval.corpora import find_corpus
    from engine.retrieval.corpus import Corpus
    from engine.retrieval.embeddings import open_embedder

    folder = find_corpus(settings.corpus)
    if folder is None:
        return None
    corpus = Corpus.open(folder)
    if not settings.base_url:
        return corpus
    record = corpus.record
    embedder = open_embedder(record.embedder, base_url=settings.base_url, dimension=record.dimension)
    return Corpus.open(folder, embedder)


def _without(settings: Settings, ctx: Context) -> dict[str, Any]:
    how = f"flowrun corpus build {settings.corpus} SOURCE..."
    if settings.required:
        raise InputError(
            f"params.rag.corpus: there is no corpus '{settings.corpus}', and params.rag.required asks for one; "
            f"build it: {how}; or go on without: --set params.rag.required=false"
        )
    ctx.event("note", text=f"no design references: there is no corpus '{settings.corpus}' (build one: {how})")
    return {"corpus": None, "references": [], "excluded": []}


async def _search(corpus: Corpus, query: str, settings: Settings, ctx: Context) -> list[Candidate]:
    """What the corpus has for a query: more than is wanted, since some will be left out."""
    from engine.retrieval.corpora import content_digest

    mode, count = _mode(corpus, settings), settings.top_k * _SPARE
    request = {
        "corpus": corpus.name,
        "content": await content_digest(corpus),
        "query": query,
        "mode": mode,
        "count": count,
        "tokens": settings.tokens,
    }

    async def perform() -> dict[str, Any]:
        hits = await corpus.best_by_repository(query, count, mode)
        return {"candidates": [asdict(await _candidate(corpus, hit, settings.tokens)) for hit in hits]}

    found = await ctx.retrieve(request, perform)
    return [Candidate(**one) for one in found["candidates"]]


def _mode(corpus: Corpus, settings: Settings) -> Mode:
    from engine.retrieval.local import PREFIX

    if settings.mode != "auto":
        return settings.mode  # type: ignore[return-value] # checked when it was read
    return "hybrid" if corpus.record.embedder.startswith(PREFIX) else "vector"


async def _candidate(corpus: Corpus, hit: Hit, tokens: int) -> Candidate:
    chunk, chunks = hit.chunk, await corpus.chunks(hit.chunk.repository)
    tree = [line for one in chunks if one.kind == "tree" for line in one.text.split("\n")[1:]]
    text = compact_text(chunk, chunks, tokens)
    return Candidate(chunk.repository, chunk.origin, chunk.licence, hit.similarity, chunk.text, tree, text)


def _select(
    candidates: Sequence[Candidate], document: Mapping[str, Any], settings: Settings
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The references, and what was left out before there were enough."""
    filters = Filters(document, settings.filters)
    kept: list[dict[str, Any]] = []
    excluded: list[dict[str, Any]] = []
    for one in candidates:
        if len(kept) == settings.top_k:
            break
        if reason := filters.reason(one):
            excluded.append({"repository": one.repository, "reason": reason})
            continue
        told = {name: getattr(one, name) for name in ("repository", "origin", "licence", "text")}
        kept.append({**told, "similarity": max(-1.0, min(1.0, round(one.similarity, 4)))})
    return kept, excluded
