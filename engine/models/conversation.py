"""Longer exchanges about one request: answers that were cut off, JSON that does not satisfy its schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from engine.errors import AnswerError, ModelError
from engine.models.base import Answer, Message, Request
from engine.models.joining import join
from engine.models.structured import parse_json, schema_faults

__all__ = ["complete_json", "complete_text", "parse_json"]

Ask = Callable[[Request], Awaitable[Answer]]

GO_ON = (
    "Your answer was cut off by the length limit. Go on exactly where it stopped, with the next character: "
    "no introduction, no repetition, no new code fence."
)


async def complete_text(ask: Ask, request: Request, *, max_parts: int = 4) -> Answer:
    """An answer in up to `max_parts` parts, joined; its tokens and cost are the sum.

    An answer that is still cut off then says so: its finish_reason is "length". Raises ModelError when a first part
    has no text at all.
    """
    answer = await ask(request)
    if answer.finish_reason == "length" and not answer.text.strip():
        raise ModelError(
            f"{request.place}: the model used all {request.decoding.max_output_tokens} output tokens without saying "
            "anything (it may have spent them on thinking); raise model.max_output_tokens"
        )
    for _ in range(max_parts - 1):
        if answer.finish_reason != "length":
            break
        more = await ask(replace(_extended(request, answer.text, GO_ON), schema=None))  # half a value breaks any schema
        text = join(answer.text, more.text)
        if text == answer.text and more.finish_reason == "length":
            break
        answer = _sum(answer, more, text)
    return answer


async def complete_json(ask: Ask, request: Request) -> tuple[Any, Answer]:
    """A JSON value that satisfies the request's schema, and the answer that held it (tokens of all parts).

    An answer that is no JSON or breaks the schema is asked for again once, with what is wrong.
    Raises AnswerError if that one is unusable too.
    """
    answer = await complete_text(ask, request)
    try:
        return _checked(answer.text, request), answer
    except ValueError as error:
        complaint = (
            f"That answer cannot be used: {error}\nAnswer again with the whole JSON, corrected, and nothing else."
        )
    again = await complete_text(ask, _extended(request, answer.text, complaint))
    total = _sum(answer, again, again.text)
    try:
        return _checked(again.text, request), total
    except ValueError as error:
        raise AnswerError(
            f"{request.place}: the answer is unusable after one re-ask: {error}", text=again.text
        ) from error


def _checked(text: str, request: Request) -> Any:
    data = parse_json(text)
    faults = schema_faults(data, request.schema) if request.schema is not None else []
    if faults:
        raise ValueError("it breaks the schema:\n" + "\n".join(f"  {one}" for one in faults))
    return data


def _extended(request: Request, said: str, then: str) -> Request:
    turns = (Message("assistant", said), Message("user", then)) if said.strip() else (Message("user", then),)
    return replace(request, messages=(*request.messages, *turns))


def _sum(first: Answer, more: Answer, text: str) -> Answer:
    costs = [one for one in (first.cost, more.cost) if one is not None]
    return replace(
        more,
        text=text,
        input_tokens=first.input_tokens + more.input_tokens,
        output_tokens=first.output_tokens + more.output_tokens,
        cached_tokens=first.cached_tokens + more.cached_tokens,
        estimated=first.estimated or more.estimated,
        cost=sum(costs) if costs else None,
    )
