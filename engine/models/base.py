"""What the engine needs of a language model: one request, one answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True)
class Decoding:
    """How an answer is sampled; the paper's values are the defaults (CodeTeam, 3.3.1)."""

    temperature: float = 0.2
    top_p: float = 0.95
    max_output_tokens: int = 8192
    seed: int | None = None


@dataclass(frozen=True)
class Request:
    """One question to a model.

    place   where in the flow it is asked: "develop/src/core.py#2"
    model   the name that the endpoint knows
    schema  a JSON Schema that the answer should satisfy, or None for text
    sample  tells apart equal questions that want different answers
    """

    place: str
    model: str
    messages: tuple[Message, ...]
    decoding: Decoding = Decoding()
    schema: Mapping[str, Any] | None = None
    sample: int = 0

    def to_json(self) -> dict[str, Any]:
        """The request as plain data; `Request.from_json` reads it back."""
        return {
            "place": self.place,
            "model": self.model,
            "messages": [asdict(one) for one in self.messages],
            "decoding": asdict(self.decoding),
            "schema": dict(self.schema) if self.schema is not None else None,
            "sample": self.sample,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Request:
        """A request from plain data."""
        return Request(
            place=data["place"],
            model=data["model"],
            messages=tuple(Message(**one) for one in data["messages"]),
            decoding=Decoding(**data["decoding"]),
            schema=data["schema"],
            sample=data["sample"],
        )


@dataclass(frozen=True)
class Answer:
    """What a model said.

    finish_reason  "stop", "length" (cut off), "content_filter", or what the endpoint calls it
    input_tokens, output_tokens, cached_tokens  as the endpoint counts; estimated when it does not (`estimated`)
    cost           in US dollars where prices are known
    drifted        it is a recorded answer to another question at the same place
    """

    text: str
    model: str
    finish_reason: str = "stop"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False
    cost: float | None = None
    drifted: bool = False


class Model(Protocol):
    """Something that answers requests. `name` is part of a request and so of the journal's key."""

    @property
    def name(self) -> str:
        """The model's name as recorded."""

    async def answer(self, request: Request) -> Answer:
        """Answer one request; raises ModelError when there is no answer to be had."""

    async def close(self) -> None:
        """Give back what it holds."""


def digest(data: Any) -> str:
    """SHA-256 of plain data in canonical JSON."""
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
