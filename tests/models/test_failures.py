"""What real endpoints say, and what it means."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.failures import Kind, http_failure, stream_failure


def openai(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"message": message, "type": kind, "param": None, "code": code}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, openai("Rate limit reached on tokens per min: Limit 30000", "rate_limit_exceeded"), "rate_limit"),
        (429, openai("You exceeded your current quota, please check your plan", "insufficient_quota"), "quota"),
        (429, openai("Request too large for gpt-4o on TPM: Limit 30000, Requested 50000", "tokens"), "too_large"),
        (402, {"message": "Insufficient Balance"}, "quota"),
        (500, openai("The server had an error"), "server"),
        (503, {"message": "Loading model", "type": "unavailable_error", "code": 503}, "server"),
        (529, {"message": "Overloaded"}, "server"),
        (408, {"message": "Timeout"}, "server"),
        (501, {"message": "Not Implemented"}, "request"),
        (401, openai("Incorrect API key provided", "invalid_api_key"), "key"),
        (403, {"message": "Country not supported"}, "key"),
        (404, openai("The model `x` does not exist or you do not have access", "model_not_found"), "model"),
        (404, openai("model 'llama3' not found", kind="api_error"), "model"),
        (404, {"message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404}, "model"),
        (404, {"detail": "Not Found"}, "address"),
        (405, {"detail": "Method Not Allowed"}, "address"),
        (400, openai("This model's maximum context length is 8192 tokens.", "context_length_exceeded"), "context"),
        (400, {"message": "request exceeds the available size", "type": "exceed_context_size_error"}, "context"),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}, "context"),
        (413, {"message": "Payload Too Large"}, "context"),
        (400, openai("The response was filtered", "content_filter"), "content_filter"),
        (400, openai("top_p must be at most 1"), "request"),
        (422, {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}, "request"),
        (400, "The plain HTTP request was sent to HTTPS port", "address"),
    ],
)  # fmt: skip
def test_kinds(status: int, body: Any, kind: Kind) -> None:
    assert http_failure(status, {}, body, body if isinstance(body, str) else json.dumps(body)).kind == kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after-ms": "250", "Retry-After": "1"}, 0.25),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "20s"}, 20.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT", "Date": "Wed, 21 Oct 2026 07:28:30 GMT"}, 0.0),
        ({"Retry-After": "later"}, None),
        ({}, None),
    ],
)
def test_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert http_failure(429, headers, {}, "").retry_after == seconds


@pytest.mark.parametrize(
    ("body", "text", "message"),
    [
        (openai("so it is"), "", "HTTP 500: so it is"),
        ({"error": {"message": "inside"}}, "", "HTTP 500: inside"),
        ({"detail": "said"}, "", "HTTP 500: said"),
        (None, "<!DOCTYPE html>\n<title>Bad\nGateway</title><p>x", "HTTP 500: an HTML page (Bad Gateway)"),
        (None, "<html><p>x", "HTTP 500: an HTML page"),
        (None, "", "HTTP 500: no explanation"),
        (None, "x" * 900, f"HTTP 500: {'x' * 400}…"),
    ],
)
def test_messages_are_short_and_plain(body: Any, text: str, message: str) -> None:
    assert str(http_failure(500, {}, body, text)) == message


def test_errors_in_streams() -> None:
    assert stream_failure("The server had an error", None).kind == "server"
    assert stream_failure("Rate limit reached", {"code": "rate_limit_exceeded"}).kind == "rate_limit"
    assert stream_failure("input exceeds the context window", None).kind == "context"


plain_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "code", "type", "msg"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.integers(400, 599), st.dictionaries(st.sampled_from(["retry-after", "date"]), st.text()), plain_data, st.text()
)
def test_no_response_breaks_it(status: int, headers: dict[str, str], body: Any, text: str) -> None:
    failure = http_failure(status, headers, body, text)
    assert len(str(failure)) < 500
    assert failure.retry_after is None or failure.retry_after >= 0
