"""Search over 100,000 chunks: a corpus beside FAISS and exact NumPy, on the same vectors.

`python -m bench.retrieval FOLDER` builds the corpus there, as the process whose memory is measured.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.figures import Figure, Skipped
from engine.retrieval.base import Chunk, Mode
from engine.retrieval.corpus import Corpus
from engine.retrieval.local import LocalEmbedder
from engine.retrieval.table import BUILD_BREADTH, NEIGHBOURS, SEARCH_BREADTH

CHUNKS, OF_EACH, QUERIES, TURN, K = 100_000, 100, 300, 50, 5
LENGTH = 200  # characters of a text
Vectors = NDArray[np.float32]
Way = Callable[[int], Awaitable[list[int]]]


class Known:
    """Vectors that were made before, so that nothing but the store is measured."""

    name = "known"

    def __init__(self, texts: Sequence[str], rows: Vectors) -> None:
        self.dimension, self._rows = rows.shape[1], rows
        self._numbers = {text: number for number, text in enumerate(texts)}

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """The rows of known texts."""
        return self._rows[[self._numbers[text] for text in texts]]


@dataclass
class Answers:
    """What one way of searching said: seconds and numbers of chunks, for each query."""

    seconds: list[float] = field(default_factory=list)
    found: list[set[int]] = field(default_factory=list)

    def add(self, began: float, found: Sequence[int]) -> None:
        """Keep the answer to a query that was asked then."""
        self.seconds.append(time.perf_counter() - began)
        self.found.append(set(found))

    def figures(
        self, what: str, exact: Answers, *, quick: float | None = None, sure: float | None = None
    ) -> list[Figure]:
        """Time, and misses beside exact search; with their targets."""
        missed = sum(len(true - mine) for true, mine in zip(exact.found, self.found, strict=True))
        return [
            Figure(f"{what}: median query", statistics.median(self.seconds) * 1000, "ms", quick),
            Figure(f"{what}: missed of the {K} nearest", 100 * missed / K / len(self.found), "%", sure),
        ]


def some_texts(number: int) -> list[str]:
    """Pieces of the source files of what is installed here, no two the same, mixed by a fixed seed."""
    folders = [Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")]
    files = sorted({file for folder in folders for file in folder.rglob("*.py")})
    Random(0).shuffle(files)  # noqa: S311 - no secret is drawn here
    pieces: dict[str, None] = {}
    for file in files:
        source = file.read_text(encoding="utf-8", errors="replace")
        pieces.update((source[start : start + LENGTH], None) for start in range(0, len(source) - LENGTH, LENGTH))
        if len(pieces) >= number:
            break
    texts = list(pieces)[:number]
    Random(1).shuffle(texts)  # noqa: S311
    return texts


async def build(folder: Path) -> dict[str, float]:
    """Make the corpus of the texts and vectors in a folder: seconds of both steps, and the process's most memory."""
    texts: list[str] = json.loads((folder / "texts.json").read_text(encoding="utf-8"))[:CHUNKS]
    corpus = Corpus.create(folder / "corpus", "bench", Known(texts, np.load(folder / "rows.npy", mmap_mode="r")))
    chunks = [Chunk(f"r{one // OF_EACH}", "", "", "readme", one % OF_EACH, text) for one, text in enumerate(texts)]
    of_each = [chunks[start : start + OF_EACH] for start in range(0, CHUNKS, OF_EACH)]
    began = time.perf_counter()
    await corpus.put_many((some[0].repository, "", some) for some in of_each)
    put = time.perf_counter()
    await corpus.finish()
    finished = time.perf_counter()
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"put": put - began, "finish": finished - put, "megabytes": kilobytes / 1000}


def faiss_index(rows: Vectors) -> Any:
    """FAISS's graph of as many neighbours, or None where it is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    index = faiss.IndexHNSWFlat(rows.shape[1], NEIGHBOURS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = BUILD_BREADTH, SEARCH_BREADTH
    index.add(rows)
    return index


async def ask(corpus: Corpus, texts: Sequence[str], rows: Vectors, index: Any) -> dict[str, Answers]:
    """All queries in each way, in turns of some: a way's idle threads spin for a while, and would slow the next."""

    async def numpy(query: int) -> list[int]:
        similarity = rows[:CHUNKS] @ rows[query]
        return list(map(int, np.argpartition(-similarity, K)[:K]))

    async def faiss(query: int) -> list[int]:
        return list(map(int, index.search(rows[query : query + 1], K)[1][0]))

    def of_corpus(mode: Mode) -> Way:
        async def search(query: int) -> list[int]:
            hits = await corpus.search(texts[query], K, mode)
            return [int(hit.chunk.repository[1:]) * OF_EACH + hit.chunk.part for hit in hits]

        return search

    ways: dict[str, Way] = {"numpy": numpy, **({} if index is None else {"faiss": faiss})}
    ways |= {"vector": of_corpus("vector"), "text": of_corpus("text"), "hybrid": of_corpus("hybrid")}
    answers = {name: Answers() for name in ways}
    for start in range(CHUNKS, CHUNKS + QUERIES, TURN):
        for name, way in ways.items():
            for query in range(start, start + TURN):
                began = time.perf_counter()
                answers[name].add(began, await way(query))
    return answers


def measure() -> Iterator[Figure | Skipped]:
    """Building, time of a query, and what an index misses that exact search finds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = some_texts(CHUNKS + QUERIES)
        began = time.perf_counter()
        rows = asyncio.run(LocalEmbedder().embed(texts))
        yield Figure(
            "local embedder, a text of 200 characters", (time.perf_counter() - began) / len(texts) * 1000, "ms"
        )
        (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
        np.save(folder / "rows.npy", rows)
        command = [sys.executable, "-m", "bench.retrieval", name]
        built = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        what = f"corpus of {CHUNKS:,} chunks"
        yield Figure(f"{what}: put in", built["put"], "s", detail="1,000 repositories, without embedding")
        yield Figure(f"{what}: indexes", built["finish"], "s")
        yield Figure(f"{what}: peak memory of building it", built["megabytes"], "MB", 1000)
        began = time.perf_counter()
        index = faiss_index(rows[:CHUNKS])
        if index is None:
            yield Skipped(f"FAISS HNSW, {CHUNKS:,} vectors", "it is not installed: pip install faiss-cpu")
        else:
            yield Figure(f"FAISS HNSW, {CHUNKS:,} vectors: index", time.perf_counter() - began, "s")
        answers = asyncio.run(ask(Corpus.open(folder / "corpus", Known(texts, rows)), texts, rows, index))
        yield from answers["vector"].figures(f"{what}: by vector", answers["numpy"], quick=15, sure=5)
        if index is not None:
            yield from answers["faiss"].figures("FAISS HNSW", answers["numpy"])
        for mode in ("text", "hybrid"):
            yield Figure(f"{what}: {mode}, median query", statistics.median(answers[mode].seconds) * 1000, "ms")
        yield Figure("exact NumPy: median query", statistics.median(answers["numpy"].seconds) * 1000, "ms")


if __name__ == "__main__":
    print(json.dumps(asyncio.run(build(Path(sys.argv[1])))))
