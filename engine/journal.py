"""The journal of effects: nothing that was paid for is paid for twice.

Every effect that costs money or time is looked up by key before it is made, and recorded in one transaction before its
result is used. The key is a hash of the format version, the kind of effect, its place in the flow and the exact
request. It holds no run id and no flow name: a resumed run, a fork and an edited flow find what they have in common.

Results and other contents are blobs, stored once by SHA-256, compressed, and verified when they are read.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sqlite3
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import JournalError
from engine.models.base import digest
from engine.places import read_place

KEY_FORMAT = 1  # part of every key: another one finds nothing of what was recorded before
WALL, CONCLUSION = "wall seconds", "conclusion"  # a fork begins with neither
_LONG = 512  # strings from this length on are blobs of their own, so that a repeated prompt is kept once
_PART = 2048  # and so are their paragraphs from this length on, so that what many prompts share is kept once
# Step n makes format n out of format n - 1. Steps are only ever added: an older journal goes through those it lacks.
_STEPS = (
    """
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE blobs (hash TEXT PRIMARY KEY, data BLOB NOT NULL); -- with rowids it is half the size
    CREATE TABLE effects (
        key TEXT PRIMARY KEY, kind TEXT NOT NULL, place TEXT NOT NULL, request TEXT NOT NULL, result TEXT NOT NULL,
        tokens INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0, at REAL NOT NULL,
        used INTEGER NOT NULL DEFAULT 1 -- 0: brought along by a fork, not part of this run so far
    ) WITHOUT ROWID;
    """,
    "CREATE INDEX effects_by_place ON effects (place);",
    """
    ALTER TABLE effects ADD COLUMN role TEXT NOT NULL DEFAULT '';
    ALTER TABLE effects ADD COLUMN input INTEGER NOT NULL DEFAULT 0; -- tokens, of those in `tokens`
    ALTER TABLE effects ADD COLUMN cached INTEGER NOT NULL DEFAULT 0; -- and of those, in the cache of the endpoint
    ALTER TABLE effects ADD COLUMN drifted INTEGER NOT NULL DEFAULT 0; -- 1: a recorded answer to another question
    """,
)
_AT_PLACE = "kind = 'model' AND (place = ? OR (place >= ? AND place < ?))"


@dataclass(frozen=True)
class Effect:
    """A looked-up or newly made effect.

    reused   it was there already
    counted  it counts among this run's effects already; False the first time that this run uses it
    """

    result: dict[str, Any]
    reused: bool
    counted: bool


@dataclass(frozen=True)
class Totals:
    """What a journal's effects of one kind add up to."""

    count: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True)
