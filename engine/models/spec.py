"""Which model to open, as a flow or the command line says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.models.patience import Patience

LOCAL = ("replay", "mailbox", "script")


@dataclass(frozen=True)
class ModelSpec:
    """A model to open.

    name         what the endpoint calls it ("gpt-4o"), or "replay:FILE", or "mailbox:DIR"
    base_url     of an OpenAI-compatible endpoint; None is OPENAI_BASE_URL or else OpenAI's own
    api_key_env  the environment variable that holds the key
    price        US dollars per million tokens: {"input": 2.5, "output": 10, "cached": 1.25}; "cached" may be missing
    patience     how long the endpoint's failures are borne
    """

    name: str
    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    price: Mapping[str, float] | None = field(default=None, hash=False)
    patience: Patience = Patience()  # noqa: RUF009 - it is frozen

    @property
    def kind(self) -> str:
        """ "endpoint", or what stands before the colon: "replay", "mailbox", "script"."""
        kind, colon, _ = self.name.partition(":")
        return kind if colon and kind in LOCAL else "endpoint"

    @property
    def is_endpoint(self) -> bool:
        """Whether a model at an address is asked."""
        return self.kind == "endpoint"
