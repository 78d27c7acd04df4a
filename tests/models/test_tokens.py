"""Tokens before anyone has counted."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from engine.models import tokens
from engine.models.base import Message
from engine.models.tokens import _encoding, count_messages, count_tokens, estimate_tokens


@given(st.text(st.characters()), st.text(st.characters()))
def test_the_estimate_grows_with_the_text(text: str, more: str) -> None:
    assert 0 <= estimate_tokens(text) <= estimate_tokens(text + more) <= estimate_tokens(text) + estimate_tokens(more)
    assert (estimate_tokens(text) == 0) == (text == "")


@pytest.mark.parametrize("model", ["gpt-4o", "qwen2.5-coder"])
def test_without_a_vocabulary_the_count_is_an_estimate(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # a download would fail, and be seen
    _encoding.cache_clear()
    assert count_tokens("some words <|endoftext|>", model) == (6, False)
    _encoding.cache_clear()


def test_with_a_vocabulary_tokens_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = {bytes([number]): number for number in range(256)}
    letter_by_letter = tiktoken.Encoding(
        "letters", pat_str=r"\S+|\s", mergeable_ranks=letters, special_tokens={"<|x|>": 256}
    )
    monkeypatch.setattr(tokens, "_encoding", lambda model: letter_by_letter if model == "known" else None)
    assert count_tokens("words <|x|>", "known") == (11, True)  # nothing in a prompt is a special token
    assert count_messages([Message("user", "words"), Message("assistant", "é")], "known") == 5 + 2 + 2 * 4
    assert count_messages([Message("user", "words")], "other") == 2 + 4
    assert count_tokens("a" * 300_000, "known") == (75_000, False)
