"""Does a search find what a person would name? Forty needs in words, some sixty known packages, each mode.

    python -m bench.retrieval_quality [--corpus FOLDER] [-v]

The packages' source archives come from the package index that pip uses, so this is no part of a plain `make bench`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from bench.figures import Figure, Skipped, table
from engine.errors import FlowrunError
from engine.retrieval.base import Mode
from engine.retrieval.building import Outcome, build_corpus
from engine.retrieval.corpus import Corpus
from engine.retrieval.embeddings import local_embedder
from engine.retrieval.making import open_maker

_PACKAGES = """
alembic apscheduler arrow attrs babel beautifulsoup4 black boltons bottle cachetools cattrs celery chess click
colorama croniter diskcache docopt dulwich faker falcon feedparser flask geopy hypothesis icalendar invoke
isort itsdangerous jinja2 jsonschema lark loguru markdown marshmallow mistune more-itertools networkx nox
openpyxl paramiko peewee pexpect pint pydantic pyjwt pyparsing pypdf pytest python-dotenv qrcode requests rich
rq scrapy simpy sqlalchemy tabulate tenacity tinydb tomlkit tqdm watchdog websockets
"""

# What somebody needs, and the packages that a person would name for it.
_NEEDS: tuple[tuple[str, str], ...] = (
    (
        "Build command line programs with subcommands, options and generated help pages",
        "click docopt invoke",
    ),
    ("Show a progress bar while a long loop is running", "tqdm rich"),
    ("Print pretty tables, colours and formatted text in the terminal", "rich tabulate"),
    ("Format lists of rows as plain text tables with aligned columns", "tabulate rich"),
    ("Make ANSI colours work on Windows consoles", "colorama"),
    ("Compute the next run times of a cron expression", "croniter apscheduler"),
    ("Run jobs at intervals, on dates or on cron-like schedules inside a program", "apscheduler"),
    ("A queue of background jobs that workers process, kept in Redis", "rq celery"),
    ("Distribute tasks over many worker machines through a message broker", "celery"),
    ("Friendly handling of dates, times and time zones with human readable differences", "arrow"),
    ("Read and write calendar files with events and reminders", "icalendar"),
    ("A small web framework in one file without dependencies", "bottle flask"),
    ("Web application framework with routing and templates", "flask bottle falcon"),
    ("Build fast REST APIs and microservices with resource classes", "falcon flask"),
    ("Fetch web pages over HTTP with sessions, cookies and timeouts", "requests"),
    ("Two-way communication between browser and server over a persistent connection", "websockets"),
    ("Crawl web sites, follow links and extract structured data", "scrapy"),
    ("Parse messy HTML and pull data out of the tags", "beautifulsoup4"),
    ("Parse RSS and Atom news feeds", "feedparser"),
    ("Object relational mapper and SQL toolkit for many databases", "sqlalchemy peewee"),
    ("Simple and small ORM for SQLite and PostgreSQL", "peewee sqlalchemy"),
    ("Database schema migrations with upgrade and downgrade scripts", "alembic"),
    ("A tiny document database that keeps JSON in a file", "tinydb"),
    ("Cache results on disk so that they survive a restart", "diskcache"),
    ("In-memory caches with least recently used and time to live eviction", "cachetools"),
    ("Template engine that renders HTML from variables, loops and inheritance", "jinja2"),
    ("Convert Markdown text to HTML", "markdown mistune"),
    ("Validate JSON documents against a schema", "jsonschema"),
    ("Validate and parse input data into typed models using annotations", "pydantic marshmallow attrs cattrs"),
    ("Serialise objects to and from plain dictionaries with schemas", "marshmallow cattrs pydantic"),
    ("Write a grammar and get a parser with a syntax tree", "lark pyparsing"),
    ("Discrete event simulation of processes that share resources", "simpy"),
    ("Create graphs with nodes and edges, find shortest paths and communities", "networkx"),
    ("Legal moves, board positions and game notation for chess", "chess"),
    ("Physical quantities with units and conversions between them", "pint"),
    ("Generate fake names, addresses and phone numbers for test data", "faker"),
    ("Property-based testing that generates examples and shrinks failures", "hypothesis"),
    ("Retry a function that fails, with exponential backoff", "tenacity"),
    ("Watch a folder and react when files change", "watchdog"),
    ("Read, split and merge PDF documents", "pypdf"),
)


def measure(folder: Path | None = None) -> Iterator[Figure | Skipped]:
    """Hits of each mode, and the build's throughput and memory."""
    with tempfile.TemporaryDirectory() as temporary:
        try:
            yield from _measure(folder or Path(temporary) / "packages")
        except FlowrunError as error:
            yield Skipped("retrieval: quality", str(error))


def _measure(folder: Path) -> Iterator[Figure | Skipped]:
    corpus = Corpus.open(folder) if folder.exists() else _create(folder)
    if not corpus.record.finished:
        yield from _built(corpus)
    for mode in get_args(Mode):
        ranks = asyncio.run(_ranks(corpus, mode))
        for k in (1, 5):
            hits = sum(rank <= k for rank in ranks)
            yield Figure(f"retrieval by {mode}: hit@{k}", hits / len(ranks), "", detail=f"{hits} of {len(ranks)} needs")


def _built(corpus: Corpus) -> Iterator[Figure]:
    began = time.monotonic()
    outcomes = asyncio.run(_build(corpus, [f"pypi:{name}" for name in _PACKAGES.split()]))
    seconds = time.monotonic() - began
    failed = [one for one in outcomes if one.status in ("failed", "excluded")]
    for one in failed:
        print(f"  {one.source}: {one.reason}", file=sys.stderr)
    files, made = sum(one.files for one in outcomes), [one for one in outcomes if one.status == "added"]
    if made:
        detail = f"{len(made)} packages, {files} files, {sum(one.chunks for one in made)} chunks, downloads included"
        yield Figure("corpus of packages: files read a second", files / seconds, "files/s", detail=detail)


def _create(folder: Path) -> Corpus:
    folder.parent.mkdir(parents=True, exist_ok=True)
    return Corpus.create(folder, folder.name, local_embedder())


async def _build(corpus: Corpus, sources: Sequence[str]) -> list[Outcome]:
    maker = open_maker("nodes.references.maker:ReferenceMaker")
    return await build_corpus(corpus, maker, maker.expand(sources), os.cpu_count() or 1, lambda outcome: None)


async def _ranks(corpus: Corpus, mode: Mode) -> list[int]:
    """For each need the place of the first right package among the repositories found, counted from 1."""
    ranks = []
    for need, right in _NEEDS:
        hits = await corpus.best_by_repository(need, 10, mode)
        names = [hit.chunk.repository.partition(" ")[0] for hit in hits]
        ranks.append(next((place for place, name in enumerate(names, start=1) if name in right.split()), 99))
        if "-v" in sys.argv:
            print(f"{mode:<7} {ranks[-1]:>3} {need[:60]:<60} {names[:5]}", file=sys.stderr)
    return ranks


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.retrieval_quality", description=__doc__)
    parser.add_argument("--corpus", type=Path, help="keep the corpus here, and use it when it is there")
    parser.add_argument("-v", action="store_true", help="show what was found")
    given = parser.parse_args()
    print(table(list(measure(given.corpus))))


if __name__ == "__main__":
    main()
