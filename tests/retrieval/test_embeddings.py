"""The local embedder, and an endpoint over real HTTP."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from importlib.metadata import version
from typing import NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engine.errors import InputError, ModelError
from engine.retrieval.base import Embedder
from engine.retrieval.embeddings import endpoint_embedder, local_embedder, open_embedder
from engine.retrieval.local import LocalEmbedder
from tests.support.embeddings_server import EmbeddingsServer
from tests.support.openai_server import page, reset, status

LOCAL = local_embedder()


def embed(embedder: Embedder, *texts: str) -> NDArray[np.float32]:
    return asyncio.run(embedder.embed(texts))


def of(server: EmbeddingsServer, dimension: int | None = 3) -> Embedder:
    return endpoint_embedder("bge-m3", server.url, dimension=dimension)


def fails(server: EmbeddingsServer, texts: Sequence[str] = ("a",)) -> str:
    with pytest.raises(ModelError) as failed:
        embed(of(server), *texts)
    return str(failed.value)


def test_the_local_embedder_finds_what_is_meant() -> None:
    query, cookies, parser = embed(LOCAL, "log in to a web site", "HTTP sessions and cookies", "a parser of dates")
    assert query @ cookies > query @ parser
    assert LOCAL.dimension == 256 == len(query)
    assert version("wordllama") in LOCAL.name


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(st.characters()), max_size=4), st.text(st.characters()))
def test_a_local_vector_has_length_1_and_does_not_depend_on_its_neighbours(texts: list[str], last: str) -> None:
    rows = embed(LOCAL, *texts, last)
    assert rows.shape == (len(texts) + 1, 256) and rows.dtype == np.float32
    lengths = np.linalg.norm(rows, axis=1)
    for text, length in zip([*texts, last], lengths, strict=True):
        assert length == pytest.approx(1 if text else 0, abs=1e-5)
    assert np.array_equal(rows[-1], embed(LOCAL, last)[0])


def test_the_local_embedder_reaches_for_nothing_and_leaves_logging_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> NoReturn:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    before = logging.getLogger().level, list(logging.getLogger().handlers)
    assert embed(LocalEmbedder(), "x" * 1_000_000).any()
    assert (logging.getLogger().level, list(logging.getLogger().handlers)) == before


def test_embedders_are_opened_by_the_names_that_they_give_themselves() -> None:
    assert open_embedder("local").name == open_embedder(LOCAL.name).name == LOCAL.name
    with EmbeddingsServer() as server:
        assert open_embedder("bge-m3", base_url=server.url, dimension=3).name == "bge-m3"
        assert server.requests == []


def test_an_endpoint_gets_batches_that_it_takes_and_texts_keep_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the-key")
    texts = ["x" * (number % 7 + 1) for number in range(100)]
    texts[10] = texts[99] = ""
    with EmbeddingsServer(key="the-key") as server:
        rows = embed(of(server), *texts)
        sent = [len(body["input"]) for body in server.requests]
    assert sum(sent) == 98 and max(sent) <= 32
    expected = np.array([[len(text), 1, 0] if text else [0, 0, 0] for text in texts], np.float32)
    lengths = np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1)
    assert np.allclose(rows, expected / lengths)


def test_the_length_of_an_endpoints_vectors_is_asked_for_once() -> None:
    with EmbeddingsServer() as server:

        async def inside_a_loop() -> Embedder:
            return of(server, None)

        embedder = asyncio.run(inside_a_loop())
        assert embedder.dimension == 3 and len(server.requests) == 1
        embed(embedder, "a")
        assert len(server.requests) == 2


def test_an_endpoint_that_stumbles_is_asked_again() -> None:
    faults = [status(429, headers={"Retry-After": "0"}), reset, status(500), None]
    with EmbeddingsServer(faults=faults) as server:
        assert embed(of(server), "abc").any()
        assert len(server.requests) == 4


def test_a_text_that_is_too_long_for_the_model_is_cut() -> None:
    with EmbeddingsServer(context=5_000) as server:
        rows = embed(of(server), "short", "x" * 90_000)
        assert rows.any(axis=1).all()
        assert [len(text) for text in server.requests[-1]["input"]] == [5, 3_000]


def test_a_wrong_key_is_told_without_showing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    with EmbeddingsServer(key="another") as server:
        said = fails(server)
    assert "Set OPENAI_API_KEY" in said and "very-secret" not in said and server.url in said


def test_what_an_endpoint_lacks_is_told_with_what_to_do() -> None:
    with EmbeddingsServer(model="another") as server:
        assert "does not exist" in fails(server) and "Give another embedder" in fails(server)
    with EmbeddingsServer(faults=[page(200)] * 20) as server:
        assert "OpenAI-compatible" in fails(server)
    with EmbeddingsServer(context=10) as server:
        assert "longer texts" in fails(server, ["x" * 100])
    with EmbeddingsServer(embed=lambda text: [1.0, 2.0]) as server:
        assert "2 dimensions, where there were 3" in fails(server)
    with EmbeddingsServer(embed=lambda text: [1.0, float("nan"), 1.0]) as server:
        assert "no 1 vectors of numbers" in fails(server)


def test_nothing_at_the_address_is_told() -> None:
    with EmbeddingsServer() as server:
        pass
    with pytest.raises(ModelError, match="base URL right"):
        of(server, None)
    with pytest.raises(InputError, match="not an address"):
        endpoint_embedder("bge-m3", "somewhere")


def test_an_endpoint_that_wants_a_key_is_not_asked_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        endpoint_embedder("text-embedding-3-small")
