"""A request as an endpoint takes it: messages and body, without what the endpoint lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.models.base import Request
from engine.models.features import Plan
from engine.models.structured import schema_instruction


def messages_of(request: Request, plan: Plan) -> list[tuple[str, str]]:
    """The messages as (role, text), with the schema at the end of the first user message if the prompt must say it.

    An endpoint without a system role gets the system message at the head of that one.
    """
    messages = [(str(one.role), one.content) for one in request.messages]
    before = after = ""
    if not plan.uses("system"):
        before = "".join(f"{text.rstrip()}\n\n" for role, text in messages if role == "system")
        messages = [one for one in messages if one[0] != "system"]
    if request.schema is not None and plan.schema_by in ("prompt", "both"):
        after = f"\n\n{schema_instruction(request.schema)}\n"
    first = next((number for number, (role, _) in enumerate(messages) if role == "user"), None)
    if first is None:
        return [*messages, ("user", (before + after).strip())] if before or after else messages
    text = messages[first][1]
    messages[first] = ("user", before + (text.rstrip() if after else text) + after)
    return messages


def body_of(request: Request, plan: Plan) -> dict[str, Any]:
    """The members of the body beside model, messages and streaming."""
    decoding = request.decoding
    body: dict[str, Any] = {plan.tokens_name: plan.max_output}
    if plan.uses("temperature"):
        body["temperature"] = decoding.temperature
    if plan.uses("top_p"):
        body["top_p"] = decoding.top_p
    if plan.uses("seed") and decoding.seed is not None:
        body["seed"] = decoding.seed + request.sample  # equal questions that want different answers
    if request.schema is not None and plan.uses("json_schema"):
        body["response_format"] = {"type": "json_schema", "json_schema": _format(request.schema)}
    return body


def _format(schema: Mapping[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"name": "answer", "schema": dict(schema)}
    return {**described, "strict": True} if is_strict(schema) else described


def is_strict(schema: Any) -> bool:
    """Whether every object in a schema lists all its properties as required and allows no others.

    Only such a schema is taken in strict mode by those who have one.
    """
    if isinstance(schema, list):
        return all(is_strict(one) for one in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(properties)
        return closed and all(is_strict(one) for one in properties.values())
    return all(is_strict(one) for one in schema.values())
