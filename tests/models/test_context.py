"""What real servers say of a request that is too long, over real HTTP: an error with the limit, or a shorter answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from engine.errors import ContextTooLong
from engine.models.base import Answer, Decoding, Message, Request
from engine.models.openai import OpenAIModel
from engine.models.patience import Patience
from engine.models.spec import ModelSpec
from tests.support.openai_server import Exchange, Fault, OpenAIServer

ASKED = 8192
REQUEST = Request("cto#1", "test-model", (Message("user", "word " * 1600),), Decoding(max_output_tokens=ASKED))


def openai(message: str, code: str | None = "context_length_exceeded") -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}}


def vllm(message: str) -> dict[str, Any]:
    return {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}


def llama_cpp(message: str, **more: int) -> dict[str, Any]:
    return {"error": {"code": 400, "message": message, "type": "exceed_context_size_error", **more}}


TOO_LONG = {
    "OpenAI": (
        openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 10010 tokens. "
            "Please reduce the length of the messages."
        ),
        8192,
    ),
    "OpenAI, newer": (
        openai(
            "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300010 tokens. "
            "Please reduce the length of the messages."
        ),
        272000,
    ),
    "Azure": (
        openai(
            "This model's maximum context length is 16385 tokens. However, you requested 24592 tokens (16400 in the "
            "messages, 8192 in the completion). Please reduce the length of the messages or completion."
        ),
        16385,
    ),
    "vLLM": (
        vllm(
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, "
            "Please reduce the length of the messages."
        ),
        4096,
    ),
    "vLLM, newer": (
        {
            "error": vllm(
                "You passed 4097 input tokens and requested 8192 output tokens. However, the model's context length "
                "is only 4096 tokens, resulting in a maximum input length of 0 tokens. Please reduce the length of "
                "the input prompt. (parameter=input_tokens, value=4097)"
            )
        },
        4096,
    ),
    "llama.cpp": (
        llama_cpp(
            "request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it",
            n_prompt_tokens=9001,
            n_ctx=4096,
        ),
        4096,
    ),
    "llama.cpp, older": (
        llama_cpp(
            "the request exceeds the available context size. try increasing the context size or enable context shift"
        ),
        None,
    ),
    "Ollama": ({"error": {"message": "the input length exceeds the context length", "type": "api_error"}}, None),
    "LM Studio": (
        {
            "error": "Trying to keep the first 5021 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context "
            "length, or provide a shorter input"
        },
        4096,
    ),
    "LM Studio, newer": (
        {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length "
            "(n_keep: 5021>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter "
            "input."
        },
        4096,
    ),
    "TGI": (
        {
            "error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 5021",
            "error_type": "validation",
        },
        4095,
    ),
    "Mistral": (
        {
            "object": "error",
            "message": "Prompt contains 40021 tokens, too large for model with 32768 maximum context length",
        },
        32768,
    ),
    "Gemini": (
        {
            "error": {
                "message": "The input token count (1200021) exceeds the maximum number of tokens allowed (1048576)."
            }
        },
        1048576,
    ),
    "Anthropic": ({"error": {"message": "prompt is too long: 210021 tokens > 200000 maximum"}}, 200000),
}


def ask(server: OpenAIServer) -> Answer:
    async def asked() -> Answer:
        spec = ModelSpec("test-model", server.url, patience=Patience(first=0.01))
        model = OpenAIModel(spec, environment={})
        try:
            return await model.answer(REQUEST)
        finally:
            await model.close()

    return asyncio.run(asked())


def refusal(body: dict[str, Any], *, in_stream: bool) -> Fault:
    def refuse(exchange: Exchange) -> None:
        if not in_stream:
            exchange.json(400, body)
            return
        exchange.begin_stream()
        exchange.event(body)
        exchange.end_stream()

    return refuse


@pytest.mark.parametrize(
    ("server", "in_stream"),
    [(name, way) for name, (body, _) in TOO_LONG.items() for way in (False, True) if "error" in body or not way],
)
def test_a_prompt_that_is_too_long_is_told_with_the_limit(server: str, in_stream: bool) -> None:
    body, limit = TOO_LONG[server]
    with OpenAIServer(faults=[refusal(body, in_stream=in_stream)]) as running, pytest.raises(ContextTooLong) as caught:
        ask(running)
    assert caught.value.limit == limit
    assert len(running.requests) == 1
    assert "Lower model.max_input_tokens" in str(caught.value)


@pytest.mark.parametrize(
    ("most", "says"),
    [
        (4096, "max_tokens is too large: {asked}. This model supports at most 4096 completion tokens, whereas you "
               "provided {asked}."),
        (4096, "max_tokens: {asked} > 4096, which is the maximum allowed number of output tokens for x-3"),
        (4096, "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
        (2000, "'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context length is "
               "4000 tokens and your request has 2000 input tokens ({asked} > 4000 - 2000)."),
        (2000, "This model's maximum context length is 4000 tokens. However, you requested {total} tokens (2000 in the "
               "messages, {asked} in the completion). Please reduce the length of the messages or completion."),
        (2000, "You passed 2000 input tokens and requested {asked} output tokens. However, the model's context length "
               "is only 4000 tokens, resulting in a maximum input length of 0 tokens."),
        (2000, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4000. Given: 2000 `inputs` "
               "tokens and {asked} `max_new_tokens`"),
    ],
)  # fmt: skip
def test_fewer_output_tokens_are_asked_for_where_fewer_are_given(most: int, says: str) -> None:
    def refuse(exchange: Exchange) -> None:
        asked = exchange.body["max_tokens"]
        exchange.json(400, openai(says.format(asked=asked, total=asked + 2000), None))

    def fault(number: int) -> Fault | None:
        return refuse if server.requests[-1]["max_tokens"] > most else None

    with OpenAIServer(answer=lambda body: json.dumps(body["max_tokens"]), faults=fault) as server:
        assert ask(server).text == str(most)
    assert [one["max_tokens"] for one in server.requests] == [ASKED, most]
