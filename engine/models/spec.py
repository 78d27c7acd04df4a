"""Which model to open, as a flow or the command line says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class ModelSpec:
    """A model to open.

    name         what the endpoint calls it ("gpt-4o"), or "replay:FILE", or "mailbox:DIR"
    base_url     of an OpenAI-compatible endpoint; None is OPENAI_BASE_URL or else OpenAI's own
    api_key_env  the environment variable that holds the key
    price        US dollars per million tokens: {"input": 2.5, "output": 10, "cached": 1.25}; "cached" may be missing
    """

    name: str
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    price: Mapping[str, float] | None = field(default=None, hash=False)
