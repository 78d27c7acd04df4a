"""A writer is killed at any instant, and readers look on: a repository is there as it was, or as it is to be."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.locks import is_locked
from engine.retrieval.corpus import Corpus
from tests.support.command import ROOT, clean_environment
from tests.support.small_corpora import WordEmbedder, repository

KILLS = 8


class Writers:
    """A process whose children write to corpora."""

    def __init__(self) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "tests.retrieval.writer"]
        pipe = subprocess.PIPE
        self.parent = subprocess.Popen(command, cwd=ROOT, env=clean_environment(), stdin=pipe, stdout=pipe, text=True)

    def start(self, folder: Path) -> int:
        """A writer that has written once; its process id."""
        assert self.parent.stdin is not None and self.parent.stdout is not None
        self.parent.stdin.write(f"{folder}\n")
        self.parent.stdin.flush()
        return int(self.parent.stdout.readline())


def kill(writer: int, folder: Path) -> None:
    os.kill(writer, signal.SIGKILL)
    while is_locked(folder / "lock"):
        time.sleep(0.005)


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    writers = Writers()
    yield writers
    writers.parent.kill()
    writers.parent.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = Corpus.create(tmp_path / "c", "c", WordEmbedder())
    asyncio.run(corpus.put(*repository("quiet", "version of another thing")))
    return corpus.folder


async def version_of(corpus: Corpus) -> str:
    """What the busy repository says it is; fails unless all of it says the same."""
    texts = [one.text for one in await corpus.chunks("busy")]
    assert texts and set(texts) == {texts[0]}
    return f"{texts[0].removeprefix('version ')}/{len(texts)}"


def test_a_killed_write_is_whole_or_not_there(writers: Writers, folder: Path) -> None:
    chance = random.Random(11)
    for _ in range(KILLS):
        writer = writers.start(folder)
        time.sleep(chance.uniform(0.0, 0.4))
        kill(writer, folder)
        corpus = Corpus.open(folder, WordEmbedder())
        version = asyncio.run(version_of(corpus))
        assert asyncio.run(corpus.digests()) == {"busy": version, "quiet": "1"}
    asyncio.run(corpus.finish())  # by the process that comes after
    assert asyncio.run(corpus.check()) == []
    assert asyncio.run(version_of(corpus)) == version


def test_readers_see_the_old_or_the_new(writers: Writers, folder: Path) -> None:
    writer = writers.start(folder)
    corpus = Corpus.open(folder, WordEmbedder())

    async def read() -> set[str]:
        seen = set()
        for _ in range(40):
            seen.add(await version_of(corpus))
            hits = await corpus.search("version", 200)
            assert len({hit.chunk.text for hit in hits if hit.chunk.repository == "busy"}) == 1
            assert {hit.chunk.repository for hit in hits} == {"busy", "quiet"}
        return seen

    try:
        assert len(asyncio.run(read())) > 1
        with pytest.raises(InputError, match=f"held by process {writer}"):
            asyncio.run(corpus.put(*repository("quiet", "a second writer")))
    finally:
        kill(writer, folder)
