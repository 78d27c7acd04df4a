"""A real HTTP server that speaks the OpenAI protocol, and can be told to misbehave.

    with OpenAIServer(answer=lambda body: "hello", faults=[status(429, headers={"Retry-After": "1"})]) as server:
        ... server.url ...

`faults` are used up one per request, in order; after them, and where one is None, the answer comes. A function
`(number of the request, from 0) -> Fault | None` may stand in their place. What the server lacks (`lacks`) it refuses
in the words of real ones.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]
_REFUSALS = {
    "json_schema": "'response_format.type' must be 'text'",
    "stream_options": "Unrecognized request argument supplied: stream_options",
    "seed": "Unsupported parameter: 'seed' is not supported with this model.",
    "temperature": "Unsupported value: 'temperature' does not support 0.2 with this model. Only 1 is.",
    "top_p": "top_p is not supported",
    "system": "System role not supported",
    "stream": "Streaming is not supported by this model",
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
}


@dataclass
class Exchange:
    """One request and the means to answer it."""

    handler: BaseHTTPRequestHandler
    body: Body
    text: str
    server: OpenAIServer

    @property
    def streaming(self) -> bool:
        return bool(self.body.get("stream"))

    def json(self, status: int, data: Any, headers: Mapping[str, str] | None = None) -> None:
        self.raw(status, json.dumps(data).encode(), "application/json", headers)

    def raw(self, status: int, data: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.handler.send_response(status)
        self.handler.send_header("Content-Type", kind)
        self.handler.send_header("Content-Length", str(len(data)))
        for name, value in {**self.server.headers, **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(data)

    def begin_stream(self) -> None:
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", "text/event-stream")
        self.handler.send_header("Transfer-Encoding", "chunked")
        for name, value in self.server.headers.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def event(self, data: Any) -> None:
        line = f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode()
        self.handler.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
        self.handler.wfile.flush()

    def end_stream(self) -> None:
        self.handler.wfile.write(b"0\r\n\r\n")

    def delta(self, text: str | None = None, finish: str | None = None, **more: Any) -> None:
        delta = {**({} if text is None else {"content": text}), **more}
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        self.event(
            {
                "id": "1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": self.server.model,
                "choices": [choice],
            }
        )

    def answer(self, text: str | None, finish: str | None = "stop", refusal: str | None = None) -> None:
        """A whole answer, streamed if that was asked for."""
        if not self.streaming:
            message = {"role": "assistant", "content": text, "refusal": refusal}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            whole = {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": self.server.model,
                "choices": [choice],
            }
            self.json(200, {**whole, **({"usage": self.usage(text)} if self.server.counts else {})})
            return
        self.begin_stream()
        self.delta(role="assistant")
        for start in range(0, len(text or ""), 7):
            self.delta((text or "")[start : start + 7])
        if refusal:
            self.delta(refusal=refusal)
        self.delta(finish=finish)
        if self.server.counts and (self.body.get("stream_options") or {}).get("include_usage"):
            self.event(
                {
                    "id": "1",
                    "object": "chat.completion.chunk",
                    "created": 1,
                    "model": self.server.model,
                    "choices": [],
                    "usage": self.usage(text),
                }
            )
        self.event("[DONE]")
        self.end_stream()

    def usage(self, text: str | None) -> Body:
        prompt = sum(len(one["content"]) for one in self.body["messages"]) // 4 + 1
        said = len(text or "") // 4 + 1
        details = {"cached_tokens": self.server.cached_tokens}
        return {
            "prompt_tokens": prompt,
            "completion_tokens": said,
            "total_tokens": prompt + said,
            "prompt_tokens_details": details,
        }


Fault = Callable[[Exchange], None]


def error_body(message: str, code: Any = None, kind: str = "invalid_request_error") -> Body:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def status(
    code: int, message: str = "it broke", *, error: Any = None, headers: Mapping[str, str] | None = None
) -> Fault:
    """An error status with an error body."""
    return _named(f"status {code}", lambda exchange: exchange.json(code, error_body(message, error), headers))


def page(code: int = 200) -> Fault:
    """An HTML page of a gateway."""
    html = b"<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body><center>nginx</center></body></html>"
    return _named(f"page {code}", lambda exchange: exchange.raw(code, html, "text/html"))


def broken_json(exchange: Exchange) -> None:
    """A body, or an event of a stream, that is cut off in the middle."""
    if exchange.streaming:
        exchange.begin_stream()
        exchange.delta("a")
        exchange.event('{"id": "1", "choi')
        exchange.end_stream()
    else:
        exchange.raw(200, b'{"id": "1", "choices": [{"mess', "application/json")


def reset(exchange: Exchange) -> None:
    """The connection is reset before there is an answer."""
    _reset(exchange)


def reset_midway(exchange: Exchange) -> None:
    """The connection is reset in the middle of a stream."""
    exchange.begin_stream()
    exchange.delta(exchange.text[: len(exchange.text) // 2])
    _reset(exchange)


def ends_early(exchange: Exchange) -> None:
    """A stream that ends in order, but before the answer does."""
    exchange.begin_stream()
    exchange.delta(exchange.text[: len(exchange.text) // 2])
    exchange.end_stream()


def stall(exchange: Exchange) -> None:
    """A stream that begins and then says nothing more."""
    exchange.begin_stream()
    exchange.delta(exchange.text[:3])
    exchange.server.stopping.wait(30)


def error_midway(exchange: Exchange) -> None:
    """A stream that carries an error."""
    exchange.begin_stream()
    exchange.delta(exchange.text[:3])
    exchange.event(error_body("The server had an error while processing your request", kind="server_error"))
    exchange.end_stream()


def says(text: str | None, finish: str | None = "stop", refusal: str | None = None) -> Fault:
    """Another answer than the usual one: empty, cut off, filtered, a refusal."""
    return _named(f"says {text!r}", lambda exchange: exchange.answer(text, finish, refusal))


def _named(name: str, fault: Fault) -> Fault:
    """For the names of tests."""
    fault.__name__ = name  # type: ignore[attr-defined]
    return fault


def _reset(exchange: Exchange) -> None:
    connection = exchange.handler.connection
    exchange.handler.wfile.flush()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.handler.close_connection = True
    connection.close()


ROTATING: tuple[Fault, ...] = (
    status(500),
    status(429, "Rate limit reached", headers={"retry-after-ms": "20"}),
    reset,
    ends_early,
    status(503, headers={"Retry-After": "0"}),
    says(""),
    broken_json,
    page(502),
    reset_midway,
    error_midway,
    page(200),
)


def one_in(every: int, faults: Sequence[Fault] = ROTATING) -> Callable[[int], Fault | None]:
    """A fault for each `every`th request, in turn."""
    return lambda number: faults[number // every % len(faults)] if number % every == every - 1 else None


@dataclass
class OpenAIServer:
    """The server, a context manager. `requests` holds the bodies of all chat requests, `keys` what authorised them."""

    answer: Callable[[Body], str] = lambda body: "hello there"
    faults: Sequence[Fault | None] | Callable[[int], Fault | None] = ()
    lacks: frozenset[str] | set[str] = frozenset()
    model: str = "test-model"
    key: str | None = None
    counts: bool = True
    cached_tokens: int = 0
    most_output: int | None = None
    context: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    requests: list[Body] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> OpenAIServer:
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failed: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def chat(self, exchange: Exchange) -> None:
        with self._lock:
            number = len(self.requests)
            self.requests.append(exchange.body)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            fault = self._fault(number) or self._refusal(exchange.body)
            exchange.text = self.answer(exchange.body)
            if fault is not None:
                fault(exchange)
            else:
                exchange.answer(exchange.text)
        finally:
            with self._lock:
                self.at_once -= 1

    def _fault(self, number: int) -> Fault | None:
        if callable(self.faults):
            return self.faults(number)
        return self.faults[number] if number < len(self.faults) else None

    def _refusal(self, body: Body) -> Fault | None:
        """What a real endpoint says about what it lacks."""
        used = {
            "json_schema": (body.get("response_format") or {}).get("type") in ("json_schema", "json_object"),
            "system": any(one["role"] == "system" for one in body["messages"]),
            "stream": bool(body.get("stream")),
        }
        for feature in sorted(self.lacks):
            if used.get(feature, feature in body):
                return status(400, _REFUSALS[feature], error="unsupported_parameter")
        asked = body.get("max_tokens") or body.get("max_completion_tokens") or 0
        if self.most_output is not None and asked > self.most_output:
            return status(
                400,
                f"max_tokens is too large: {asked}. This model supports at most {self.most_output} completion tokens, "
                f"whereas you provided {asked}.",
                error="invalid_value",
            )
        prompt = sum(len(one["content"]) for one in body["messages"]) // 4
        if self.context is not None and prompt + asked > self.context:
            return status(
                400,
                f"This model's maximum context length is {self.context} tokens. However, you requested "
                f"{prompt + asked} tokens ({prompt} in the messages, {asked} in the completion). "
                "Please reduce the length of the messages.",
                error="context_length_exceeded",
            )
        return None


def _handler(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            models = {
                "object": "list",
                "data": [{"id": server.model, "object": "model", "created": 1, "owned_by": "x"}],
            }
            Exchange(self, {}, "", server).json(200, models)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            exchange = Exchange(self, body, "hello there", server)
            server.keys.append(self.headers.get("Authorization", ""))
            try:
                self.route(exchange)
            except (ConnectionError, ValueError):  # the client has gone
                self.close_connection = True

        def route(self, exchange: Exchange) -> None:
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if server.key is not None and given != server.key:
                exchange.json(401, error_body(f"Incorrect API key provided: {given}.", "invalid_api_key"))
            elif self.path != "/v1/chat/completions":
                exchange.raw(404, b"404 page not found", "text/plain")
            elif exchange.body["model"] != server.model:
                exchange.json(
                    404, error_body(f"The model `{exchange.body['model']}` does not exist.", "model_not_found")
                )
            else:
                server.chat(exchange)

    return Handler
