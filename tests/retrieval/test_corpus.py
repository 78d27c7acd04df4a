"""A corpus: what is put in is found, by any text; writes are whole; damage is told."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from engine.locks import locked
from engine.retrieval.base import Chunk, Hit, Mode
from engine.retrieval.corpus import Corpus
from engine.retrieval.table import INDEXED_FROM
from engine.retrieval.vectors import unit_rows
from tests.support.small_corpora import Repository, WordEmbedder, repository

MODES: tuple[Mode, ...] = ("vector", "text", "hybrid")
SHELF = (
    repository("click", "command line options and arguments", "groups of nested commands"),
    repository("requests", "http sessions and cookies", "authentication of http requests", "retries"),
    repository("flask", "web routes and templates", "http errors of a web application"),
)


def filled(folder: Path, *repositories: Repository, finished: bool = True) -> Corpus:
    corpus = Corpus.create(folder, "shelf", WordEmbedder())

    async def fill() -> None:
        await corpus.put_many(repositories or SHELF)
        if finished:
            await corpus.finish()

    asyncio.run(fill())
    return corpus


def search(corpus: Corpus, query: str, k: int = 3, mode: Mode = "hybrid", exclude: tuple[str, ...] = ()) -> list[Hit]:
    return asyncio.run(corpus.search(query, k, mode, exclude))


def names(hits: list[Hit]) -> list[str]:
    return [hit.chunk.repository for hit in hits]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return filled(tmp_path_factory.mktemp("shelf") / "it's 100% a #shelf?")


@pytest.mark.parametrize("mode", MODES)
def test_each_way_of_searching_finds_what_shares_words(shelf: Corpus, mode: Mode) -> None:
    best = search(shelf, "nested groups of commands", 1, mode)[0]
    assert best.chunk == SHELF[0][2][1]
    assert best.similarity == pytest.approx(1, abs=1e-5)  # the same words in another order
    found = search(shelf, "http", 8, mode)
    assert {"requests", "flask"} <= set(names(found))
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)


def test_only_a_search_by_words_finds_nothing_for_unknown_words(shelf: Corpus) -> None:
    assert search(shelf, "zebra", 3, "text") == []
    assert len(search(shelf, "zebra", 3, "vector")) == 3


@pytest.mark.parametrize("mode", MODES)
def test_excluded_repositories_are_not_found(shelf: Corpus, mode: Mode) -> None:
    assert set(names(search(shelf, "http web", 8, mode, ("flask", "it's none", "click")))) == {"requests"}


@pytest.mark.parametrize("mode", MODES)
def test_the_best_of_distinct_repositories(shelf: Corpus, mode: Mode) -> None:
    found = asyncio.run(shelf.best_by_repository("http web", 2, mode))
    assert sorted(names(found)) == ["flask", "requests"]
    assert found[0] == search(shelf, "http web", 1, mode)[0] or mode == "hybrid"


def test_repositories_are_listed_with_where_they_came_from(shelf: Corpus) -> None:
    entries = asyncio.run(shelf.repositories())
    assert [(one.repository, one.chunks) for one in entries] == [("click", 2), ("flask", 2), ("requests", 3)]
    assert (entries[0].origin, entries[0].licence, entries[0].digest) == ("pypi:click", "MIT", "1")
    assert asyncio.run(shelf.chunks("requests")) == SHELF[1][2]
    assert asyncio.run(shelf.chunks("nothing")) == []
    vectors = asyncio.run(shelf.vectors("requests"))
    expected = asyncio.run(WordEmbedder().embed([one.text for one in SHELF[1][2]]))
    assert np.array_equal(vectors, expected)


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters()), st.sampled_from(MODES))
def test_any_text_may_be_asked_for(shelf: Corpus, query: str, mode: Mode) -> None:
    for hit in search(shelf, query, 3, mode):
        assert -1 <= hit.similarity <= 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "query",
    ["", " ", "\0", "a\0http", '"', '"http', "http AND (", "NOT *", "text:http^2", "'; DROP TABLE chunks", "\\", "{}"],
)
def test_operators_are_words_like_others(shelf: Corpus, query: str, mode: Mode) -> None:
    assert all(isinstance(hit.chunk, Chunk) for hit in search(shelf, query, 3, mode))


def test_a_long_query_is_answered(shelf: Corpus) -> None:
    assert names(search(shelf, "nested commands " + "padding " * 125_000, 1, "text")) == ["click"]


def test_an_empty_corpus_finds_nothing(tmp_path: Path) -> None:
    corpus = Corpus.create(tmp_path / "empty", "empty", WordEmbedder())
    assert search(corpus, "http") == [] and search(corpus, "http", 0) == []
    assert asyncio.run(corpus.repositories()) == []
    asyncio.run(corpus.remove("nothing"))
    asyncio.run(corpus.finish())
    assert asyncio.run(corpus.check()) == []


def test_equal_chunks_come_in_one_order(tmp_path: Path) -> None:
    order = [f"r{number}" for number in range(12)]
    random.Random(3).shuffle(order)
    corpus = filled(tmp_path / "c", *(repository(name, "the same words") for name in order))
    for mode in MODES:
        assert names(search(corpus, "same words", 12, mode)) == sorted(order)


steps = st.lists(
    st.tuples(
        st.sampled_from(["plain", "it's", 'a "b" \\', "日本 1.0", "a\0b\ud800"]),
        st.lists(st.text(st.characters(), max_size=20), max_size=3),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=8, deadline=None)
@given(steps)
def test_what_was_put_last_is_there_and_nothing_else(writes: list[tuple[str, list[str]]]) -> None:
    with TemporaryDirectory() as folder:
        corpus = Corpus.create(Path(folder) / "c", "c", WordEmbedder())
        known: dict[str, list[str]] = {}

        async def write() -> None:
            for name, texts in writes:  # to put nothing is to remove
                await corpus.put(*repository(name, *texts, digest=str(len(texts))))
                known[name.encode("utf-8", "replace").decode()] = texts
            there = {name: texts for name, texts in known.items() if texts}
            assert await corpus.digests() == {name: str(len(texts)) for name, texts in there.items()}
            for name, texts in there.items():
                stored = [one.text for one in await corpus.chunks(name)]
                assert stored == [text.encode("utf-8", "replace").decode() for text in texts]

        asyncio.run(write())


def test_a_build_that_fails_midway_keeps_what_was_written_and_is_completed(tmp_path: Path) -> None:
    many = [repository(f"r{number}", *["words"] * 500) for number in range(12)]

    def broken() -> Iterator[Repository]:
        yield from many[:9]
        raise InputError("a broken archive")

    corpus = Corpus.create(tmp_path / "c", "c", WordEmbedder())
    with pytest.raises(InputError, match="archive"):
        asyncio.run(corpus.put_many(broken()))
    corpus = Corpus.open(tmp_path / "c", WordEmbedder())
    assert "stopped" in asyncio.run(corpus.check())[0]
    kept = asyncio.run(corpus.digests())
    assert 4 <= len(kept) < 12
    asyncio.run(corpus.put_many(one for one in many if one[0] not in kept))
    asyncio.run(corpus.finish())
    assert {one.repository: one.chunks for one in asyncio.run(corpus.repositories())} == {one[0]: 500 for one in many}
    assert asyncio.run(corpus.check()) == []


def test_writers_of_one_process_take_turns(tmp_path: Path) -> None:
    corpus = filled(tmp_path / "c", finished=False)

    async def write() -> None:
        await asyncio.gather(*(corpus.put(*repository(f"r{number % 4}", f"text {number}")) for number in range(12)))

    asyncio.run(write())
    assert {one.repository: one.chunks for one in asyncio.run(corpus.repositories())} == {
        **{name: len(chunks) for name, _, chunks in SHELF},
        **{f"r{number}": 1 for number in range(4)},
    }


def test_a_second_writer_is_told_who_holds_the_corpus(tmp_path: Path) -> None:
    corpus = filled(tmp_path / "c")
    with locked(tmp_path / "c" / "lock", "it"):
        with pytest.raises(InputError, match=r"corpus 'shelf' is held by process \d+; wait"):
            asyncio.run(corpus.put(*repository("r", "text")))
        assert "is writing" in asyncio.run(corpus.check())[0]
        assert search(corpus, "http")  # reading goes on
    asyncio.run(corpus.put(*repository("r", "text")))


def test_another_embedder_is_refused(tmp_path: Path) -> None:
    filled(tmp_path / "c")
    with pytest.raises(InputError, match=r"embedder words \(32 dimensions\), not with others \(32\); use that one, or"):
        Corpus.open(tmp_path / "c", WordEmbedder("others"))
    with pytest.raises(InputError, match=r"not with words \(16\)"):
        Corpus.open(tmp_path / "c", WordEmbedder(dimension=16))


def test_a_corpus_opens_the_embedder_that_it_recorded(tmp_path: Path) -> None:
    from engine.retrieval.embeddings import local_embedder

    corpus = Corpus.create(tmp_path / "c", "c", local_embedder(), chunking={"tokens": 768, "overlap": 128})
    asyncio.run(corpus.put_many(SHELF))
    again = Corpus.open(tmp_path / "c")
    assert again.record.chunking == {"tokens": 768, "overlap": 128}
    assert names(search(again, "parse the arguments of a command", 1)) == ["click"]

    record = tmp_path / "c" / "corpus.json"
    record.write_text(record.read_text().replace("wordllama-", "wordllama-0.0."))
    older = Corpus.open(tmp_path / "c")
    assert len(asyncio.run(older.repositories())) == 3  # needs no embedder
    with pytest.raises(InputError, match=r"made with the embedder wordllama-0\.0\."):
        search(older, "x")


def test_a_folder_that_holds_something_is_not_made_a_corpus(tmp_path: Path) -> None:
    filled(tmp_path / "c")
    with pytest.raises(InputError, match="holds a corpus already"):
        Corpus.create(tmp_path / "c", "c", WordEmbedder())
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "thesis.txt").touch()
    with pytest.raises(InputError, match=r"holds 'thesis\.txt' already"):
        Corpus.create(tmp_path / "d", "d", WordEmbedder())
    with pytest.raises(InputError, match="cannot hold a corpus"):
        Corpus.create(tmp_path / "d" / "thesis.txt" / "c", "c", WordEmbedder())
    with pytest.raises(InputError, match="no corpus there"):
        Corpus.open(tmp_path / "d")


RECORD = {"format": 1, "name": "c", "embedder": "words", "dimension": 32, "created": "", "chunks": 1, "chunking": {}}


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "\udc80", "[" * 100_000, json.dumps({**RECORD, "dimension": "many"})]
    + [json.dumps({name: value for name, value in RECORD.items() if name != missing}) for missing in RECORD],
)
def test_a_damaged_record_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "corpus.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match="no readable record"):
        Corpus.open(tmp_path)


def test_a_newer_format_is_told(tmp_path: Path) -> None:
    (tmp_path / "corpus.json").write_text(json.dumps({**RECORD, "format": 99}))
    with pytest.raises(InputError, match="format 99 is newer"):
        Corpus.open(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "removed", "noise"])
@pytest.mark.parametrize("kind", ["data/*.lance", "_versions/*.manifest", "_indices/*/*_invert.lance", "."])
def test_damaged_files_are_told(tmp_path: Path, kind: str, damage: str) -> None:
    filled(tmp_path / "c")
    table = tmp_path / "c" / "chunks.lance"
    for file in table.glob(kind) if kind != "." else [one for one in table.rglob("*") if one.is_file()]:
        content = file.read_bytes()
        if damage == "removed":
            file.unlink()
        else:
            file.write_bytes(content[: len(content) // 2] if damage == "cut" else random.Random(1).randbytes(4096))
    corpus = Corpus.open(tmp_path / "c", WordEmbedder())
    assert asyncio.run(corpus.check())
    with pytest.raises(InputError, match="build"):
        search(corpus, "http")


def test_lost_indexes_are_told_and_made_again(tmp_path: Path) -> None:
    corpus = filled(tmp_path / "c")
    for index in (tmp_path / "c" / "chunks.lance" / "_indices").iterdir():
        shutil.rmtree(index)
    assert "index of the text is missing or damaged" in asyncio.run(Corpus.open(corpus.folder).check())[0]
    again = Corpus.open(corpus.folder, WordEmbedder())
    asyncio.run(again.finish())
    assert asyncio.run(again.check()) == []
    assert names(search(again, "nested commands", 1, "text")) == ["click"]


def test_chunks_without_vectors_and_lost_chunks_are_told(tmp_path: Path) -> None:
    class Deaf(WordEmbedder):
        async def embed(self, texts: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
            return np.zeros((len(list(texts)), 32), np.float32)  # type: ignore[call-overload]

    corpus = Corpus.create(tmp_path / "c", "c", Deaf())
    asyncio.run(corpus.put_many(SHELF))
    asyncio.run(corpus.finish())
    record = tmp_path / "c" / "corpus.json"
    record.write_text(record.read_text().replace('"chunks": 7', '"chunks": 9'))
    faults = asyncio.run(Corpus.open(tmp_path / "c").check())
    assert faults[0] == "it holds 7 chunks, but 9 when it was finished"
    assert faults[1].startswith("7 chunks have no vector of length 1")
    assert names(search(corpus, "nested commands", 1)) == ["click"]  # by its words alone


def test_the_index_of_a_large_corpus_finds_what_exact_search_finds(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    centres = unit_rows(rng.normal(size=(60, 32)).astype(np.float32))
    rows = unit_rows(centres[rng.integers(60, size=6_100)] + 0.12 * rng.normal(size=(6_100, 32)).astype(np.float32))
    assert INDEXED_FROM <= 6_000

    class Numbered(WordEmbedder):
        async def embed(self, texts: object) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
            return rows[[int(text) for text in texts]]  # type: ignore[attr-defined]

    corpus = Corpus.create(tmp_path / "c", "c", Numbered())
    many = [repository(str(start), *map(str, range(start, start + 100))) for start in range(0, 6_000, 100)]

    async def recall() -> float:
        found = 0
        for query in range(6_000, 6_100):
            exact = np.argsort(-(rows[:6_000] @ rows[query]), kind="stable")[:5]
            hits = await corpus.search(str(query), 5, "vector")
            found += len({int(hit.chunk.text) for hit in hits} & {int(one) for one in exact})
            assert hits[0].similarity == pytest.approx(float(rows[int(hits[0].chunk.text)] @ rows[query]), abs=1e-5)
        return found / 500

    async def build_and_change() -> tuple[float, float]:
        await corpus.put_many(many)
        await corpus.finish()
        before = await recall()
        await corpus.put_many(many[:10])  # the same again: in place of what is indexed
        await corpus.remove(many[-1][0])
        await corpus.put(*many[-1])
        await corpus.finish()
        return before, await recall()

    before, after = asyncio.run(build_and_change())
    assert before >= 0.95 and after >= 0.95
    assert asyncio.run(corpus.check()) == []
    assert asyncio.run(corpus.search("6050", 3, "vector", exclude=[one[0] for one in many[1:]]))
