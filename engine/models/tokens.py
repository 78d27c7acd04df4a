"""How many tokens a text is, before anyone has counted."""

from __future__ import annotations

from collections.abc import Iterable

from engine.models.base import Message

_PER_MESSAGE = 4  # what a chat template adds around each message


def estimate_tokens(text: str) -> int:
    """About one token per four bytes of UTF-8, rounded up: near for English and code, high for other scripts."""
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


def estimate_messages(messages: Iterable[Message]) -> int:
    """The estimated tokens of a conversation."""
    return sum(estimate_tokens(one.content) + _PER_MESSAGE for one in messages)
