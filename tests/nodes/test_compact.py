"""Requests stay below a bound, and what matters least goes first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ContextTooLong
from engine.models.base import Answer, Message
from engine.models.tokens import estimate_messages
from nodes.compact import Prompt, ask_within, dropped, shortened


@pytest.fixture
def prompt(tmp_path: Path) -> Prompt:
    template = tmp_path / "p.md"
    template.write_text("slots: tree, spans, code\n\n=== user ===\n${tree}\n--\n${spans}\n--\n${code}\n")
    tree = "\n".join(f"pkg/m{n}.py in a tree of many" for n in range(20))
    spans = "\n\n".join("\n".join(f"line {n} of span {m}" for n in range(20)) for m in range(3))
    cuts = (("tree", shortened(0.5)), ("spans", shortened(0.5)), ("tree", dropped), ("spans", dropped))
    return Prompt(template, {"tree": tree, "spans": spans, "code": "x = 1\n" * 30}, cuts)


def test_nothing_is_cut_that_fits(prompt: Prompt) -> None:
    (message,) = prompt.within(10_000)
    assert "m19.py in a tree of many" in message.content
    assert "(cut)" not in message.content


def test_cuts_are_made_in_their_order_and_only_as_many_as_are_needed(prompt: Prompt) -> None:
    whole = estimate_messages(prompt.within(10_000))
    (message,) = prompt.within(whole - 1)
    assert ("pkg/m9.py" in message.content, "pkg/m10.py" in message.content) == (True, False)
    assert "line 19 of span 2" in message.content
    (message,) = prompt.within(350)
    assert ("line 9 of span 2" in message.content, "line 10 of span 2" in message.content) == (True, False)


@given(limit=st.integers(1, 900))
def test_a_request_is_never_over_the_bound(tmp_path_factory: pytest.TempPathFactory, limit: int) -> None:
    template = tmp_path_factory.mktemp("p") / "p.md"
    template.write_text("slots: a, b\n\n=== user ===\n${a}\n${b}\n")
    prompt = Prompt(template, {"a": "word\n" * 300, "b": "keep\n" * 50}, (("a", shortened(0.5)), ("a", dropped)))
    try:
        messages = prompt.within(limit)
    except ContextTooLong as error:
        assert error.limit == limit
        assert limit < 80
    else:
        assert estimate_messages(messages) <= limit
        assert messages[0].content.count("keep") == 50


def test_a_model_that_reads_less_is_asked_again_with_less_until_nothing_can_be_cut(prompt: Prompt) -> None:
    asked: list[int] = []

    async def ask(messages: Sequence[Message]) -> Answer:
        asked.append(estimate_messages(messages))
        if asked[-1] > 300:
            raise ContextTooLong("too long", limit=300)
        return Answer("done", "m", "stop", input_tokens=1, output_tokens=1)

    answer, messages = asyncio.run(ask_within(prompt, 10_000, ask))
    assert (answer.text, len(asked)) == ("done", 2)
    assert estimate_messages(messages) <= 300

    async def refuse(messages: Sequence[Message]) -> Answer:
        raise ContextTooLong("too long", limit=None)

    with pytest.raises(ContextTooLong, match=r"params\.context\.max_tokens"):
        asyncio.run(ask_within(prompt, 10_000, refuse))
