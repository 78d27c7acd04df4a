"""corpus.json: what a corpus is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import InputError

FORMAT = 1
_FILE = "corpus.json"
_TYPES: dict[str, Any] = {
    "name": str,
    "embedder": str,
    "dimension": int,
    "created": str,
    "chunks": int | None,
    "chunking": dict,
}


@dataclass(frozen=True)
class Record:
    """What a corpus is.

    embedder   the embedder's name, and `dimension` its vectors' length
    created    when, in UTC
    chunks     how many there were when it was finished; None while it is written, or after a build that was stopped
    chunking   how the texts were cut, in their maker's words
    """

    name: str
    embedder: str
    dimension: int
    created: str
    chunks: int | None = None
    chunking: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def finished(self) -> bool:
        """Whether nothing was written since the indexes were made."""
        return self.chunks is not None


def is_corpus(folder: Path) -> bool:
    """Whether a folder says that it is a corpus."""
    return (folder / _FILE).is_file()


def read_record(folder: Path) -> Record:
    """What a corpus folder says of itself. Raises InputError if it is none, is damaged, or is of a newer format."""
    file = folder / _FILE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] > FORMAT:
            raise InputError(f"{file}: format {data['format']} is newer than this flowrun knows ({FORMAT}); update it")
        return Record(**{name: _typed(data[name], name, kind) for name, kind in _TYPES.items()})
    except FileNotFoundError as error:
        raise InputError(f"{folder}: no corpus there; make one with: flowrun corpus build") from error
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = f"it lacks {error}" if isinstance(error, KeyError) else error
        raise InputError(f"{file}: no readable record of a corpus: {why}; remove the folder, build it again") from error


def write_record(folder: Path, record: Record) -> None:
    """Write it in one step. Raises InputError where that cannot be done."""
    half = folder / f"{_FILE}.half"
    try:
        half.write_text(json.dumps({"format": FORMAT, **asdict(record)}, indent=2) + "\n", encoding="utf-8")
        half.replace(folder / _FILE)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}") from error


def _typed(value: Any, name: str, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"'{name}' is {value!r:.40}")
    return value
