"""What an endpoint can do is found by asking it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from engine.errors import ModelError
from engine.models.openai import Patience
from engine.models.probe import Finding, probe
from engine.models.spec import ModelSpec
from tests.support.openai_server import Body, OpenAIServer, status


def good(body: Body) -> str:
    wants_json = "response_format" in body or "JSON Schema" in json.dumps(body["messages"])
    return '{"city": "Oslo", "large": true}' if wants_json else "Oslo"


def chatty(body: Body) -> str:
    return good({**body, "response_format": 1}) if "JSON Schema" in json.dumps(body["messages"]) else "Oslo is nice."


def found(**server: Any) -> dict[str, Finding]:
    with OpenAIServer(**server) as running:
        return {one.what: one for one in asyncio.run(probe(ModelSpec("test-model", running.url)))}


def test_an_endpoint_that_has_everything() -> None:
    findings = found(answer=good)
    assert {what for what, one in findings.items() if not one.ok} == {"output limit"}
    assert "test-model" in findings["list of models"].detail
    assert findings["JSON by schema"].detail == "held by response_format"


def test_an_endpoint_that_has_little() -> None:
    findings = found(answer=good, lacks={"json_schema", "stream_options", "seed", "system"}, most_output=300)
    lacking = {what for what, one in findings.items() if one.ok is False}
    assert lacking == {"JSON by schema", "token counts in streams", "seed", "system messages"}
    assert findings["output limit"].detail == "at most 300 tokens; sent as max_tokens"


def test_an_endpoint_that_ignores_schemas() -> None:
    assert "refused or ignored" in found(answer=chatty)["JSON by schema"].detail
    assert "no usable answer" in found(answer=lambda body: "Oslo")["JSON by schema"].detail


def test_an_endpoint_that_does_not_answer() -> None:
    with OpenAIServer(faults=lambda number: status(500)) as server, pytest.raises(ModelError, match="HTTP 500"):
        asyncio.run(probe(ModelSpec("test-model", server.url), patience=Patience(first=0.001)))
