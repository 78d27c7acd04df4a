"""Where the user's corpora are, and how one is named: by a name, or by the path of its folder."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import InputError
from engine.retrieval.record import is_corpus

if TYPE_CHECKING:
    from engine.retrieval.corpus import Corpus

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}")


def corpora_folder() -> Path:
    """The folder that holds them: FLOWRUN_CORPORA, or `flowrun/corpora` in the user's data folder."""
    if given := os.environ.get("FLOWRUN_CORPORA"):
        return Path(given).expanduser()
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "flowrun" / "corpora"


def corpus_folder(name: str) -> Path:
    """The folder of a corpus, whether or not there is one. Raises InputError for what is no name and no path."""
    if "/" in name or os.sep in name or name in (".", ".."):
        return Path(name).expanduser()
    if not _NAME.fullmatch(name):
        raise InputError(f"'{name}' is no name of a corpus: use letters, digits, '.', '_', '-', or a path with a '/'")
    return corpora_folder() / name


def find_corpus(name: str) -> Path | None:
    """The folder of a corpus that is there, or None."""
    folder = corpus_folder(name)
    return folder if is_corpus(folder) else None


def list_corpora() -> list[Path]:
    """The folders of the user's named corpora, by name."""
    folder = corpora_folder()
    return sorted(one for one in folder.iterdir() if is_corpus(one)) if folder.is_dir() else []


async def content_digest(corpus: Corpus) -> str:
    """A digest of what a corpus holds and how it is searched: equal for corpora that give the same answers."""
    lines = [
        corpus.record.embedder,
        *(f"{name}\t{digest}" for name, digest in sorted((await corpus.digests()).items())),
    ]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()
