"""A real HTTP server with an OpenAI-compatible embeddings endpoint; `faults` are used up one per request, in order."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.openai_server import Body, Exchange, Fault, error_body


@dataclass
class EmbeddingsServer:
    """A context manager. A text's vector is what `embed` says; `requests` holds the bodies, `keys` what came with them.

    most     texts in a request
    context  characters of a text
    """

    embed: Callable[[str], list[float]] = lambda text: [float(len(text)), 1.0, 0.0]
    faults: Sequence[Fault | None] = ()
    model: str = "bge-m3"
    key: str | None = None
    most: int = 32
    context: int = 100_000
    headers: Mapping[str, str] = field(default_factory=dict)
    requests: list[Body] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def __enter__(self) -> EmbeddingsServer:
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failed: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def reply(self, exchange: Exchange, given: str) -> None:
        with self._lock:
            number = len(self.requests)
            self.requests.append(exchange.body)
            self.keys.append(given)
        fault = self.faults[number] if number < len(self.faults) else None
        if fault is not None:
            fault(exchange)
            return
        status, answer = self._answer(exchange.body, given)
        exchange.json(status, answer)

    def _answer(self, body: Body, given: str) -> tuple[int, Any]:
        texts = body["input"]
        if self.key is not None and given != self.key:
            return 401, error_body(f"Incorrect API key provided: {given}.", "invalid_api_key")
        if body["model"] != self.model:
            return 404, error_body(f"The model `{body['model']}` does not exist.", "model_not_found")
        if not texts or not all(texts):
            return 400, error_body("'$.input' is invalid: an empty string")
        if len(texts) > self.most:
            return 413, error_body(f"batch size {len(texts)} > maximum allowed batch size {self.most}")
        if max(map(len, texts)) > self.context:
            return 400, error_body("This model's maximum context length is 8192 tokens.", "context_length_exceeded")
        data = [{"object": "embedding", "index": n, "embedding": self.embed(one)} for n, one in enumerate(texts)]
        return 200, {
            "object": "list",
            "model": self.model,
            "data": data,
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }


def _handler(server: EmbeddingsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            exchange = Exchange(self, body, "", server)  # type: ignore[arg-type]
            if self.path != "/v1/embeddings":
                exchange.raw(404, b"404 page not found", "text/plain")
            else:
                server.reply(exchange, self.headers.get("Authorization", "").removeprefix("Bearer "))

    return Handler
