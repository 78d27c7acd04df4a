"""How large a run's folder is, without the repository, over what passed through it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
from bench.project import answer
from bench.runs import flow_of, run_whole
from engine.models.base import Request

SIZES = (100, 1_000)


def folder_sizes(files: int) -> tuple[int, int, int]:
    """Bytes of the folder without `repo/`, of the answers, and of what was asked, for a run over so many files."""
    asked = said = 0

    def script(request: Request) -> str:
        nonlocal asked, said
        text = answer(request)
        asked += sum(len(one.content.encode()) for one in request.messages)
        said += len(text.encode())
        return text

    with tempfile.TemporaryDirectory() as folder:
        run = run_whole(flow_of("develop", files), Path(folder), script).run.path
        kept = [
            one.stat().st_size for one in run.rglob("*") if one.is_file() and "repo" not in one.relative_to(run).parts
        ]
    return sum(kept), said, asked


def measure() -> Iterator[Figure]:
    """Over the answers alone: what was asked comes on top and is kept as well."""
    for files in SIZES:
        kept, said, asked = folder_sizes(files)
        parts = f"{kept / 1e6:.2f} MB kept; answers {said / 1e6:.2f} MB, prompts {asked / 1e6:.1f} MB"
        yield Figure(f"run folder without repository over answers, {files:,} files", kept / said, "x", 3, detail=parts)
