"""How many tokens a text is, before anyone has counted."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from engine.models.base import Message

_PER_MESSAGE = 4  # what a chat template adds around each message
_LONGEST_COUNTED = 200_000  # characters
_SOURCE = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def estimate_tokens(text: str) -> int:
    """About one token per four bytes of UTF-8, rounded up: near for English and code, high for other scripts."""
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


def estimate_messages(messages: Iterable[Message]) -> int:
    """The estimated tokens of a conversation."""
    return sum(estimate_tokens(one.content) + _PER_MESSAGE for one in messages)


def count_tokens(text: str, model: str) -> tuple[int, bool]:
    """The tokens of a text for a model, and whether they were counted; else they are estimated.

    They are counted where tiktoken knows the model and has its vocabulary on this machine; nothing is downloaded. A
    very long text is estimated, as counting may take time that grows with the square of a word's length.
    """
    encoding = _encoding(model) if len(text) <= _LONGEST_COUNTED else None
    if encoding is None:
        return estimate_tokens(text), False
    return len(encoding.encode(text, disallowed_special=())), True


def count_messages(messages: Iterable[Message], model: str) -> int:
    """The tokens of a conversation for a model, counted or estimated."""
    return sum(count_tokens(one.content, model)[0] + _PER_MESSAGE for one in messages)


@cache
def _encoding(model: str) -> Any:
    """tiktoken's encoding of a model, or None."""
    import tiktoken

    try:
        name = tiktoken.encoding_name_for_model(model)
        return tiktoken.get_encoding(name) if _is_here(name) else None
    except (KeyError, ValueError, OSError):
        return None


def _is_here(encoding: str) -> bool:
    """Whether tiktoken has a vocabulary in its cache, where it keeps files under the hash of their address."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR") or os.environ.get("DATA_GYM_CACHE_DIR")
    place = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    return (place / hashlib.sha1(_SOURCE.format(encoding).encode()).hexdigest()).is_file()  # noqa: S324 - a file name
