"""Answers that were cut off are continued, JSON that is wrong is asked for again once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from engine.errors import AnswerError, ModelError
from engine.models.base import Answer, Decoding, Message, Request
from engine.models.conversation import complete_json, complete_text
from engine.models.scripted import Said, ScriptedModel

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def part(text: str, finish: str = "length", **more: Any) -> Answer:
    return Answer(text, "m", finish, input_tokens=10, output_tokens=5, cached_tokens=2, **more)


def text_of(answers: Sequence[Said], **more: Any) -> tuple[Answer, ScriptedModel]:
    model = ScriptedModel(answers)
    request = Request("a#1", "m", (Message("user", "go"),), Decoding(max_output_tokens=50))
    return asyncio.run(complete_text(model.answer, request, **more)), model


def json_of(answers: Sequence[Said]) -> tuple[Any, Answer, ScriptedModel]:
    model = ScriptedModel(answers)
    data, answer = asyncio.run(
        complete_json(model.answer, Request("a#1", "m", (Message("user", "go"),), schema=SCHEMA))
    )
    return data, answer, model


def test_a_whole_answer_is_one_call() -> None:
    answer, model = text_of(["done"])
    assert (answer.text, model.calls) == ("done", 1)


def test_parts_are_joined_and_counted() -> None:
    answer, model = text_of([part("one, two, ", cost=0.5), part("three, ", cost=None), part("four", "stop", cost=0.25)])
    assert answer.text == "one, two, three, four"
    assert answer.finish_reason == "stop"
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens, answer.cost) == (30, 15, 6, 0.75)
    last = model.requests[-1]
    assert [one.role for one in last.messages] == ["user", "assistant", "user"]
    assert last.messages[1].content == "one, two, three, "
    assert last.place == "a#1"


def test_an_answer_that_stays_cut_off_says_so() -> None:
    answer, model = text_of([part(f"part {number} of it, ") for number in range(9)], max_parts=3)
    assert (answer.finish_reason, model.calls) == ("length", 3)
    assert answer.text == "part 0 of it, part 1 of it, part 2 of it, "


def test_an_answer_without_text_is_an_error_that_names_the_limit() -> None:
    with pytest.raises(ModelError, match=r"50 output tokens.*max_output_tokens"):
        text_of([part("")])


def test_sound_json_is_one_call() -> None:
    data, _, model = json_of(['```json\n{"n": 1}\n```'])
    assert (data, model.calls) == ({"n": 1}, 1)


@pytest.mark.parametrize(
    ("first", "reason"), [("oh", "no JSON"), ('{"n": "x"}', "$.n"), ('{"n": 1,}', "property name")]
)
def test_a_fault_is_told_once(first: str, reason: str) -> None:
    data, answer, model = json_of([part(first, "stop"), part('{"n": 2}', "stop")])
    assert data == {"n": 2}
    assert answer.output_tokens == 10
    told = model.requests[1].messages
    assert told[1] == Message("assistant", first)
    assert reason in told[2].content
    assert model.requests[1].schema == SCHEMA


def test_a_second_fault_is_an_error_with_the_text() -> None:
    with pytest.raises(AnswerError, match=r"a#1.*after one re-ask.*no JSON") as caught:
        json_of(["oh", "no"])
    assert caught.value.text == "no"


def test_json_that_was_cut_off_is_continued_without_its_schema() -> None:
    data, _, model = json_of([part('{"n"'), part(": 3}", "stop")])
    assert data == {"n": 3}
    assert model.requests[1].schema is None
