"""What went wrong with a call, told from what the endpoint or the connection said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from engine.models.limiter import seconds_of

Kind = Literal[
    "rate_limit",  # asked too fast
    "server",  # the endpoint broke, or is overloaded
    "connection",  # nothing there, or gone in the middle
    "timeout",
    "malformed",  # an answer that is none: HTML, broken JSON, a stream that ends too soon
    "empty",
    "quota",  # nothing left to spend
    "too_large",  # one request is more than a minute's allowance
    "key",
    "model",
    "address",
    "context",  # the request is longer than the model reads
    "refusal",
    "content_filter",
    "request",  # anything else that is refused
]
RETRIED: frozenset[Kind] = frozenset({"rate_limit", "server", "connection", "timeout", "malformed", "empty"})
_LONGEST = 400


@dataclass(eq=False)  # an exception must be able to change its own traceback
class Failure(Exception):
    """A call without an answer.

    status      of HTTP, or None
    message     what the endpoint said, short, without markup
    retry_after seconds that it asked to wait, or None
    headers     of the response, in lower case
    """

    kind: Kind
    message: str
    status: int | None = None
    retry_after: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"HTTP {self.status}: {self.message}" if self.status else self.message


def http_failure(status: int, headers: Mapping[str, str], body: object, text: str) -> Failure:
    """A response with an error status. `body` is its error object where it is JSON, `text` the whole of it."""
    headers = {name.lower(): value for name, value in headers.items()}
    message = _message(body, text)
    kind = _kind(status, f"{_code(body)} {message}".lower(), is_json=isinstance(body, Mapping))
    return Failure(kind, message, status, _retry_after(headers), headers)


def stream_failure(message: str, body: object) -> Failure:
    """An error that came inside a stream; some endpoints send no object but a sentence."""
    message = body if isinstance(body, str) else message
    said = f"{_code(body)} {message}".lower()
    if _is_context(said):
        return Failure("context", plain(message))
    return Failure("rate_limit" if "rate limit" in said or "rate_limit" in said else "server", plain(message))


def _kind(status: int, said: str, *, is_json: bool) -> Kind:
    if "content_filter" in said or "content management policy" in said or "responsibleai" in said:
        return "content_filter"
    if status == 413 or _is_context(said):
        return "context"
    if status == 429:
        return _throttled(said)
    if status == 402 or "insufficient_quota" in said or "insufficient balance" in said:
        return "quota"
    if status in (408, 409, 425) or (status >= 500 and status not in (501, 505)):
        return "server"
    if status in (401, 403):
        return "key"
    if status in (404, 400) and re.search(r"model_not_found|model\b.{0,80}\b(not found|not exist|unknown)", said):
        return "model"
    if status in (404, 405) or not is_json:
        return "address"
    return "request"


def _throttled(said: str) -> Kind:
    if "insufficient_quota" in said or "exceeded your current quota" in said or "billing" in said:
        return "quota"
    return "too_large" if "request too large" in said else "rate_limit"


def _is_context(said: str) -> bool:
    return bool(
        re.search(
            r"context_length_exceeded|exceed_context_size|context (length|window|size)|maximum context"
            r"|prompt is too long|too many (input )?tokens|input (is )?too long|input tokens exceed"
            r"|input token count|must have less than \d+ tokens|`max_new_tokens` must be <=",
            said,
        )
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    milliseconds, said = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            return max(float(milliseconds) / 1000, 0.0)
        return None if said is None else max(float(said), 0.0)
    except ValueError:
        return _until(said or "", headers.get("date", ""))


def _until(then: str, now: str) -> float | None:
    """Seconds from one HTTP date to another, both by the endpoint's clock; or a length of time such as "20s"."""
    try:
        return max((parsedate_to_datetime(then) - parsedate_to_datetime(now)).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return seconds_of(then)


def _code(body: object) -> str:
    if not isinstance(body, Mapping):
        return ""
    return f"{body.get('code') or ''} {body.get('type') or ''}"


def _message(body: object, text: str) -> str:
    """The sentence in an error body, wherever this kind of endpoint puts it."""
    found: Any = body
    for _ in range(3):
        if not isinstance(found, Mapping):
            break
        found = next((found[name] for name in ("message", "error", "detail", "msg") if found.get(name)), None)
    if isinstance(found, list):
        found = json.dumps(found)
    return plain(found if isinstance(found, str) else text)


def plain(text: str) -> str:
    """What an endpoint said, short and without markup."""
    if re.match(r"\s*<(!doctype|html|head|body)", text, re.IGNORECASE):
        title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
        text = f"an HTML page ({title[1]})" if title else "an HTML page"
    text = " ".join(text.split()) or "no explanation"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
