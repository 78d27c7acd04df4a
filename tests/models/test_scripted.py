"""The scripted model says what it is told to."""

from __future__ import annotations

import asyncio

import pytest

from engine.errors import ModelError
from engine.models.base import Answer, Message, Request
from engine.models.scripted import ScriptedModel

REQUEST = Request("a#1", "m", (Message("user", "question"),))


def test_a_function_sees_the_request() -> None:
    model = ScriptedModel(lambda request: request.place.upper(), name="big")
    answer = asyncio.run(model.answer(REQUEST))
    assert (answer.text, answer.model, answer.estimated) == ("A#1", "big", True)
    assert answer.input_tokens > 0 < answer.output_tokens
    assert model.requests == [REQUEST]


def test_a_list_is_said_in_order_and_runs_out() -> None:
    model = ScriptedModel(["one", Answer("two", "other"), ModelError("three")])
    assert asyncio.run(model.answer(REQUEST)).text == "one"
    assert asyncio.run(model.answer(REQUEST)).model == "other"
    with pytest.raises(ModelError, match="three"):
        asyncio.run(model.answer(REQUEST))
    with pytest.raises(ModelError, match="3 answers; a#1"):
        asyncio.run(model.answer(REQUEST))
    assert model.calls == 4
