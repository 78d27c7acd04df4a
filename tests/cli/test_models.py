"""`flowrun models probe`, as a user calls it."""

from __future__ import annotations

import json

from tests.support.command import flowrun
from tests.support.openai_server import OpenAIServer

KEY = "sk-probe-7f3a9c1e5b2d8f60"


def probe(server: OpenAIServer, *more: str, model: str = "test-model") -> tuple[int, str, str]:
    done = flowrun("models", "probe", "--model", model, "--base-url", server.url, *more, OPENAI_API_KEY=KEY)
    assert KEY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_it_says_what_is_lacking_and_what_is_done_instead() -> None:
    with OpenAIServer(answer=lambda body: f"Oslo {KEY}", lacks={"system"}) as server:
        code, out, _ = probe(server)
    assert code == 0
    assert f"model 'test-model' at {server.url}" in out
    assert "lacks  system role" in out
    assert "-> the system message stands at the head of the first user message" in out
    assert server.keys[0] == f"Bearer {KEY}"


def test_for_programs() -> None:
    with OpenAIServer(answer=lambda body: '{"city": "Oslo", "large": true}') as server:
        code, out, _ = probe(server, "--json")
    said = json.loads(out)
    assert code == 0 and said["base_url"] == server.url
    assert {"what": "streaming", "ok": True, "detail": "accepted", "instead": ""} in said["findings"]


def test_mistakes_come_with_their_remedy() -> None:
    with OpenAIServer(key="another") as server:
        code, _, err = probe(server)
        assert code == 1 and "Set OPENAI_API_KEY to a key that this endpoint accepts" in err
    with OpenAIServer() as server:
        code, _, err = probe(server, model="tset-model")
        assert code == 1 and "The endpoint has: test-model." in err
        code, _, err = probe(server, model="replay:x.jsonl")
        assert code == 2 and "nothing to probe" in err
    code, _, err = probe(server)  # it has ended
    assert code == 1 and "Is the endpoint running" in err
    done = flowrun("models", "probe", "--model", "x", "--api-key-env", "MINE")
    assert done.returncode == 2 and "the environment variable MINE is not set" in done.stderr
