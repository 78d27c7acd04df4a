"""A corpus: a folder of text about repositories that can be searched by vector, by words, or by both.

corpus.json   what it is: its embedder, how its texts were cut, whether it is finished
chunks.lance  the chunks and their vectors
lock          held by the process that writes
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.locks import is_locked, locked
from engine.retrieval.base import Chunk, Embedder, Hit, Mode
from engine.retrieval.embeddings import open_embedder
from engine.retrieval.ranking import distinct, fused, ranked
from engine.retrieval.record import Record, is_corpus, read_record, write_record
from engine.retrieval.vectors import cosine, plain

if TYPE_CHECKING:
    from engine.retrieval.table import ChunkTable, Entry, Found

_BATCH = 2_000  # chunks that are embedded and written at once
_DEPTH = 4  # a search looks so many times deeper than asked: ranks are fused, and among equals the order decides
_SHALLOWEST = 40  # of a hybrid search
_LONGEST = 4_000  # characters of a query whose words are looked for; each costs time


class Corpus:
    """A corpus in a folder. Made by `create` and `open`; many may read while one process writes."""

    def __init__(self, folder: Path, record: Record, embedder: Embedder | None) -> None:
        self.folder, self.record = folder, record
        self._embedder = embedder
        self._rows: ChunkTable | None = None
        self._writers, self._lock, self._turn = 0, ExitStack(), asyncio.Lock()

    @classmethod
    def create(
        cls, folder: Path, name: str, embedder: Embedder, *, chunking: Mapping[str, Any] | None = None
    ) -> Corpus:
        """Make an empty corpus. Raises InputError when the folder holds something, or cannot be made."""
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record = Record(name, embedder.name, embedder.dimension, made, chunking=chunking or {})
        try:
            folder.mkdir(parents=True, exist_ok=True)
            others = sorted({one.name for one in folder.iterdir()} - {"lock", "corpus.json.half"})
        except OSError as error:
            raise InputError(f"{folder}: cannot hold a corpus: {error.strerror}") from error
        if others:
            what = "a corpus" if is_corpus(folder) else f"'{others[0]}'"
            raise InputError(f"{folder}: holds {what} already; choose another name, or remove it")
        with locked(folder / "lock", f"corpus '{name}'"):
            write_record(folder, record)
        return cls(folder, record, embedder)

    @classmethod
    def open(cls, folder: Path, embedder: Embedder | None = None) -> Corpus:
        """Open a corpus, with the embedder that it was made with; None opens that one when it is needed.

        Raises InputError when there is no readable corpus, or the embedder is another.
        """
        record = read_record(folder)
        corpus = cls(folder, record, None)
        if embedder is not None:
            corpus._embedder = corpus._same(embedder)
        return corpus

    @property
    def name(self) -> str:
        """What it is called."""
        return self.record.name

    @property
    def embedder(self) -> Embedder:
        """What its texts are embedded with. Raises InputError or ModelError when it cannot be opened."""
        if self._embedder is None:
            self._embedder = self._same(open_embedder(self.record.embedder, dimension=self.record.dimension))
        return self._embedder

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Hold the corpus over many writes. Raises InputError, naming the process, if another holds it."""
        if not self._writers:
            self._lock.enter_context(locked(self.folder / "lock", f"corpus '{self.name}'"))
        self._writers += 1
        try:
            self.record = read_record(self.folder)
            yield
        finally:
            self._writers -= 1
            if not self._writers:
                self._lock.close()

    async def put(self, repository: str, digest: str, chunks: Sequence[Chunk]) -> None:
        """Put a repository in, in place of what was there of it: wholly, or, after a kill, not at all.

        A repository without chunks is removed. Raises ModelError and InputError.
        """
        await self.put_many([(repository, digest, chunks)])

    async def put_many(self, repositories: Iterable[tuple[str, str, Sequence[Chunk]]]) -> None:
        """Put many repositories in (name, digest, chunks), some thousand chunks at a time; each as `put` does."""
        async with self.writing():
            pending: dict[str, tuple[str, Sequence[Chunk]]] = {}
            waiting = 0
            for given, digest, chunks in repositories:
                repository, checked = plain(given), _checked(given, chunks)
                if waiting >= _BATCH or repository in pending:
                    await self._write(pending)
                    pending, waiting = {}, 0
                pending[repository] = (plain(digest), checked)
                waiting += len(checked)
            await self._write(pending)

    async def remove(self, repository: str) -> None:
        """Remove a repository; one that is not there is no error."""
        async with self.writing(), self._turn:
            await self._remove(repository)

    async def digests(self) -> dict[str, str]:
        """What each repository was made of: its name and the digest that was given with it."""
        return {one.repository: one.digest for one in await self.repositories()}

    async def repositories(self) -> list[Entry]:
        """The repositories by name: repository, digest, origin, licence, and the number of chunks."""
        return await self._table.entries() if self._is_filled() else []

    async def chunks(self, repository: str) -> list[Chunk]:
        """A repository's chunks, in order."""
        return [one.chunk for one in await self._of(repository)]

    async def vectors(self, repository: str) -> NDArray[np.float32]:
        """The vectors of a repository's chunks, one row each, in order."""
        found = await self._of(repository)
        return np.array([one.vector for one in found], np.float32).reshape(-1, self.record.dimension)

    async def search(self, query: str, k: int, mode: Mode = "hybrid", exclude: Collection[str] = ()) -> list[Hit]:
        """The best k chunks, none of an excluded repository: by cosine, by BM25, or by both ranks fused.

        Any text may be asked for. Raises ModelError, and InputError for a damaged corpus.
        """
        vector = (await self.embedder.embed([query]))[0]
        return await self._search(plain(query), vector, k, mode, exclude)

    async def best_by_repository(
        self, query: str, k: int, mode: Mode = "vector", exclude: Collection[str] = ()
    ) -> list[Hit]:
        """The best chunk of each of the best k repositories. Raises as `search` does."""
        vector = (await self.embedder.embed([query]))[0]
        depth = k * _DEPTH
        while True:
            hits = await self._search(plain(query), vector, depth, mode, exclude)
            found = distinct(hits)
            if len(found) >= k or len(hits) < depth:
                return found[:k]
            depth *= _DEPTH

    async def finish(self) -> None:
        """Tidy up after many writes and make the indexes; searches are right before, and quick after."""
        async with self.writing(), self._turn:
            if self._table.exists:
                await self._table.finish()
            self._mark(await self._count())

    async def check(self) -> list[str]:
        """What is wrong, one sentence each: a build that was stopped, damage, missing indexes. Reads all there is."""
        if is_locked(self.folder / "lock"):
            return ["a process is writing to it; check it when that is done"]
        known = read_record(self.folder).chunks
        if known is None:
            return ["its build was stopped: build it again with the same sources; what is there is kept"]
        try:
            return await self._faults(known)
        except InputError as error:
            return [str(error)]

    def _same(self, embedder: Embedder) -> Embedder:
        record = self.record
        if (embedder.name, embedder.dimension) != (record.embedder, record.dimension):
            raise InputError(
                f"corpus '{self.name}' was made with the embedder {record.embedder} ({record.dimension} dimensions), "
                f"not with {embedder.name} ({embedder.dimension}); use that one, or build the corpus again"
            )
        return embedder

    @property
    def _table(self) -> ChunkTable:
        if self._rows is None:
            os.environ.setdefault("LANCEDB_LOG", "error")  # what it warns of is handled, or raised, here
            from engine.retrieval.table import ChunkTable

            self._rows = ChunkTable(self.folder, self.record.dimension)
        return self._rows

    def _is_filled(self) -> bool:
        if self.record.chunks and not self._table.exists:
            raise InputError(f"{self.folder}: the corpus has lost its chunks; remove the folder, and build it again")
        return self._table.exists

    async def _write(self, pending: Mapping[str, tuple[str, Sequence[Chunk]]]) -> None:
        chunks = [one for _, many in pending.values() for one in many]
        digests = [digest for digest, many in pending.values() for _ in many]
        embedder = self.embedder
        parts = [chunks[start : start + _BATCH] for start in range(0, len(chunks), _BATCH)]
        vectors = [await embedder.embed([one.text for one in part]) for part in parts]
        async with self._turn:
            if chunks:
                self._mark(None)
                await self._table.put(digests, chunks, np.concatenate(vectors))
            for repository, (_, many) in pending.items():
                if not many:
                    await self._remove(repository)

    async def _remove(self, repository: str) -> None:
        if self._table.exists:
            self._mark(None)
            await self._table.remove(repository)

    async def _of(self, repository: str) -> list[Found]:
        return await self._table.of(repository) if self._is_filled() else []

    async def _search(
        self, query: str, vector: NDArray[np.float32], k: int, mode: Mode, exclude: Collection[str]
    ) -> list[Hit]:
        if k < 1 or not self._is_filled():
            return []
        depth = max(k * _DEPTH, _SHALLOWEST if mode == "hybrid" else 0)
        near, matching = await self._table.find(
            vector if mode != "text" and vector.any() else None,
            query[:_LONGEST] if mode != "vector" else None,
            depth,
            exclude,
        )
        by_vector, by_text = _hits(near, vector), _hits(matching, vector)
        return (fused([by_vector, by_text]) if mode == "hybrid" else by_vector or by_text)[:k]

    async def _count(self) -> int:
        return await self._table.count() if self._table.exists else 0

    async def _faults(self, known: int) -> list[str]:
        table, found = self._table, await self._count()
        faults = [] if found == known else [f"it holds {found} chunks, but {known} when it was finished"]
        if not found:
            return faults
        unsound = await table.unsound_vectors()
        if unsound:
            faults.append(f"{unsound} chunks have no vector of length 1: remove the corpus, and build it again")
        broken = [column for column in ("text", "vector") if await table.broken_index(column)]
        missing = sorted({*broken, *await table.missing_indexes()})
        return faults + [f"its index of the {one} is missing or damaged: build it again to renew it" for one in missing]

    def _mark(self, chunks: int | None) -> None:
        if self.record.chunks != chunks:
            self.record = replace(self.record, chunks=chunks)
            write_record(self.folder, self.record)


def _checked(repository: str, chunks: Sequence[Chunk]) -> list[Chunk]:
    """The chunks, with text that can be stored."""
    if any(one.repository != repository for one in chunks) or len({one.part for one in chunks}) != len(chunks):
        raise ValueError(f"chunks put under '{repository}' are of another repository, or have one number twice")
    return [
        Chunk(plain(one.repository), plain(one.origin), plain(one.licence), plain(one.kind), one.part, plain(one.text))
        for one in chunks
    ]


def _hits(found: Iterable[Found], query: NDArray[np.float32]) -> list[Hit]:
    return ranked(Hit(one.chunk, one.score, cosine(one.vector, query)) for one in found)
