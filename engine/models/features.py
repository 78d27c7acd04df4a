"""What an endpoint lacks, learned from its refusals and worked around from then on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from engine.models.base import digest
from engine.models.failures import Failure, Kind
from engine.models.structured import schema_faults

Feature = Literal["json_schema", "stream", "stream_options", "seed", "temperature", "top_p", "system"]
SchemaBy = Literal["none", "format", "both", "prompt"]

# In the order in which they are looked for: "stream_options" before "stream".
_NAMED: dict[Feature, re.Pattern[str]] = {
    "stream_options": re.compile(r"stream_options|include_usage"),
    "json_schema": re.compile(r"response_format|json_?schema|structured output|guided|grammar"),
    "seed": re.compile(r"\bseed\b"),
    "temperature": re.compile(r"\btemperature\b"),
    "top_p": re.compile(r"\btop_p\b"),
    "system": re.compile(
        r"system['\"]? (role|message|prompt)|role.{0,20}system|roles must alternate|only user and assis"
    ),
    "stream": re.compile(r"\bstream(ing)?\b"),
}
_BREAKS: tuple[Feature, ...] = ("system", "json_schema")  # what some endpoints break on, with a status of 500
_ONE_SCHEMA = re.compile(
    r"invalid schema|invalid.{0,10}grammar|(parse|convert|compile).{0,30}(grammar|schema)|conversion failed"
)
# In the order in which they are looked for: what names the limit by its own name before what may be another number.
_LIMITS = tuple(
    re.compile(pattern)
    for pattern in (
        r"n_ctx\D{0,5}(\d{3,})",
        r"(\d{3,}) maximum context length",
        r"(?:context (?:length|window|size)|limit)\D{0,40}?(\d{3,})",
        r"tokens allowed \(?(\d{3,})",
        r"(?:must be <=|must have less than) (\d{3,})",
        r"\((\d{3,}) tokens\)",
        r"> (\d{3,})",
    )
)
_PROMPT_TOKENS = re.compile(
    r"(\d+) (?:in the messages|input tokens|in your prompt|prompt tokens|`inputs` tokens)|messages resulted in (\d+)"
)
_OTHER_NAME = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_LEAST_OUTPUT = 256  # room for fewer tokens than this is no room for an answer
_UNSTREAMED = 2


@dataclass(frozen=True)
class Plan:
    """How a request is sent.

    schema_by    where the schema goes: into `response_format`, into the prompt, both, or there is none
    max_output   tokens asked for, under the name `tokens_name`
    without      what the endpoint is known to lack
    """

    stream: bool
    schema_by: SchemaBy
    max_output: int
    tokens_name: str
    without: frozenset[Feature] = frozenset()

    def uses(self, feature: Feature) -> bool:
        """Whether the request relies on a feature."""
        if feature == "json_schema":
            return self.schema_by in ("format", "both")
        if feature in ("stream", "stream_options") and not self.stream:
            return False
        return feature not in self.without


@dataclass
class Features:
    """What is known of one model at one endpoint; `tokens_name` is what it calls the output limit."""

    tokens_name: str = "max_tokens"
    lacking: set[Feature] = field(default_factory=set)
    max_output: int | None = None
    schema_by: SchemaBy = "format"
    refused_schemas: set[str] = field(default_factory=set)
    unstreamed: int = 0

    def plan(self, schema: Mapping[str, Any] | None, max_output: int) -> Plan:
        """How to send a request, as far as is known."""
        return Plan(
            stream="stream" not in self.lacking,
            schema_by=self._schema_by(schema),
            max_output=min(max_output, self.max_output or max_output),
            tokens_name=self.tokens_name,
            without=frozenset(self.lacking),
        )

    def work_around(
        self, failure: Failure, plan: Plan, schema: Mapping[str, Any] | None, tokens: int
    ) -> tuple[Plan, str] | None:
        """Another way to send what failed, and what was learned; None if there is none.

        `tokens` is the length of the prompt. What another call taught meanwhile is used, not learned again.
        """
        lower = self._lower_output(failure, plan, tokens)
        if lower is not None:
            return lower
        if failure.kind not in ("request", "address", "server") or not failure.status:
            return None
        said = failure.message.lower()
        other = _OTHER_NAME[plan.tokens_name]
        if plan.tokens_name in said and (other in said or plan.tokens_name == "max_completion_tokens"):
            self.tokens_name = other
            return replace(plan, tokens_name=other), f"wants {other}"
        return self._drop(said, plan, schema, failure.kind)

    def judge_json(self, text: str, schema: Mapping[str, Any], plan: Plan) -> str | None:
        """Look whether `response_format` had an effect on a whole answer; returns what was learned if it had none."""
        if plan.schema_by != "format" or self.schema_by != "format":
            return None
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            self.lacking.add("json_schema")
            return "ignores response_format"
        if schema_faults(value, schema):
            self.schema_by = "both"
            return "does not hold answers to the whole schema"
        return None

    def answered_unstreamed(self) -> None:
        """Count an answer that came only when it was not streamed."""
        self.unstreamed += 1
        if self.unstreamed >= _UNSTREAMED:
            self.lacking.add("stream")

    def _schema_by(self, schema: Mapping[str, Any] | None) -> SchemaBy:
        if schema is None:
            return "none"
        refused = "json_schema" in self.lacking or digest(schema) in self.refused_schemas
        return "prompt" if refused else self.schema_by

    def _drop(self, said: str, plan: Plan, schema: Mapping[str, Any] | None, kind: Kind) -> tuple[Plan, str] | None:
        looked_for = _NAMED if kind != "server" else {one: _NAMED[one] for one in _BREAKS}
        feature = next((one for one, named in looked_for.items() if named.search(said) and plan.uses(one)), None)
        if feature is None:
            return None
        if feature == "json_schema":
            plan = replace(plan, schema_by="prompt")
            if schema is not None and _ONE_SCHEMA.search(said):
                self.refused_schemas.add(digest(schema))
                return plan, "refuses this schema"
        self.lacking.add(feature)
        plan = replace(plan, without=plan.without | {feature}, stream=plan.stream and feature != "stream")
        return plan, f"lacks {feature}"

    def _lower_output(self, failure: Failure, plan: Plan, tokens: int) -> tuple[Plan, str] | None:
        """Ask for fewer tokens, where the endpoint says how many it gives, or how many the context leaves."""
        if failure.kind == "context":
            room = _room(failure.message, plan.max_output, tokens)
            return None if room is None else (replace(plan, max_output=room), f"leaves room for {room} output tokens")
        if failure.kind != "request" or not re.search(
            r"max_(completion_)?tokens|(output|completion) tokens", failure.message
        ):
            return None
        most = output_limit(failure.message, plan.max_output)
        if most is None:
            return None
        self.max_output = most
        return replace(plan, max_output=self.max_output), f"gives at most {self.max_output} output tokens"


def output_limit(message: str, asked: int) -> int | None:
    """The most output tokens that an endpoint names when it refuses `asked`, or None if it names no such number."""
    named = [int(one) for one in re.findall(r"\d+", message.replace(",", ""))]
    return max((one for one in named if _LEAST_OUTPUT <= one < asked), default=None)


def context_limit(message: str) -> int | None:
    """How many tokens a model reads, as an error about it says."""
    text = message.replace(",", "").lower()
    found = next(filter(None, (pattern.search(text) for pattern in _LIMITS)), None)
    return int(found[1]) if found else None


def _room(message: str, asked: int, tokens: int) -> int | None:
    """Output tokens that the context leaves beside the prompt, if the message shows that fewer would do."""
    text, limit = message.replace(",", ""), context_limit(message)
    named = re.findall(r"\d+", text)
    if limit is None or named.count(str(asked)) <= (limit == asked):
        return None
    said = _PROMPT_TOKENS.search(text)
    prompt = int(said[1] or said[2]) if said else tokens
    if said and "at least" in text:
        prompt = max(prompt, tokens)
    room = limit - prompt
    return room if _LEAST_OUTPUT <= room < asked else None
