"""The client against a real server over real HTTP: what goes out, what comes back, what is worked around."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from engine.models.base import Answer, Decoding, Message, Request
from engine.models.conversation import complete_json
from engine.models.openai import OpenAIModel
from engine.models.patience import Patience
from engine.models.spec import ModelSpec
from tests.support.openai_server import Body, OpenAIServer, says, status

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
REQUEST = Request("a#1", "test-model", (Message("system", "Be good."), Message("user", "Say hello.")), Decoding(seed=7))
STRUCTURED = Request("b#1", "test-model", REQUEST.messages, Decoding(seed=7), SCHEMA)
Events = list[tuple[str, Mapping[str, Any]]]


def ask(
    server: OpenAIServer, *requests: Request, events: Events | None = None, price: Mapping[str, float] | None = None
) -> list[Answer]:
    """Ask all at once."""

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if events is not None:
            events.append((kind, data))

    async def all_of_them() -> list[Answer]:
        spec = ModelSpec("test-model", server.url, price=price, patience=Patience(first=0.01))
        model = OpenAIModel(spec, on_event=heard, environment={"OPENAI_API_KEY": "x"})
        try:
            return list(await asyncio.gather(*(model.answer(one) for one in requests)))
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def test_a_plain_answer() -> None:
    with OpenAIServer(cached_tokens=2) as server:
        [answer] = ask(server, REQUEST)
    [body] = server.requests
    assert body["model"] == "test-model"
    assert body["messages"] == [
        {"role": "system", "content": "Be good."},
        {"role": "user", "content": "Say hello."},
    ]
    assert (body["temperature"], body["top_p"], body["max_tokens"], body["seed"]) == (0.2, 0.95, 8192, 7)
    assert body["stream"] is True
    assert "response_format" not in body
    assert (answer.text, answer.model, answer.finish_reason) == ("hello there", "test-model", "stop")
    assert (answer.input_tokens, answer.output_tokens, answer.cached_tokens, answer.estimated) == (5, 3, 2, False)
    assert answer.cost is None


def test_cost_counts_cached_tokens_apart() -> None:
    with OpenAIServer(cached_tokens=2) as server:
        [answer] = ask(server, REQUEST, price={"input": 10.0, "output": 100.0, "cached": 1.0})
    assert answer.cost == pytest.approx((3 * 10 + 2 * 1 + 3 * 100) / 1e6)


def test_any_text_goes_there_and_back() -> None:
    text = "äöü ✓ 𝄞 \u2028 {braces} ${dollar} \x00 \r\n\t end"
    with OpenAIServer(answer=lambda body: body["messages"][-1]["content"]) as server:
        [answer] = ask(server, Request("a", "test-model", (Message("user", text),)))
        [broken] = ask(server, Request("a", "test-model", (Message("user", "half \ud800 pair"),)))
    assert answer.text == text
    assert broken.text == "half ? pair"


def test_the_schema_goes_where_the_endpoint_looks_for_it() -> None:
    with OpenAIServer(answer=lambda body: '{"n": 1}') as server:
        [answer] = ask(server, STRUCTURED)
    [body] = server.requests
    assert answer.text == '{"n": 1}'
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "properties" not in json.dumps(body["messages"])


def schema_in_prompt(body: Body) -> bool:
    return "JSON Schema" in json.dumps(body["messages"])


@pytest.mark.parametrize("lacks", ["json_schema", "stream_options", "seed", "temperature", "top_p", "system", "stream"])
def test_what_is_lacking_is_found_once_and_worked_around(lacks: str) -> None:
    events: Events = []
    with OpenAIServer(answer=lambda body: '{"n": 1}', lacks={lacks}) as server:

        async def in_turn() -> None:
            model = OpenAIModel(
                ModelSpec("test-model", server.url),
                on_event=lambda kind, data: events.append((kind, data)),
                environment={"OPENAI_API_KEY": "x"},
            )
            for _ in range(3):
                assert (await model.answer(STRUCTURED)).text == '{"n": 1}'
            await model.close()

        asyncio.run(in_turn())
    assert len(server.requests) == 4
    assert [kind for kind, _ in events] == ["model workaround"]
    assert lacks in events[0][1]["what"]
    if lacks == "json_schema":
        assert all(schema_in_prompt(body) for body in server.requests[1:])


def test_parallel_calls_learn_together() -> None:
    with OpenAIServer(answer=lambda body: '{"n": 1}', lacks={"json_schema", "system", "stream_options"}) as server:
        answers = ask(
            server, *[Request(f"a#{number}", "test-model", REQUEST.messages, schema=SCHEMA) for number in range(16)]
        )
    assert [one.text for one in answers] == ['{"n": 1}'] * 16


def test_the_other_name_of_the_output_limit() -> None:
    with OpenAIServer(lacks={"max_tokens"}) as server:
        ask(server, REQUEST)
    assert server.requests[-1]["max_completion_tokens"] == 8192


def test_an_endpoint_that_ignores_the_schema_is_told_it_in_words() -> None:
    events: Events = []
    with OpenAIServer(answer=lambda body: '{"n": 1}' if schema_in_prompt(body) else "Sure, one!") as server:
        [answer] = ask(server, STRUCTURED, events=events)
    assert answer.text == '{"n": 1}'
    assert answer.output_tokens > len('{"n": 1}') // 4 + 1  # the useless answer was paid for too
    assert [data["what"] for _, data in events] == ["ignores response_format"]
    assert len(server.requests) == 2


def test_an_endpoint_that_breaks_on_a_schema_is_told_it_in_words() -> None:
    def breaks(number: int) -> Any:
        return status(500, "Internal Server Error") if "response_format" in server.requests[number] else None

    with OpenAIServer(answer=lambda body: '{"n": 1}', faults=breaks) as server:
        answers = ask(server, STRUCTURED)
    assert answers[0].text == '{"n": 1}'
    assert schema_in_prompt(server.requests[-1])


def test_a_schema_is_checked_and_asked_for_again() -> None:
    said = iter(['{"n": "one"}', '{"n": 1}'])
    with OpenAIServer(answer=lambda body: next(said)) as server:

        async def asked() -> Any:
            model = OpenAIModel(ModelSpec("test-model", server.url), environment={"OPENAI_API_KEY": "x"})
            data, _ = await complete_json(model.answer, STRUCTURED)
            await model.close()
            return data

        assert asyncio.run(asked()) == {"n": 1}
    assert "is not of type 'integer'" in server.requests[1]["messages"][-1]["content"]


def test_counts_are_estimated_where_there_are_none() -> None:
    with OpenAIServer(counts=False) as server:
        [answer] = ask(server, REQUEST)
    assert answer.estimated
    assert (answer.input_tokens, answer.output_tokens) == (13, 3)


def test_the_output_limit_is_lowered_to_what_the_endpoint_gives() -> None:
    with OpenAIServer(most_output=4096) as server:
        ask(server, REQUEST)
    assert [body["max_tokens"] for body in server.requests] == [8192, 4096]


def test_the_output_limit_is_lowered_to_what_the_context_leaves() -> None:
    with OpenAIServer(context=3000) as server:
        ask(server, REQUEST)
    assert server.requests[-1]["max_tokens"] == 3000 - 4


def test_a_cut_off_answer_says_so_even_if_the_endpoint_does_not() -> None:
    request = Request("a", "test-model", REQUEST.messages, Decoding(max_output_tokens=3))
    with OpenAIServer(faults=[says("hello", "length"), says("hello there", "stop")]) as server:
        assert ask(server, request)[0].finish_reason == "length"
        assert ask(server, request)[0].finish_reason == "length"


def test_a_silently_cut_prompt_is_warned_of() -> None:
    events: Events = []
    request = Request("a", "test-model", (Message("user", "word " * 9000),))

    def cut(exchange: Any) -> None:
        exchange.body["messages"][0]["content"] = exchange.body["messages"][0]["content"][-8000:]
        exchange.answer("hello")

    with OpenAIServer(faults=[cut]) as server:
        ask(server, request, events=events)
    assert [kind for kind, _ in events] == ["model warning"]
    assert "read 2001 of about 11254 tokens" in events[0][1]["what"]


def test_samples_are_drawn_from_seeds_of_their_own() -> None:
    with OpenAIServer() as server:
        ask(server, REQUEST, Request("a", "test-model", REQUEST.messages, Decoding(seed=7), sample=1))
    assert sorted(body["seed"] for body in server.requests) == [7, 8]
