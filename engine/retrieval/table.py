"""The chunks of a corpus as a LanceDB table; the only file that imports lancedb.

Every change is one commit of the table, so that a reader sees the table before it or after it, and a kill leaves one of
the two.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa
from lancedb.expr import col
from lancedb.index import FTS, HnswSq
from lancedb.query import MatchQuery
from numpy.typing import NDArray

from engine.errors import InputError
from engine.retrieval.base import Chunk
from engine.retrieval.vectors import cosine, plain

INDEXED_FROM = 5_000  # chunks; below, exact search takes a few milliseconds
NEIGHBOURS = 20  # of each chunk in the graph (M)
BUILD_BREADTH = 150  # candidates looked at when the graph is made (ef_construction)
SEARCH_BREADTH = 200  # and when it is searched (ef)
REFINE = 1  # so many times the hits asked for are ranked by their whole vectors; a corpus asks for more than it gives
_TABLE = "chunks"
_COLUMNS = ["repository", "origin", "licence", "kind", "part", "text"]
_TIDY_EVERY = 50  # writes: each leaves a file, and every search opens all of them
_INDEX_CACHE, _FILE_CACHE = 1 << 29, 1 << 26  # bytes
_OLD = timedelta(minutes=10)  # longer than a search takes that reads an older version
_ROUNDING = 1e-3  # by which the length of a unit vector may be off


@dataclass(frozen=True)
class Found:
    """A row that a query found: its chunk, its vector, and BM25 or cosine, whichever was asked for."""

    chunk: Chunk
    vector: NDArray[np.float32]
    score: float


@dataclass(frozen=True)
class Entry:
    """A repository in the table: what it was made of, and how many chunks it has."""

    repository: str
    digest: str
    origin: str
    licence: str
    chunks: int


class ChunkTable:
    """A table of chunks and vectors in a folder; `dimension` is the vectors' length.

    Everything raises InputError when the files are damaged.
    """

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder, self._dimension = folder.absolute(), dimension
        self._database: lancedb.AsyncConnection | None = None
        self._writes = 0

    @property
    def exists(self) -> bool:
        """Whether anything was ever put into it; a kill while it was being made leaves a folder without a version."""
        return any((self._folder / f"{_TABLE}.lance" / "_versions").glob("*.manifest"))

    async def put(self, digests: Sequence[str], chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> None:
        """Put whole repositories in, each in place of what the table has of it."""
        rows = self._rows(digests, chunks, vectors)
        known = _among({one.repository for one in chunks}).to_sql()
        async with self._opened(write=True) as table:
            if await table.count_rows(known):
                merge = table.merge_insert(["repository", "part"]).when_matched_update_all()
                await merge.when_not_matched_insert_all().when_not_matched_by_source_delete(known).execute(rows)
            else:
                await table.add(rows)
            self._writes += 1
            if self._writes % _TIDY_EVERY == 0:
                await table.optimize(cleanup_older_than=_OLD)

    async def remove(self, repository: str) -> None:
        """Remove a repository's chunks."""
        async with self._opened(write=True) as table:
            await table.delete(_among([repository]).to_sql())

    async def count(self) -> int:
        """How many chunks there are."""
        return int(await self._read(lambda table: table.count_rows()))

    async def entries(self) -> list[Entry]:
        """The repositories, in the order of their names."""
        columns = ["repository", "digest", "origin", "licence"]
        rows = await self._read(lambda table: table.query().select(columns).to_arrow())
        sums = [("origin", "min"), ("licence", "min"), ("origin", "count")]
        grouped = rows.group_by(["repository", "digest"]).aggregate(sums).sort_by("repository")
        return [Entry(*row.values()) for row in grouped.to_pylist()]

    async def of(self, repository: str) -> list[Found]:
        """A repository's chunks, in order; their scores are 0."""
        where, columns = _among([repository]), [*_COLUMNS, "vector"]
        rows = await self._read(lambda table: table.query().where(where).select(columns).to_arrow())
        return sorted(self._found(rows, [0.0] * rows.num_rows), key=lambda one: one.chunk.part)

    async def find(
        self, vector: NDArray[np.float32] | None, text: str | None, limit: int, exclude: Collection[str] = ()
    ) -> tuple[list[Found], list[Found]]:
        """The chunks nearest to a unit vector by cosine, and those that share most words with a text by BM25.

        Both are of one version of the table. Nothing is searched for with None.
        """

        async def ask(table: lancedb.AsyncTable) -> tuple[list[Found], list[Found]]:
            near = [] if vector is None else await self._nearest(table, vector, limit, exclude)
            return near, [] if text is None else await self._matching(table, text, limit, exclude)

        found: tuple[list[Found], list[Found]] = await self._read(ask)
        return found

    async def _nearest(
        self, table: lancedb.AsyncTable, vector: NDArray[np.float32], limit: int, exclude: Collection[str]
    ) -> list[Found]:
        query = table.query().nearest_to(vector).distance_type("cosine")
        query = _without(query.ef(max(SEARCH_BREADTH, limit * REFINE)).refine_factor(REFINE), exclude)
        rows = await query.select([*_COLUMNS, "vector", "_distance"]).limit(limit).to_arrow()
        return self._found(rows, [cosine(one, vector) for one in self._vectors(rows)])

    async def _matching(
        self, table: lancedb.AsyncTable, text: str, limit: int, exclude: Collection[str]
    ) -> list[Found]:
        match = MatchQuery(text, "text")  # type: ignore[call-arg]
        query = _without(table.query().nearest_to_text(match), exclude)
        rows = await query.select([*_COLUMNS, "vector", "_score"]).limit(limit).to_arrow()
        return self._found(rows, rows["_score"].to_pylist())

    async def finish(self) -> None:
        """Merge what many writes left, make the indexes that are missing, and take new rows into the others."""
        async with self._opened(write=True) as table:
            for name in [one.name for one in await table.list_indices() if await self.broken_index(one.columns[0])]:
                await table.drop_index(name)
            await table.optimize(cleanup_older_than=_OLD, delete_unverified=True)
            for column in await self.missing_indexes():
                await table.create_index(column, config=_index_of(column))

    async def missing_indexes(self) -> list[str]:
        """The columns that should have an index and have none, or one that does not hold all rows."""

        async def ask(table: lancedb.AsyncTable) -> list[str]:
            wanted = {"text"} | ({"vector"} if await table.count_rows() >= INDEXED_FROM else set())
            for index in await table.list_indices():
                stats = await table.index_stats(index.name)
                if stats is not None and not stats.num_unindexed_rows:
                    wanted.discard(index.columns[0])
            return sorted(wanted)

        missing: list[str] = await self._read(ask)
        return missing

    async def broken_index(self, column: str) -> str:
        """Why a search by a column fails, or nothing."""
        probe = np.full(self._dimension, self._dimension**-0.5, np.float32)
        try:
            if column == "text":
                first = await self._read(lambda table: table.query().select(["text"]).limit(1).to_arrow())
                await self.find(None, " ".join(first["text"].to_pylist())[:1000], 1)
            else:
                await self.find(probe, None, 1)
        except InputError as error:
            return str(error)
        return ""

    async def unsound_vectors(self) -> int:
        """How many chunks with a text have no vector of length 1. Reads all there is."""
        unsound = 0
        async with self._opened() as table:
            async for batch in await table.query().to_batches():
                rows = pa.Table.from_batches([batch])
                lengths = np.linalg.norm(self._vectors(rows), axis=1)
                blank = np.array([not text.strip() for text in rows["text"].to_pylist()], bool)
                unsound += int((~(np.abs(lengths - 1) < _ROUNDING) & ~(blank & (lengths == 0))).sum())
        return unsound

    async def _read(self, ask: Callable[[lancedb.AsyncTable], Any]) -> Any:
        """What the latest version says; asked twice, as it may have grown old and been removed in the meantime."""
        try:
            async with self._opened() as table:
                return await ask(table)
        except InputError:
            self._database = None
            async with self._opened() as table:
                return await ask(table)

    @asynccontextmanager
    async def _opened(self, *, write: bool = False) -> AsyncIterator[lancedb.AsyncTable]:
        """The latest version, which stays what it is whatever others write."""
        try:
            if self._database is None:
                session = lancedb.Session(_INDEX_CACHE, _FILE_CACHE)
                self._database = await lancedb.connect_async(str(self._folder), session=session)
            if write:
                yield await self._database.create_table(_TABLE, schema=self._schema(), exist_ok=True)
            else:
                yield await self._database.open_table(_TABLE)
        except (OSError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            what = "cannot be written, or is damaged" if write else "is damaged"
            raise InputError(
                f"{self._folder}: the corpus {what}: {said}\nremove the folder, and build the corpus again"
            ) from error

    def _schema(self) -> pa.Schema:
        texts = [pa.field(name, pa.string(), nullable=False) for name in ("digest", *_COLUMNS) if name != "part"]
        part = pa.field("part", pa.int32(), nullable=False)
        vector = pa.field("vector", pa.list_(pa.float32(), self._dimension), nullable=False)
        return pa.schema([*texts, part, vector])

    def _rows(self, digests: Sequence[str], chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> pa.Table:
        columns: dict[str, Any] = {name: [getattr(one, name) for one in chunks] for name in _COLUMNS}
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, self._dimension)
        return pa.table({"digest": list(digests), **columns}, schema=self._schema())

    def _vectors(self, rows: pa.Table) -> NDArray[np.float32]:
        flat: NDArray[np.float32] = rows["vector"].combine_chunks().flatten().to_numpy()
        return flat.reshape(-1, self._dimension)

    def _found(self, rows: pa.Table, scores: Sequence[float]) -> list[Found]:
        chunks = [Chunk(**row) for row in rows.select(_COLUMNS).to_pylist()]
        found = zip(chunks, self._vectors(rows), scores, strict=True)
        return [Found(chunk, vector, score) for chunk, vector, score in found]


def _index_of(column: str) -> Any:
    if column == "text":
        return FTS()
    return HnswSq(distance_type="cosine", num_partitions=1, m=NEIGHBOURS, ef_construction=BUILD_BREADTH)


def _among(names: Collection[str]) -> Any:
    return col("repository").isin(sorted({plain(name) for name in names}))


def _without(query: Any, names: Collection[str]) -> Any:
    return query.where(~_among(names)) if names else query