class Usage:
    """What model calls took.

    cached_tokens  how many of the input tokens an endpoint had in its cache
    cost           in US dollars, as far as prices are known
    drifted        how many were answered with a recorded answer to another question
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float
    drifted: int


class Journal:
    """One run's journal, in one SQLite file. Raises JournalError when that file is damaged or of a newer format."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._flying: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._database = sqlite3.connect(path, isolation_level=None)
        try:
            with self._guarded():
                self._prepare()
        except BaseException:
            self._database.close()
            raise

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        found = int(self._database.execute("PRAGMA user_version").fetchone()[0])
        if found > len(_STEPS):
            raise JournalError(
                f"{self._path}: format {found} is newer than this flowrun knows ({len(_STEPS)}); update flowrun"
            )
        for number, step in enumerate(_STEPS[found:], start=found + 1):
            self._database.executescript(f"BEGIN; {step} PRAGMA user_version = {number}; COMMIT;")

    async def effect(
        self,
        kind: str,
        place: str,
        request: Mapping[str, Any],
        perform: Callable[[], Awaitable[dict[str, Any]]],
        role: str = "",
    ) -> Effect:
        """One effect; `perform` is awaited only when it is not there yet. `role` says for whom a model is asked.

        An equal effect that is being made at this moment is waited for, not made twice. A `perform` that raises leaves
        no trace.
        """
        key = effect_key(kind, place, request)
        known = self.lookup(key)
        if known is not None:
            return known
        flying = self._flying.get(key)
        if flying is not None:
            return Effect(await asyncio.shield(flying), reused=True, counted=True)
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._flying[key] = future
        try:
            result = await perform()
            self.record(key, kind, place, request, result, role)
        except BaseException as error:
            future.set_exception(error)
            future.exception()  # nobody may be waiting
            raise
        finally:
            del self._flying[key]
        future.set_result(result)
        return Effect(result, reused=False, counted=False)

    def lookup(self, key: str) -> Effect | None:
        """The recorded effect under a key, or None; from now on it counts among this run's."""
        with self._guarded():
            row = self._database.execute("SELECT result, used FROM effects WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            if not row[1]:
                self._database.execute("UPDATE effects SET used = 1 WHERE key = ?", (key,))
            return Effect(self._load(row[0]), reused=True, counted=bool(row[1]))

    def record(
        self, key: str, kind: str, place: str, request: Mapping[str, Any], result: Mapping[str, Any], role: str = ""
    ) -> None:
        """Write one effect down, whole or not at all."""
        read, written, cached = (int(result.get(f"{what}_tokens") or 0) for what in ("input", "output", "cached"))
        with self._guarded(), self._transaction():
            row = (
                key,
                kind,
                place,
                self._store(request),
                self._store(result),
                read + written,
                result.get("cost") or 0.0,
                time.time(),
                role,
                read,
                cached,
                bool(result.get("drifted")),
            )
            self._database.execute("INSERT OR IGNORE INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?)", row)

    def put(self, data: Any) -> str:
        """Keep plain data as a blob; returns its hash."""
        with self._guarded(), self._transaction():
            return self._store(data)

    def get(self, reference: str) -> Any:
        """The data behind a hash that `put` returned."""
        with self._guarded():
            return self._load(reference)

    def totals(self, kind: str) -> Totals:
        """How many effects of a kind this run is made of, and what they cost."""
        with self._guarded():
            row = self._database.execute(
                "SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(cost), 0) FROM effects"
                " WHERE kind = ? AND used",
                (kind,),
            ).fetchone()
        return Totals(*row)

    def totals_by_place(self, kind: str) -> dict[str, Totals]:
        """The same, by place."""
        with self._guarded():
            rows = self._database.execute(
                "SELECT place, count(*), sum(tokens), sum(cost) FROM effects WHERE kind = ? AND used GROUP BY place",
                (kind,),
            ).fetchall()
        return {place: Totals(*numbers) for place, *numbers in rows}

    def usage_by_role(self) -> dict[str, Usage]:
        """What this run's model calls took, by the role that they were made for."""
        with self._guarded():
            rows = self._database.execute(
                "SELECT role, count(*), sum(input), sum(tokens) - sum(input), sum(cached), sum(cost),"
                " sum(drifted) FROM effects"
                " WHERE kind = 'model' AND used GROUP BY role ORDER BY role"
            ).fetchall()
        return {role: Usage(*numbers) for role, *numbers in rows}

    def use_place(self, place: str) -> tuple[int, Totals]:
        """Let the model calls at a place count among this run's: how many there are, and the sum of the new ones."""
        span = (place, f"{place}:", f"{place};")  # a place and its steps: ";" is the character after ":"
        with self._guarded():
            rows = self._database.execute(
                f"SELECT used, count(*), sum(tokens), sum(cost) FROM effects WHERE {_AT_PLACE} GROUP BY used",  # noqa: S608
                span,
            ).fetchall()
            fresh = next((Totals(*numbers) for used, *numbers in rows if not used), Totals())
            if fresh.count:
                self._database.execute(f"UPDATE effects SET used = 1 WHERE {_AT_PLACE}", span)  # noqa: S608
        return sum(row[1] for row in rows), fresh

    def copy_for_fork(self, path: Path, steps: Iterable[tuple[str, int]]) -> None:
        """Copy this journal for a fork that goes on after `steps` (node, visit); the rest is there to be reused."""
        kept = set(steps)
        with self._guarded():
            self._database.execute("VACUUM INTO ?", (str(path),))
            with closing(sqlite3.connect(path)) as copy, copy:
                copy.execute("UPDATE effects SET used = 0")
                copy.execute("DELETE FROM meta WHERE name IN (?, ?)", (WALL, CONCLUSION))
                for (text,) in copy.execute("SELECT DISTINCT place FROM effects").fetchall():
                    place = read_place(text)
                    if (place.node, place.visit) in kept:
                        copy.execute("UPDATE effects SET used = 1 WHERE place = ?", (text,))

    def meta(self, name: str, default: str = "") -> str:
        """A small value kept beside the effects."""
        with self._guarded():
            row = self._database.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return default if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        """Keep a small value beside the effects."""
        with self._guarded():
            self._database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _store(self, data: Any) -> str:
        text = json.dumps(self._fold(data), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return self._store_text(text)

    def _store_text(self, text: str) -> str:
        raw = text.encode("utf-8", "surrogatepass")
        name = hashlib.sha256(raw).hexdigest()
        if self._database.execute("SELECT 1 FROM blobs WHERE hash = ?", (name,)).fetchone() is None:
            self._database.execute("INSERT INTO blobs VALUES (?, ?)", (name, zlib.compress(raw, 6)))
        return name

    def _load(self, name: str) -> Any:
        return self._unfold(json.loads(self._load_text(name)))

    def _load_text(self, name: str) -> str:
        row = self._database.execute("SELECT data FROM blobs WHERE hash = ?", (name,)).fetchone()
        raw = zlib.decompress(row[0]) if row else b""
        if row is None or hashlib.sha256(raw).hexdigest() != name:
            raise JournalError(
                f"{self._path}: blob {name[:12]} is missing or damaged; this run cannot be trusted further"
            )
        return raw.decode("utf-8", "surrogatepass")

    def _fold(self, data: Any) -> Any:
        if isinstance(data, str):
            return self._fold_text(data)
        if isinstance(data, Mapping):
            return {name: self._fold(value) for name, value in data.items()}
        return [self._fold(value) for value in data] if isinstance(data, list | tuple) else data

    def _fold_text(self, text: str) -> Any:
        if len(text) < _LONG:
            return text
        parts = _parts(text)
        if len(parts) == 1:
            return {"$text": self._store_text(text)}
        return {"$parts": [one if len(one) < _LONG else {"$text": self._store_text(one)} for one in parts]}

    def _unfold(self, data: Any) -> Any:
        if isinstance(data, dict):
            if data.keys() == {"$text"}:
                return self._load_text(data["$text"])
            if data.keys() == {"$parts"}:
                return "".join(self._unfold(one) for one in data["$parts"])
            return {name: self._unfold(value) for name, value in data.items()}
        return [self._unfold(value) for value in data] if isinstance(data, list) else data

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zlib.error, UnicodeError, json.JSONDecodeError) as error:
            remedy = "make room, then resume" if "full" in str(error) else "restore the file, or run the flow anew"
            raise JournalError(f"{self._path}: {error}; {remedy}") from error


def effect_key(kind: str, place: str, request: Mapping[str, Any]) -> str:
    """The identity of an effect."""
    return digest([KEY_FORMAT, kind, place, request])


def _parts(text: str) -> list[str]:
    """The long paragraphs of a text, and what stands between them; joined they are the text."""
    parts: list[str] = []
    after_long = True
    for paragraph in filter(None, re.split(r"(?<=\n\n)", text)):
        long = len(paragraph) >= _PART
        if long or after_long:
            parts.append(paragraph)
        else:
            parts[-1] += paragraph
        after_long = long
    return parts
