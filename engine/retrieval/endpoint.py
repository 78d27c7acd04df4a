"""A model at an OpenAI-compatible embeddings endpoint, through langchain-openai."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import openai
from langchain_openai import OpenAIEmbeddings
from numpy.typing import NDArray
from pydantic import SecretStr

from engine.errors import InputError, ModelError
from engine.models.endpoint import Endpoint, find_endpoint
from engine.models.failures import Failure, Kind
from engine.models.spec import ModelSpec
from engine.models.wire import failure_of
from engine.retrieval.vectors import plain, unit_rows

RETRIES = 6  # by the client: 0.5 s, then twice as long each time, at most 8 s, or what the endpoint asks for
_FIRST_RETRIES = 2  # an endpoint that has never answered is more likely a wrong address
_AT_ONCE = 4  # requests
_BATCH = 32  # texts in a request: the most that some servers take
_LONGEST = 24_000  # characters of a text; BGE-M3 reads 8,192 tokens
_SHORTEST = 1_000  # a text is not cut further than this to make it fit
_TIMEOUT = openai.Timeout(120.0, connect=10.0)
_REMEDIES: dict[Kind, str] = {
    "rate_limit": "Try again later: what is done already is kept.",
    "server": "Try again when the endpoint is well: what is done already is kept.",
    "connection": "Is the endpoint running, and is the base URL right?",
    "timeout": "Is the endpoint overloaded? Try again later: what is done already is kept.",
    "quota": "Nothing is left to spend: add credit or use another key.",
    "key": "Set {key_env} to a key that this endpoint accepts.",
    "model": "Give another embedder, or serve this model there.",
    "context": "Use a model that reads longer texts.",
}
_OTHER_REMEDY = "Is this an OpenAI-compatible embeddings endpoint? A base URL usually ends in /v1."


@dataclass(frozen=True)
class EndpointEmbedder:
    """A model at an endpoint; its vectors are made unit vectors here."""

    name: str
    dimension: int
    endpoint: Endpoint
    retries: int = RETRIES

    @classmethod
    def open(cls, model: str, base_url: str | None, api_key_env: str, dimension: int | None) -> EndpointEmbedder:
        """With its dimension, or by asking for it. Raises InputError and ModelError."""
        try:
            endpoint = find_endpoint(ModelSpec(model, base_url, api_key_env))
        except InputError as error:
            said = str(error).splitlines()[0]
            raise InputError(f"{said}\n  The embedder 'local' needs neither address nor key.") from error
        return cls(model, dimension or _count(model, endpoint), endpoint)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, of length 1, or zeros for an empty text. Raises ModelError with a remedy."""
        asked = [number for number, text in enumerate(texts) if text.strip()]
        rows = np.zeros((len(texts), self.dimension), np.float32)
        turn = asyncio.Semaphore(_AT_ONCE)
        async with openai.DefaultAsyncHttpxClient(timeout=_TIMEOUT) as http:
            client = self._client(http)

            async def fill(numbers: list[int]) -> None:
                async with turn:
                    rows[numbers] = await self._ask(client, [plain(texts[number]) for number in numbers])

            try:
                async with asyncio.TaskGroup() as group:
                    for start in range(0, len(asked), _BATCH):
                        group.create_task(fill(asked[start : start + _BATCH]))
            except ExceptionGroup as failed:
                raise failed.exceptions[0] from None
        return unit_rows(rows)

    async def _ask(self, client: OpenAIEmbeddings, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of a request's texts; those are cut as short as the model needs them."""
        longest = _LONGEST
        while True:
            try:
                given = await client.aembed_documents([text[:longest] for text in texts], encoding_format="float")
                return self._rows(given, len(texts))
            except Exception as error:
                failure = error if isinstance(error, Failure) else failure_of(error)
            longest = min(longest, max(map(len, texts))) // 2
            if failure.kind != "context" or longest < _SHORTEST:
                raise self._error(failure)

    def _rows(self, given: Sequence[Sequence[float]], expected: int) -> NDArray[np.float32]:
        rows = np.array(given, np.float32)
        if rows.ndim != 2 or len(rows) != expected or not np.isfinite(rows).all():
            raise Failure("malformed", f"no {expected} vectors of numbers")
        if self.dimension and rows.shape[1] != self.dimension:
            raise Failure("malformed", f"vectors of {rows.shape[1]} dimensions, where there were {self.dimension}")
        return rows

    def _error(self, failure: Failure) -> ModelError:
        remedy = _REMEDIES.get(failure.kind, _OTHER_REMEDY).format(key_env=self.endpoint.key_env)
        message = f"embedder '{self.name}' at {self.endpoint.url}: {failure}\n{remedy}"
        return ModelError(self.endpoint.without_key(message))

    def _client(self, http: openai.DefaultAsyncHttpxClient) -> OpenAIEmbeddings:
        return OpenAIEmbeddings(
            model=self.name,
            base_url=self.endpoint.url,
            api_key=SecretStr(self.endpoint.key),
            http_async_client=http,
            max_retries=self.retries,
            check_embedding_ctx_length=False,  # it would download a tokenizer, and send numbers in place of text
        )


def _count(model: str, endpoint: Endpoint) -> int:
    """How long the vectors of a model are, by asking for one; outside of the event loop, which may be running."""
    embedder = EndpointEmbedder(model, 0, endpoint, _FIRST_RETRIES)

    async def ask() -> int:
        async with openai.DefaultAsyncHttpxClient(timeout=_TIMEOUT) as http:
            return int((await embedder._ask(embedder._client(http), ["dimension"])).shape[1])

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result()
