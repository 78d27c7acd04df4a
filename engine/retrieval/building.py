"""Builds a corpus: sources are made into chunks, screened, and put in; what did not change is left alone.

A build that was killed goes on when it is started again: what is in the corpus by then is not made anew.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from engine.errors import InputError
from engine.retrieval.base import Chunk
from engine.retrieval.corpus import Corpus
from engine.retrieval.making import Made, Maker, Screen
from engine.retrieval.workers import Workers

Status = Literal["added", "changed", "unchanged", "excluded", "failed"]
EXCLUDED = "excluded.json"
_BATCH_CHUNKS, _BATCH_SECONDS = 1_000, 10.0


@dataclass(frozen=True)
class Outcome:
    """What became of a source, or of a repository that was in the corpus already (then `source` is its origin)."""

    source: str
    status: Status
    repository: str = ""
    reason: str = ""
    files: int = 0
    chunks: int = 0


Tell = Callable[[Outcome], None]


async def build_corpus(corpus: Corpus, maker: Maker, sources: Sequence[str], jobs: int, tell: Tell) -> list[Outcome]:
    """Bring the sources into the corpus; `tell` hears of each. Raises InputError when the corpus cannot be written."""
    async with corpus.writing():
        build = _Build(corpus, maker.screen(), tell)
        await build.begin()
        async for source, result in Workers(maker, build.digests, jobs).results(sources):
            await build.take(source, result)
        await build.end()
    return build.outcomes


def read_excluded(corpus: Corpus) -> list[Outcome]:
    """What earlier builds kept out of a corpus, and why."""
    try:
        told = json.loads((corpus.folder / EXCLUDED).read_text(encoding="utf-8"))
        return [Outcome(**one) for one in told]
    except (OSError, ValueError, TypeError):
        return []


class _Build:
    def __init__(self, corpus: Corpus, screen: Screen, tell: Tell) -> None:
        self._corpus, self._screen, self._tell = corpus, screen, tell
        self.outcomes: list[Outcome] = []
        self.digests: dict[str, str] = {}
        self._removed: dict[str, Outcome] = {}  # of what was there before, what was taken out and no source told
        self._origins: dict[str, str] = {}  # of what was there before, by origin without version
        self._batch: list[tuple[str, str, Sequence[Chunk]]] = []
        self._since = time.monotonic()

    async def begin(self) -> None:
        """Screen what is in the corpus: the list of targets may be another than it was."""
        for entry in await self._corpus.repositories():
            chunks = await self._corpus.chunks(entry.repository)
            reason = self._screen.judge(chunks)
            if reason:
                await self._corpus.remove(entry.repository)
                self._removed[entry.repository] = Outcome(entry.origin, "excluded", entry.repository, reason)
            else:
                self.digests[entry.repository] = entry.digest
                self._origins[_unversioned(entry.origin)] = entry.repository

    async def take(self, source: str, result: Made | str) -> None:
        """One source's result, into the corpus if it may be there."""
        if isinstance(result, str):
            self._done(Outcome(source, "failed", reason=result))
        elif result.excluded:
            there = result.repository if result.repository in self.digests else None
            await self._leave_out(source, result, result.excluded, there)
        elif result.chunks is None:
            self._done(Outcome(source, "unchanged", result.repository, files=result.files))
        else:
            await self._put(source, result, result.chunks)

    async def end(self) -> None:
        """Write what is left, and keep what was left out."""
        await self._write()
        for one in self._removed.values():
            self._done(one)
        excluded = {(one.source, one.repository): one for one in read_excluded(self._corpus)}
        for one in self.outcomes:
            excluded.pop((one.source, one.repository), None)
            if one.status == "excluded":
                excluded[one.source, one.repository] = one
        told = [asdict(one) for _, one in sorted(excluded.items())]
        half = self._corpus.folder / f"{EXCLUDED}.half"
        try:
            half.write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", errors="replace")
            half.replace(self._corpus.folder / EXCLUDED)
        except OSError as error:
            raise InputError(f"{half}: cannot be written: {error.strerror}") from error
        if self._changed or not self._corpus.record.finished:
            await self._corpus.finish()

    @property
    def _changed(self) -> bool:
        return any(one.status in ("added", "changed", "excluded") for one in self.outcomes)

    async def _put(self, source: str, made: Made, chunks: tuple[Chunk, ...]) -> None:
        earlier = self._origins.pop(_unversioned(chunks[0].origin), None)
        if earlier is not None:
            self._screen.forget(earlier)
        reason = self._screen.judge(chunks)
        if reason:
            await self._leave_out(source, made, reason, earlier)
            return
        if earlier not in (None, made.repository):
            await self._corpus.remove(str(earlier))
        status: Status = "added" if earlier is None else "changed"
        self._done(Outcome(source, status, made.repository, files=made.files, chunks=len(chunks)))
        self._batch.append((made.repository, made.digest, chunks))
        waiting = sum(len(one) for _, _, one in self._batch)
        if waiting >= _BATCH_CHUNKS or time.monotonic() - self._since > _BATCH_SECONDS:
            await self._write()

    async def _leave_out(self, source: str, made: Made, reason: str, earlier: str | None = None) -> None:
        """Record it, and take out what is there of it."""
        self._removed.pop(made.repository, None)
        if earlier is not None:
            await self._corpus.remove(earlier)
        self._done(Outcome(source, "excluded", made.repository, reason, made.files))

    async def _write(self) -> None:
        if self._batch:
            await self._corpus.put_many(self._batch)
        self._batch, self._since = [], time.monotonic()

    def _done(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._tell(outcome)


def _unversioned(origin: str) -> str:
    """An origin without what names a version of it: "pypi:click" of "pypi:click==8.5.1"."""
    return origin.partition("==")[0]
