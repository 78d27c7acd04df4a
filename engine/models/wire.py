"""One call to an OpenAI-compatible endpoint for chat, through langchain-openai."""

from __future__ import annotations

import asyncio
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import openai
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

from engine.models.endpoint import Endpoint
from engine.models.failures import Failure, http_failure, plain, stream_failure

_CONNECT = 10.0
_CONTEXT_NAMES = (
    "max_model_len",
    "n_ctx",
    "loaded_context_length",
    "max_context_length",
    "context_length",
    "context_window",
)
_FINISH = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "end_turn": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
}


@dataclass(frozen=True)
class Reply:
    """What came back; token counts are None where the endpoint does not count, finish_reason where it gives none."""

    text: str
    finish_reason: str | None
    model: str | None
    refusal: str | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int
    headers: Mapping[str, str] = field(default_factory=dict)


class Wire:
    """A connection to a model at an endpoint. `idle` is how many seconds it may say nothing.

    Retries, limits and workarounds are somebody else's: a call is made once, and raises Failure.
    """

    def __init__(self, endpoint: Endpoint, model: str, *, idle: float) -> None:
        _silence()
        self._endpoint, self._idle = endpoint, idle
        self._http = openai.DefaultAsyncHttpxClient(timeout=openai.Timeout(idle, connect=_CONNECT))
        self._chat = ChatOpenAI(
            model=model,
            base_url=endpoint.url,
            api_key=self._key,
            http_async_client=self._http,
            max_retries=0,
            stream_chunk_timeout=None,  # ours below is silent
            include_response_headers=True,
            use_responses_api=False,
        )

    async def send(
        self, messages: Sequence[tuple[str, str]], body: Mapping[str, Any], *, stream: bool, usage: bool
    ) -> Reply:
        """Send messages (role, text) with the further members of the request's body. Raises Failure."""
        talk = [_message(role, text) for role, text in messages]
        try:
            return await (self._streamed(talk, body, usage) if stream else self._whole(talk, body))
        except Exception as error:
            raise self._failure(error) from None  # what is chained could hold the key

    async def models(self) -> dict[str, int | None]:
        """The models that the endpoint lists, each with the tokens that it reads, or None where it does not say."""
        try:
            found = [one async for one in self._chat.root_async_client.models.list()]
        except Exception:  # a courtesy that not every endpoint offers
            return {}
        return {one.id: _context_length(one.model_extra or {}) for one in found}

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _key(self) -> str:
        return self._endpoint.key

    async def _streamed(self, talk: list[BaseMessage], body: Mapping[str, Any], usage: bool) -> Reply:
        texts: list[str] = []
        metadata: dict[str, Any] = {}
        counted: Mapping[str, Any] | None = None
        now = asyncio.get_running_loop().time
        async with asyncio.timeout(self._idle) as clock:  # what keeps a connection alive is no answer
            async for chunk in self._chat.astream(talk, stream_usage=usage, extra_body=dict(body)):
                clock.reschedule(now() + self._idle)
                texts.append(str(chunk.text))
                metadata.update({name: value for name, value in chunk.response_metadata.items() if value})
                counted = chunk.usage_metadata or counted  # the last one: some endpoints count up with every chunk
        return _reply("".join(texts), metadata, counted, None)

    async def _whole(self, talk: list[BaseMessage], body: Mapping[str, Any]) -> Reply:
        said = await self._chat.ainvoke(talk, extra_body=dict(body))
        refusal = said.additional_kwargs.get("refusal")
        reply = _reply(str(said.text), said.response_metadata, said.usage_metadata, refusal)
        return reply if reply.finish_reason else replace(reply, finish_reason="stop")

    def _failure(self, error: Exception) -> Failure:
        failure = failure_of(error)
        failure.message = self._endpoint.without_key(failure.message)
        return failure


def _context_length(told: Mapping[str, Any]) -> int | None:
    """The context length in an entry of a list of models, under one of the names that endpoints have for it."""
    meta = told.get("meta")
    places = (told, meta if isinstance(meta, Mapping) else {})
    found = (one.get(name) for one in places for name in _CONTEXT_NAMES)
    return next((one for one in found if isinstance(one, int) and one > 0), None)


def _message(role: str, text: str) -> BaseMessage:
    text = text.encode("utf-8", "replace").decode()
    if role == "system":
        return SystemMessage(text)
    return AIMessage(text) if role == "assistant" else HumanMessage(text)


def _reply(text: str, metadata: Mapping[str, Any], counted: Mapping[str, Any] | None, refusal: str | None) -> Reply:
    finish = metadata.get("finish_reason")
    details = (counted or {}).get("input_token_details") or {}
    return Reply(
        text=text.encode("utf-8", "replace").decode(),
        finish_reason=_FINISH.get(str(finish).lower(), str(finish).lower()) if finish else None,
        model=metadata.get("model_name"),
        refusal=refusal,
        input_tokens=counted["input_tokens"] if counted else None,
        output_tokens=counted["output_tokens"] if counted else None,
        cached_tokens=int(details.get("cache_read") or 0),
        headers={name.lower(): value for name, value in (metadata.get("headers") or {}).items()},
    )


def failure_of(error: Exception) -> Failure:
    """What an exception of the client says of the endpoint."""
    if isinstance(error, openai.APIStatusError):
        return http_failure(error.status_code, error.response.headers, error.body, error.response.text)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return Failure("timeout", "nothing came for too long")
    if isinstance(error, openai.APIConnectionError):
        cause = _deepest(error)
        said = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
        return Failure("address" if "CERTIFICATE_VERIFY_FAILED" in said else "connection", said)
    if isinstance(error, openai.APIError) and not isinstance(error, openai.APIResponseValidationError):
        return stream_failure(error.message, error.body)
    return Failure("malformed", _malformed(error))


def _deepest(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _malformed(error: Exception) -> str:
    """What an answer is that the libraries could not read."""
    said = str(error)
    if "No generation chunks" in said:
        return "a stream that holds nothing"
    instead = re.search(r"got str: ['\"](.*)", said, re.DOTALL)
    return (
        f"no JSON, but {plain(instead[1])}"
        if instead
        else plain(f"not of the protocol ({type(error).__name__}: {said})")
    )


def _silence() -> None:
    """Keep to ourselves what libraries warn of: each is an error or a workaround that is told in its own way."""
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    warnings.filterwarnings(
        "ignore", message="(This model does not support|Invalid schema for) OpenAI's structured output"
    )
