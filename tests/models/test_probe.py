"""What an endpoint can do is found by asking it."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from engine.errors import ModelError
from engine.models.patience import Patience
from engine.models.probe import Finding, probe
from engine.models.spec import ModelSpec
from tests.support.openai_server import Body, Fault, OpenAIServer, status


def good(body: Body) -> str:
    wants_json = "response_format" in body or "JSON Schema" in json.dumps(body["messages"])
    return '{"city": "Oslo", "large": true}' if wants_json else "Oslo"


def slow(body: Body) -> str:
    time.sleep(0.05)
    return good(body)


def chatty(body: Body) -> str:
    return good({**body, "response_format": 1}) if "JSON Schema" in json.dumps(body["messages"]) else "Oslo is nice."


def found(**server: Any) -> dict[str, Finding]:
    with OpenAIServer(**server) as running:
        return {one.what: one for one in asyncio.run(probe(ModelSpec("test-model", running.url)))}


def test_an_endpoint_that_has_everything() -> None:
    findings = found(answer=good)
    assert {what for what, one in findings.items() if one.ok is False} == set()
    assert {what for what, one in findings.items() if one.ok is None} == {
        "rate limits",
        "output limit",
        "context length",
    }
    assert "test-model" in findings["list of models"].detail
    assert findings["json_schema"].detail == "held by response_format"
    assert all(one.instead == "" for one in findings.values() if one.ok)


def test_an_endpoint_that_has_little() -> None:
    findings = found(answer=good, lacks={"json_schema", "stream_options", "seed", "system"}, most_output=300)
    lacking = {what for what, one in findings.items() if one.ok is False}
    assert lacking == {"json_schema", "json_object", "streaming usage", "seed", "system role"}
    assert all(findings[what].instead for what in lacking)
    assert findings["usage"].ok is True
    assert findings["output limit"].detail == "300 tokens; sent as max_tokens"


def test_an_endpoint_that_ignores_schemas() -> None:
    assert "refused or ignored" in found(answer=chatty)["json_schema"].detail
    assert "no usable answer" in found(answer=lambda body: "Oslo")["json_schema"].detail


def test_an_endpoint_that_does_not_count() -> None:
    findings = found(answer=good, counts=False)
    assert findings["streaming usage"].ok is False and findings["usage"].ok is False
    assert findings["streaming usage"].detail == "asked for, but not counted"


def test_limits_come_from_refusals_and_headers() -> None:
    headers = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "400",
        "x-ratelimit-reset-requests": "0s",
    }
    findings = found(answer=good, context=4096, headers=headers)
    assert findings["context length"].detail == "4,096 tokens, says a refusal"
    assert findings["output limit"].detail == "not told; sent as max_tokens"
    assert findings["rate limits"].detail == "500 requests for each period"


def test_an_endpoint_that_takes_few_calls_at_once() -> None:
    def refuse(number: int) -> Fault | None:
        busy = server.at_once > 1
        return status(429, "slow down", headers={"retry-after-ms": "10"}) if busy else None

    with OpenAIServer(answer=slow, faults=refuse) as server:
        findings = {one.what: one for one in asyncio.run(probe(ModelSpec("test-model", server.url)))}
    assert findings["parallel requests"].ok is False
    assert findings["parallel requests"].instead.startswith(("1 at once", "2 at once"))


def test_an_endpoint_that_does_not_answer() -> None:
    with OpenAIServer(faults=lambda number: status(500)) as server, pytest.raises(ModelError, match="HTTP 500"):
        asyncio.run(probe(ModelSpec("test-model", server.url, patience=Patience(first=0.001))))
