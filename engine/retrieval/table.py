"""The chunks of a corpus as a LanceDB table; the only file that imports lancedb.

Every change is one commit of the table, so that a reader sees the table before it or after it, and a kill leaves one of
the two.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
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
from engine.retrieval.vectors import cosine

INDEXED_FROM = 5_000  # chunks; below, exact search takes a few milliseconds
NEIGHBOURS = 20  # of each chunk in the graph (M)
BUILD_BREADTH = 300  # candidates looked at when the graph is made (ef_construction)
SEARCH_BREADTH = 100  # and when it is searched (ef)
REFINE = 3  # so many times the hits asked for are ranked again by their exact vectors
_TABLE = "chunks"
_COLUMNS = ["repository", "origin", "licence", "kind", "part", "text"]
_OLD = timedelta(minutes=10)  # longer than a search that still reads an older version takes


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
    """A table of chunks and vectors in a folder; `dimension` is the vectors' length."""

    def __init__(self, folder: Path, dimension: int) -> None:
        self._folder, self._dimension = folder.absolute(), dimension
        self._table: lancedb.AsyncTable | None = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever put into it."""
        return (self._folder / f"{_TABLE}.lance").exists()

    async def put(self, digests: Sequence[str], chunks: Sequence[Chunk], vectors: NDArray[np.float32]) -> None:
        """Put whole repositories in, each in place of what the table has of it."""
        rows = self._rows(digests, chunks, vectors)
        names = sorted({one.repository for one in chunks})
        async with self._open(create=True) as table:
            if not await table.count_rows(_among(names).to_sql()):
                await table.add(rows)
                return
            merge = table.merge_insert(["repository", "part"])
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
            await merge.when_not_matched_by_source_delete(_among(names).to_sql()).execute(rows)

    async def remove(self, repository: str) -> None:
        """Remove a repository's chunks."""
        async with self._open() as table:
            await table.delete(_among([repository]).to_sql())

    async def count(self) -> int:
        """How many chunks there are."""
        async with self._open() as table:
            return int(await table.count_rows())

    async def entries(self) -> list[Entry]:
        """The repositories, in the order of their names."""
        columns = ["repository", "digest", "origin", "licence"]
        async with self._open() as table:
            found = await table.query().select(columns).to_arrow()
        counted = found.group_by(columns).aggregate([([], "count_all")])
        entries = [Entry(chunks=row.pop("count_all"), **row) for row in counted.to_pylist()]
        return sorted(entries, key=lambda one: one.repository)

    async def of(self, repository: str) -> list[Found]:
        """A repository's chunks, in order; their scores are 0."""
        async with self._open() as table:
            rows = await table.query().where(_among([repository])).select([*_COLUMNS, "vector"]).to_arrow()
        return sorted(self._found(rows, [0.0] * rows.num_rows), key=lambda one: one.chunk.part)

    async def nearest(self, vector: NDArray[np.float32], limit: int, exclude: Collection[str] = ()) -> list[Found]:
        """The chunks nearest to a unit vector, by cosine."""
        async with self._open() as table:
            query = table.query().nearest_to(vector).distance_type("cosine")
            query = query.ef(max(SEARCH_BREADTH, limit * REFINE)).refine_factor(REFINE)
            rows = await _without(query, exclude).select([*_COLUMNS, "vector", "_distance"]).limit(limit).to_arrow()
        return self._found(rows, [cosine(one, vector) for one in self._vectors(rows)])

    async def matching(self, text: str, limit: int, exclude: Collection[str] = ()) -> list[Found]:
        """The chunks that share most words with a text, by BM25."""
        async with self._open() as table:
            query = table.query().nearest_to_text(MatchQuery(text, "text"))  # type: ignore[call-arg]
            rows = await _without(query, exclude).select([*_COLUMNS, "vector", "_score"]).limit(limit).to_arrow()
        return self._found(rows, rows["_score"].to_pylist())

    async def finish(self) -> None:
        """Merge what many writes left, and make the indexes."""
        async with self._open() as table:
            await table.optimize()
            await table.create_index("text", config=FTS(), replace=True)
            if await table.count_rows() >= INDEXED_FROM:
                config = HnswSq(distance_type="cosine", num_partitions=1, m=NEIGHBOURS, ef_construction=BUILD_BREADTH)
                await table.create_index("vector", config=config, replace=True)
            await table.optimize(cleanup_older_than=_OLD, delete_unverified=True)

    @asynccontextmanager
    async def _open(self, *, create: bool = False) -> AsyncIterator[lancedb.AsyncTable]:
        """The table at its latest version. Raises InputError when its files are damaged."""
        try:
            if self._table is None:
                self._table = await self._connect(create)
            yield self._table
        except (OSError, RuntimeError, ValueError) as error:
            said = " ".join(str(error).split())[:300]
            raise InputError(
                f"{self._folder}: the corpus is damaged: {said}\nremove the folder and build the corpus again"
            ) from error

    async def _connect(self, create: bool) -> lancedb.AsyncTable:
        database = await lancedb.connect_async(str(self._folder), read_consistency_interval=timedelta(0))
        if create:
            return await database.create_table(_TABLE, schema=self._schema(), exist_ok=True)
        return await database.open_table(_TABLE)

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


def _among(names: Collection[str]) -> Any:
    return col("repository").isin(names)


def _without(query: Any, names: Collection[str]) -> Any:
    return query.where(~_among(sorted(names))) if names else query
