"""The parameters of retrieval, a flow's `params.rag`, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from engine.errors import InputError

_MODES = ("auto", "vector", "text", "hybrid")


@dataclass(frozen=True)
class Limits:
    """From which similarity on a found repository is left out, 0 to 1; 1.01 switches a filter off.

    near_duplicate   of two found texts, by MinHash
    task_text        part of the shorter text's runs of words that the requirements have too
    task_similarity  cosine to the requirements
    """

    near_duplicate: float = 0.8
    task_text: float = 0.3
    task_similarity: float = 0.95

    @classmethod
    def read(cls, given: Any) -> Limits:
        """Limits from parameters. Raises InputError for what is none."""
        if not isinstance(given, Mapping):
            raise InputError("params.rag.filters: must be a group of thresholds")
        known = [one.name for one in fields(cls)]
        for name, value in given.items():
            if name not in known:
                raise InputError(f"params.rag.filters.{name}: unknown; known: {', '.join(known)}")
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1.01:
                raise InputError(f"params.rag.filters.{name}: {value!r} is no number from 0 to 1.01")
        return cls(**given)


@dataclass(frozen=True)
class Settings:
    """What to retrieve.

    corpus, required  its name or path, and whether there must be one
    top_k, tokens     how many references, and how long each may be
    mode              how chunks are ranked; "auto": by cosine, and where the corpus has the local embedder by words too
    base_url          where the corpus's embedding model answers, if it is not where OPENAI_BASE_URL says
    """

    corpus: str = "default"
    top_k: int = 5
    tokens: int = 768
    mode: str = "auto"
    base_url: str = ""
    required: bool = False
    filters: Limits = field(default_factory=Limits)

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Settings:
        """Settings from parameters. Raises InputError naming what does not fit."""
        told: dict[str, Any] = {"filters": Limits.read(given.get("filters", {}))}
        for name, kind in _KINDS.items():
            if name in given:
                if type(given[name]) is not kind:
                    raise InputError(f"params.rag.{name}: {given[name]!r} is no {kind.__name__}")
                told[name] = given[name]
        read = cls(**told)
        if read.mode not in _MODES:
            raise InputError(f"params.rag.mode: '{read.mode}' is unknown; known: {', '.join(_MODES)}")
        if not 1 <= read.top_k <= 50:
            raise InputError(f"params.rag.top_k: {read.top_k} is not from 1 to 50")
        if read.tokens < 64:
            raise InputError(f"params.rag.tokens: {read.tokens} is less than the 64 that a reference needs")
        return read


_KINDS: Mapping[str, type] = {
    "corpus": str,
    "top_k": int,
    "tokens": int,
    "mode": str,
    "base_url": str,
    "required": bool,
}
