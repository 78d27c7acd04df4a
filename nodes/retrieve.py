"""Retrieves design references for the architects from a corpus of the user's (CodeTeam, 3.2.3 and 3.3.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from engine.context import Context
from engine.errors import InputError
from engine.models.tokens import estimate_tokens
from engine.node import node
from nodes.references.filters import Candidate, Filters, Limits
from nodes.references.readme import summarise

if TYPE_CHECKING:
    from engine.retrieval.base import Chunk, Hit
    from engine.retrieval.corpus import Corpus

_SPARE = 4  # candidates looked at for each reference that is wanted
_MODES = ("vector", "text", "hybrid")
_HOW = "flowrun corpus build {} SOURCE..."
_SUPPLEMENT = ("tree", "roles", "manifest", "interfaces")  # in this order: what shows most of a design first


@dataclass(frozen=True)
class Settings:
    """The flow's `params.rag`.

    corpus, required  its name or path, and whether there must be one
    top_k, tokens     how many references, and how long each may be
    mode              how chunks are ranked; references are compared with the task by cosine in any case
    base_url          where the corpus's embedding model answers, if it is none that needs no network
    """

    corpus: str = "default"
    top_k: int = 5
    tokens: int = 768
    mode: str = "vector"
    base_url: str = ""
    required: bool = False
    filters: Limits = field(default_factory=Limits)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from parameters. Raises InputError for what does not fit."""
        kinds = {"corpus": str, "top_k": int, "tokens": int, "mode": str, "base_url": str, "required": bool}
        for name, kind in kinds.items():
            if name in given and type(given[name]) is not kind:
                raise InputError(f"params.rag.{name}: {given[name]!r} is no {kind.__name__}")
        read = cls(
            **{name: given[name] for name in kinds if name in given}, filters=Limits.read(given.get("filters", {}))
        )
        if read.mode not in _MODES:
            raise InputError(f"params.rag.mode: '{read.mode}' is unknown; known: {', '.join(_MODES)}")
        if not (1 <= read.top_k <= 50 and read.tokens >= 64):
            raise InputError("params.rag: top_k must be from 1 to 50, tokens 64 or more")
        return read


@node(reads=("document",), writes=("references",), params=("rag",))
async def design_references(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The best references of distinct repositories, and what was left out and why; none where there is no corpus.

    Raises InputError for parameters that do not fit, and for a corpus that is required and not there.
    """
    settings, document = Settings.read(ctx.params["rag"]), inputs["document"]
    from engine.retrieval.corpora import content_digest, find_corpus
    from engine.retrieval.corpus import Corpus
    from engine.retrieval.embeddings import open_embedder

    folder = find_corpus(settings.corpus)
    if folder is None:
        return {"references": _without(settings, ctx)}
    corpus, query = Corpus.open(folder), summarise(document["text"])
    if settings.base_url:
        corpus = Corpus.open(folder, open_embedder(corpus.record.embedder, base_url=settings.base_url))
    request = {
        "corpus": corpus.name,
        "content": await content_digest(corpus),
        "query": query,
        "mode": settings.mode,
        "count": settings.top_k * _SPARE,
        "tokens": settings.tokens,
    }

    async def search() -> dict[str, Any]:
        hits = await corpus.best_by_repository(query, settings.top_k * _SPARE, settings.mode)  # type: ignore[arg-type]
        return {"candidates": [asdict(await _candidate(corpus, hit, settings.tokens)) for hit in hits]}

    found = await ctx.retrieve(request, search)
    references, excluded = _select([Candidate(**one) for one in found["candidates"]], document, settings)
    names = ", ".join(one["repository"] for one in references) or "none"
    ctx.event("note", text=f"references from corpus '{corpus.name}': {names}; {len(excluded)} left out")
    return {"references": {"corpus": corpus.name, "references": references, "excluded": excluded}}


def _without(settings: Settings, ctx: Context) -> dict[str, Any]:
    how = _HOW.format(settings.corpus)
    if settings.required:
        raise InputError(
            f"params.rag.corpus: there is no corpus '{settings.corpus}', and params.rag.required asks for one; "
            f"build it: {how}; or go on without: --set params.rag.required=false"
        )
    ctx.event("note", text=f"no design references: there is no corpus '{settings.corpus}' (build one: {how})")
    return {"corpus": None, "references": [], "excluded": []}


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


async def _candidate(corpus: Corpus, hit: Hit, tokens: int) -> Candidate:
    chunks = await corpus.chunks(hit.chunk.repository)
    tree = [line for one in chunks if one.kind == "tree" for line in one.text.split("\n")[1:]]
    chunk = hit.chunk
    text = _described(chunk, chunks, tokens)
    return Candidate(chunk.repository, chunk.origin, chunk.licence, hit.similarity, chunk.text, tree, text)


def _described(found: Chunk, chunks: Sequence[Chunk], tokens: int) -> str:
    """The found chunk, at most half of the whole, and the repository's other ones as far as they fit.

    A README is found most often, and says what a project does; the design is in the others.
    """
    text = _cut(found.text, tokens // 3 if found.kind == "readme" else tokens // 2)
    for kind in _SUPPLEMENT:
        for one in chunks:
            if one.kind != kind or one == found:
                continue
            left = tokens - estimate_tokens(text) - 2
            title, _, rest = one.text.partition("\n")
            title = title.rpartition(" | ")[2]
            part = _cut(f"{title}:\n{rest}", min(left, tokens // 3))
            if part.count("\n") >= 1:
                text += f"\n\n{part}"
    return text


def _cut(text: str, tokens: int) -> str:
    """As many of a text's lines as fit."""
    lines: list[str] = []
    for line in text.split("\n"):
        tokens -= estimate_tokens(line + "\n")
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines)
