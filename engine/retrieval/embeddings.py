"""Embedders: one that comes with a package and needs no network, and any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engine.errors import InputError
from engine.retrieval.base import Embedder

if TYPE_CHECKING:
    from wordllama import WordLlamaInference

LOCAL = "local"
_WEIGHTS, _LOCAL_DIMENSION = "l2_supercat", 256
_LOCAL_LONGEST = 32_000  # characters; no more of a text is looked at


class LocalEmbedder:
    """Averaged word vectors (wordllama), from the installed package alone: quick, deterministic, English."""

    def __init__(self) -> None:
        self.name = f"wordllama-{version('wordllama')}/{_WEIGHTS}_{_LOCAL_DIMENSION}"
        self.dimension = _LOCAL_DIMENSION
        self._model: WordLlamaInference | None = None

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, of length 1, or zeros for an empty text."""
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._model is None:
            self._model = _load_wordllama()
        # One at a time: no faster in batches, and a text's vector does not depend on its neighbours.
        rows = self._model.embed([plain(text)[:_LOCAL_LONGEST] for text in texts], batch_size=1)
        return unit_rows(np.asarray(rows, np.float32))


def local_embedder() -> Embedder:
    """The embedder that every installation has. It never downloads."""
    return LocalEmbedder()


def open_embedder(name: str, *, dimension: int | None = None) -> Embedder:
    """The embedder of a name: "local", or what a corpus recorded. Raises InputError for one that is not known."""
    if name == LOCAL or name.startswith("wordllama-"):
        return LocalEmbedder()
    raise InputError(f"no embedder '{name}'; there is: {LOCAL}")


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; what has no length stays zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def _load_wordllama() -> WordLlamaInference:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        import wordllama

        # The package looks for the tokenizer beside itself under another name than it has, and in its cache under this.
        return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    except (ImportError, OSError) as error:
        raise InputError(f"the local embedder cannot be loaded: {error}; install wordllama again") from error
    finally:
        root.setLevel(level)  # wordllama configures the program's logging when it is imported
        root.handlers[:] = handlers


def plain(text: str) -> str:
    """A text that can be stored and sent: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()
