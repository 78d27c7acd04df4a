"""The embedder that every installation has: averaged word vectors (wordllama), from the installed package alone."""

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
from engine.retrieval.vectors import plain, unit_rows

if TYPE_CHECKING:
    from wordllama import WordLlamaInference

PREFIX = "wordllama-"
_WEIGHTS, _DIMENSION = "l2_supercat", 256
_LONGEST = 32_000  # characters; no more of a text is looked at


class LocalEmbedder:
    """Quick, deterministic, for English; it never downloads."""

    def __init__(self) -> None:
        self.name = f"{PREFIX}{version('wordllama')}/{_WEIGHTS}_{_DIMENSION}"
        self.dimension = _DIMENSION
        self._model: WordLlamaInference | None = None

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, of length 1, or zeros for an empty text. Raises InputError if the package is damaged."""
        return await asyncio.to_thread(self._embed, texts)

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._model is None:
            self._model = _load()
        # One at a time: no slower than in batches, and a text's vector does not depend on its neighbours.
        rows = self._model.embed([plain(text)[:_LONGEST] for text in texts], batch_size=1)
        return unit_rows(np.asarray(rows, np.float32).reshape(-1, _DIMENSION))


def _load() -> WordLlamaInference:
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        import wordllama

        # Its own search beside itself misses the tokenizer by an "s"; a cache is laid out as the package is.
        return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
    except (ImportError, OSError) as error:
        raise InputError(f"the local embedder cannot be loaded: {error}; install wordllama again") from error
    finally:
        root.setLevel(level)  # wordllama configures the program's logging when it is imported
        root.handlers[:] = handlers
