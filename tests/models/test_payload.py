"""A request in the words of the protocol."""

from __future__ import annotations

from typing import Any

import pytest

from engine.models.base import Decoding, Message, Request
from engine.models.features import Features, Plan
from engine.models.payload import body_of, is_strict, messages_of

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
TALK = (
    Message("system", "Be good.\n"),
    Message("user", "Ask."),
    Message("assistant", "No."),
    Message("user", "Again."),
)
REQUEST = Request("a#1", "m", TALK, Decoding(seed=7), SCHEMA, sample=2)


def plan(features: Features | None = None, **more: Any) -> Plan:
    return (features or Features(**more)).plan(SCHEMA, 8192)


def test_all_that_an_endpoint_takes() -> None:
    assert messages_of(REQUEST, plan()) == [(one.role, one.content) for one in TALK]
    body = body_of(REQUEST, plan())
    assert body.pop("response_format")["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    assert body == {"max_tokens": 8192, "temperature": 0.2, "top_p": 0.95, "seed": 9}


def test_what_an_endpoint_lacks_is_left_out() -> None:
    body = body_of(
        REQUEST, plan(lacking={"seed", "temperature", "top_p", "json_schema"}, tokens_name="max_completion_tokens")
    )
    assert body == {"max_completion_tokens": 8192}


@pytest.mark.parametrize("lacking", [{"json_schema"}, {"json_schema", "system"}])
def test_the_schema_stands_once_in_the_first_user_message(lacking: Any) -> None:
    messages = messages_of(REQUEST, plan(lacking=lacking))
    [told] = [text for _, text in messages if '"properties"' in text]
    assert told.startswith("Be good.\n\nAsk.\n\n" if "system" in lacking else "Ask.\n\n")
    assert [role for role, _ in messages][-3:] == ["user", "assistant", "user"]
    assert messages[-1] == ("user", "Again.")


def test_a_request_of_a_system_message_alone_is_still_a_question() -> None:
    request = Request("a", "m", TALK[:1])
    assert messages_of(request, plan(lacking={"system"})) == [("user", "Be good.")]


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (SCHEMA, True),
        ({"type": "string"}, True),
        ({"type": "object"}, False),
        ({**SCHEMA, "required": []}, False),
        ({**SCHEMA, "additionalProperties": True}, False),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {}}}}, False),
        ({"anyOf": [SCHEMA, {"type": "object"}]}, False),
        ({**SCHEMA, "properties": {"n": {"type": "object"}}}, False),
    ],
)
def test_strict_mode_only_where_it_is_taken(schema: Any, strict: bool) -> None:
    assert is_strict(schema) is strict
