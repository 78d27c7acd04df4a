"""Forks writers that are to be killed; all is imported once. Reads corpus folders from standard input, one a line.

A writer puts the same repository in again and again, larger and smaller, until it is killed. Each time its texts all
say one number, which its digest says too. It says its process id after the first time.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from pathlib import Path

import engine.retrieval.table  # noqa: F401 - imported before the forks
from engine.retrieval.corpus import Corpus
from tests.support.small_corpora import WordEmbedder, repository

SIZES = (40, 5, 90)


async def write(folder: Path) -> None:
    corpus = Corpus.open(folder, WordEmbedder())
    async with corpus.writing():
        for number in itertools.count():
            size = SIZES[number % len(SIZES)]
            await corpus.put(*repository("busy", *[f"version {number}"] * size, digest=f"{number}/{size}"))
            if number % 10 == 9:
                await corpus.finish()
            if number == 0:
                print(os.getpid(), flush=True)


for line in sys.stdin:
    if os.fork() == 0:
        asyncio.run(write(Path(line.strip())))
