"""Building a corpus: what changed is brought in, what must not be there is not, and no source stops the others."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from engine.retrieval.base import Chunk
from engine.retrieval.building import Outcome, build_corpus, read_excluded
from engine.retrieval.corpora import content_digest
from engine.retrieval.corpus import Corpus
from engine.retrieval.embeddings import local_embedder
from tests.support.makers import ScriptedMaker


def build(folder: Path, *sources: str) -> list[Outcome]:
    corpus = Corpus.open(folder) if (folder / "corpus.json").exists() else Corpus.create(folder, "t", local_embedder())
    told: list[Outcome] = []
    outcomes = asyncio.run(build_corpus(corpus, ScriptedMaker(), sources, 1, told.append))
    assert told == outcomes
    assert asyncio.run(Corpus.open(folder).check()) == []
    return outcomes


def statuses(outcomes: Sequence[Outcome]) -> list[str]:
    return [one.status for one in outcomes]


def digests(folder: Path) -> dict[str, str]:
    return asyncio.run(Corpus.open(folder).digests())


def test_a_source_that_fails_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    sources = [f"ok:r{n} 1:text" for n in range(3)]
    sources[1:1] = ["bad:x:it is broken", "die:y:", "bug:z:oh no", "memory:w:", "fork:f 1:text"]
    outcomes = build(tmp_path, *sources)
    assert [one.source for one in outcomes] == sources
    assert [one.reason for one in outcomes if one.status == "failed"] == [
        "it is broken",
        "reading it brought its process down",
        "ValueError: oh no",
        "needs more than 3 GB of memory",
    ]
    assert sorted(digests(tmp_path)) == ["r0 1", "r1 1", "r2 1"]
    assert [(one.repository, one.reason) for one in read_excluded(Corpus.open(tmp_path))] == [("f 1", "a fork")]


def test_only_what_changed_is_brought_in_and_what_must_not_be_there_goes(tmp_path: Path) -> None:
    first = build(tmp_path, "ok:a 1:one", "ok:b 1:one", "ok:a 2:one")
    assert statuses(first) == ["added", "added", "excluded"]
    assert first[2].reason == "the same as a 1"
    assert digests(tmp_path) == {"a 1": "one", "b 1": "one"}
    second = build(tmp_path, "ok:a 1:one", "ok:b 1:two", "ok:c 1:one", "ok:d 1:one")
    assert statuses(second) == ["unchanged", "changed", "added", "added"]
    third = build(tmp_path, "ok:b 2:new", "ok:c 1:secret", "fork:d 1:fork")
    assert statuses(third) == ["changed", "excluded", "excluded"]
    assert digests(tmp_path) == {"a 1": "one", "b 2": "new"}
    assert [one.repository for one in read_excluded(Corpus.open(tmp_path))] == ["d 1", "a 2", "c 1"]


def test_the_digest_of_a_corpus_is_of_its_content(tmp_path: Path) -> None:
    def digest(name: str, *repositories: tuple[str, str]) -> str:
        async def fill() -> str:
            corpus = Corpus.create(tmp_path / name, name, local_embedder())
            for repository, text in repositories:
                await corpus.put(repository, text, [Chunk(repository, "", "", "readme", 0, text)])
            return await content_digest(corpus)

        return asyncio.run(fill())

    assert digest("one", ("a", "x"), ("b", "y")) == digest("two", ("b", "y"), ("a", "x"))
    assert digest("three", ("a", "x"), ("b", "z")) != digest("four", ("a", "x"), ("b", "y"))
