"""Opens embedders: the local one, or a model at any OpenAI-compatible embeddings endpoint."""

from __future__ import annotations

from engine.retrieval.base import Embedder
from engine.retrieval.local import PREFIX, LocalEmbedder

LOCAL = "local"


def open_embedder(
    name: str, *, base_url: str | None = None, api_key_env: str = "OPENAI_API_KEY", dimension: int | None = None
) -> Embedder:
    """The embedder of a name: "local", a model at an endpoint, or what a corpus recorded.

    Raises InputError and ModelError as `endpoint_embedder` does.
    """
    if name == LOCAL or name.startswith(PREFIX):
        return local_embedder()
    return endpoint_embedder(name, base_url, api_key_env, dimension=dimension)


def local_embedder() -> Embedder:
    """The embedder that needs no network (wordllama)."""
    return LocalEmbedder()


def endpoint_embedder(
    model: str, base_url: str | None = None, api_key_env: str = "OPENAI_API_KEY", *, dimension: int | None = None
) -> Embedder:
    """A model at an OpenAI-compatible endpoint, such as "BAAI/bge-m3"; no address is OPENAI_BASE_URL, or OpenAI's.

    The key comes from the environment alone. Without a dimension the endpoint is asked for a vector, to count it.
    Raises InputError for a missing key or an address that is none, ModelError if the endpoint does not answer.
    """
    from engine.retrieval.endpoint import EndpointEmbedder

    return EndpointEmbedder.open(model, base_url, api_key_env, dimension)
