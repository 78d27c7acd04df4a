"""Measures everything, prints one table and writes it to docs/benchmarks.md.

python -m bench [--twins FOLDER] [--index]
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench import (
    corpus_building,
    cost,
    folder,
    makespan,
    memory,
    overlap,
    preprocessing,
    resume,
    retrieval,
    retrieval_quality,
    sandboxes,
    startup,
)
from bench.figures import Figure, Skipped, table

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
TEXT = """# Benchmarks

`make bench` measures this and writes this page. What is a ratio was measured side by side in one run, so that a slow or
busy machine slows down both sides. A figure that misses its target stands as it is, marked.

{date}, {machine}, {minutes:.1f} minutes.

{table}

- *Makespan*: simulated latencies of 10 to 100 ms; nothing can end before the critical path of the dependencies does,
  nor before the busiest lane. The waves are one LangGraph `Send` per item and one wave per layer, without checkpoints,
  with the same items, latencies and lanes.
- *QA beside the next layer*: the flow's own nodes, four developers; a model call takes 0.3 s in the middle, a run in
  the sandbox 0.2 s, both simulated.
- *Engine per map item*: a whole map node whose answers take no time: expressions, checks, journal, budget and events.
- *Run folder*: the record, flow, checkpoints, journal and events of a run in which developers write files of 4 kB, over
  the bytes of the answers alone. What was asked is kept too.
- *Resume*: a map whose items ask a model and do nothing else, and developers who also check, compare and commit what
  was answered. What an item gave back is in the journal, so none of its work is done again.
- *Sandboxes*: a command of Python that does nothing, in a sandbox that is open already and gives it half a core, from
  the call to the record of how it ended. In podman the containers are warm: one after the other uses the same.
- *Peak memory*: of the whole process of a map with one model call per file.
- *Building*: generated repositories of twelve modules, read, cut, embedded and indexed with as many processes as there
  are cores; memory is that of all of them together.
- *Hits*: forty needs, each a sentence that names no package, and the packages a person would name for it; the best
  chunk of each package counts. Vectors are those of the local embedder.
- *Corpus*: pieces of 200 characters of the source files that are installed here, as the local embedder sees them; 300
  other pieces are the queries. FAISS, NumPy and the corpus answer each in turn, for the same 5 nearest; the corpus also
  reads the chunks found. Both graphs have 20 neighbours, 150 candidates when built, 200 when searched. FAISS is not
  installed with flowrun: `.venv/bin/pip install faiss-cpu`.
- *Cleaned documents* are compared when a folder of them is given: `make bench TWINS=FOLDER`.
"""


def measure(twins: Path | None, index: bool) -> Iterator[Figure | Skipped]:
    """Every figure, one after the other."""
    yield from startup.measure()
    yield from makespan.measure()
    yield from overlap.measure()
    yield from cost.measure()
    yield from folder.measure()
    yield from resume.measure()
    yield from memory.measure()
    yield from sandboxes.measure()
    yield from preprocessing.measure(twins)
    yield from retrieval.measure()
    yield from corpus_building.measure()
    if index:
        yield from retrieval_quality.measure()
    else:
        yield Skipped(
            "retrieval: hits", "it takes some sixty packages from the package index; allow it: make bench INDEX=1"
        )


def machine() -> str:
    """The kind of machine, without its name."""
    cores = f"{os.cpu_count()} cores"
    return ", ".join((cores, platform.system(), platform.machine(), f"Python {platform.python_version()}"))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--twins", type=Path, help="a folder with one folder per document: original.md, cleaned.md")
    parser.add_argument("--index", action="store_true", help="also measure what needs the package index")
    given = parser.parse_args()
    began, figures = time.monotonic(), []
    for figure in measure(given.twins, given.index):
        figures.append(figure)
        print(f"  {figure.what}", file=sys.stderr, flush=True)
    minutes = (time.monotonic() - began) / 60
    print(table(figures))
    date = time.strftime("%Y-%m-%d")
    text = TEXT.format(date=date, machine=machine(), minutes=minutes, table=table(figures))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
