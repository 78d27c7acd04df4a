"""Every way in which a real endpoint fails, over real HTTP: what can succeed does, what cannot says what to do."""

from __future__ import annotations

import asyncio
import socket
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from engine.errors import ContextTooLong, ModelError
from engine.models import ModelSpec
from engine.models.base import Answer, Message, Request
from engine.models.conversation import complete_text
from engine.models.openai import OpenAIModel
from engine.models.patience import Patience
from engine.models.recording import RecordingModel
from tests.support.openai_server import (
    ROTATING,
    Fault,
    OpenAIServer,
    broken_json,
    ends_early,
    error_midway,
    one_in,
    page,
    reset,
    reset_midway,
    says,
    stall,
    status,
)

KEY = "sk-live-0123456789abcdefghij"
TEXT = "a whole answer, from its beginning to its very end"
REQUEST = Request("develop/a.py#1", "test-model", (Message("system", "Be good."), Message("user", "Go on.")))
QUICK = Patience(first=0.005, idle=0.4)
Events = list[tuple[str, Mapping[str, Any]]]


def model_of(server: OpenAIServer, events: Events, name: str = "test-model", patience: Patience = QUICK) -> OpenAIModel:
    spec = ModelSpec(name, server.url, "LIVE_KEY", patience=patience)
    heard = lambda kind, data: events.append((kind, data))  # noqa: E731
    return OpenAIModel(spec, on_event=heard, environment={"LIVE_KEY": KEY})


def ask(server: OpenAIServer, events: Events, *requests: Request, **more: Any) -> list[Answer]:
    async def all_of_them() -> list[Answer]:
        model = model_of(server, events, **more)
        try:
            return list(await asyncio.gather(*(model.answer(one) for one in requests or (REQUEST,))))
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def error_of(
    faults: Sequence[Fault] = (), kind: type[ModelError] = ModelError, **more: Any
) -> tuple[str, OpenAIServer, Events]:
    """The error that a model ends with."""
    events: Events = []
    name = more.pop("name", "test-model")
    with OpenAIServer(faults=faults, **more) as server, pytest.raises(kind) as caught:
        ask(server, events, name=name)
    assert_no_key(caught.value, events)
    assert str(caught.value).startswith(f"develop/a.py#1: model '{name}' at {server.url}: ")
    return str(caught.value), server, events


def assert_no_key(error: BaseException | None, events: Events) -> None:
    shown = repr(events) + ("".join(traceback.format_exception(error)) if error else "")
    while error is not None:
        shown += f"{error!r} {error} {vars(error)}"
        error = error.__cause__
    assert KEY not in shown
    assert KEY[:12] not in shown


@pytest.mark.parametrize(
    "fault",
    [
        status(429, "slow down", headers={"retry-after-ms": "30"}),
        status(429, "slow down", headers={"Retry-After": "0"}),
        status(429, "slow down"),
        status(500),
        status(502),
        status(503),
        status(504),
        page(502),
        reset,
        reset_midway,
        ends_early,
        stall,
        error_midway,
        broken_json,
        page(200),
        says(""),
        says("  \n"),
        says(None),
    ],
)  # fmt: skip
def test_what_passes_is_tried_again(fault: Fault) -> None:
    events: Events = []
    with OpenAIServer(answer=lambda body: TEXT, faults=[fault, fault]) as server:
        [answer] = ask(server, events)
    assert (answer.text, answer.finish_reason) == (TEXT, "stop")
    assert len(server.requests) == 3
    assert [kind for kind, _ in events if kind not in ("model retry", "model workaround")] == []
    assert len(events) == 2
    assert all(data["place"] == "develop/a.py#1" for _, data in events)
    assert_no_key(None, events)


@pytest.mark.parametrize(
    ("fault", "tries", "says_so"),
    [
        (status(500, "it broke"), 8, "HTTP 500: it broke"),
        (page(502), 8, "HTTP 502: an HTML page (502 Bad Gateway)"),
        (says(""), 3, "the answer is empty"),
        (stall, 3, "nothing came for too long"),
        (page(200), 3, "no JSON, but an HTML page"),
        (broken_json, 3, "not of the protocol"),
        (reset, 3, "ReadError"),
    ],
)
def test_what_does_not_pass_is_given_up(fault: Fault, tries: int, says_so: str) -> None:
    message, server, _ = error_of([fault] * 50)
    assert len(server.requests) == tries
    assert f"(tried {tries} times)" in message
    assert says_so in message


def test_after_an_answer_a_lost_connection_is_borne_longer() -> None:
    events: Events = []
    with OpenAIServer(faults=[None, *[reset] * 6]) as server:

        async def twice() -> None:
            model = model_of(server, events)
            await model.answer(REQUEST)
            await model.answer(REQUEST)
            await model.close()

        asyncio.run(twice())
    assert len(server.requests) == 8


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (status(429, "You exceeded your current quota", error="insufficient_quota"), "add credit"),
        (status(429, "Request too large for x on tokens per min"), "lower model.max_input_tokens"),
        (status(429, "daily limit", headers={"Retry-After": "86400"}), "Resume the run later"),
        (status(403, "not for you"), "Set LIVE_KEY to a key"),
        (status(400, "filtered", error="content_filter"), "content filter"),
        (says("part of it", "content_filter"), "content filter"),
        (status(400, "messages must not be empty"), "the message says why"),
        (page(404), "usually ends in /v1"),
        (status(405, "Method Not Allowed"), "usually ends in /v1"),
    ],
)
def test_what_cannot_succeed_fails_at_once_with_the_remedy(fault: Fault, remedy: str) -> None:
    message, server, _ = error_of([fault] * 50)
    assert remedy in message
    assert len(server.requests) == 1


def test_a_refusal_is_an_error_with_its_words() -> None:
    message, server, _ = error_of([says(None, "stop", "I will not help with that.")] * 9)
    assert "I will not help with that." in message
    assert len(server.requests) == 2  # a stream does not carry it


def test_a_wrong_key_is_named_by_its_variable() -> None:
    message, server, _ = error_of(key="another key")
    assert "Incorrect API key provided: [key]." in message
    assert "Set LIVE_KEY to a key that this endpoint accepts" in message
    assert server.keys == [f"Bearer {KEY}"]


def test_a_wrong_model_is_told_which_there_are() -> None:
    message, server, _ = error_of(name="test-modle")
    assert "The endpoint has: test-model." in message
    assert len(server.requests) == 0


def test_a_prompt_that_is_too_long_is_an_error_of_its_own() -> None:
    message, server, _ = error_of(kind=ContextTooLong, context=3)
    assert "maximum context length is 3 tokens" in message
    assert len(server.requests) == 1
    with OpenAIServer(context=1000) as other, pytest.raises(ContextTooLong) as caught:
        ask(other, [], Request("a", "test-model", (Message("user", "word " * 5000),)))
    assert caught.value.limit == 1000


def test_where_nothing_listens() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    model = OpenAIModel(ModelSpec("m", f"http://127.0.0.1:{port}/v1", patience=QUICK), environment={})
    with pytest.raises(ModelError, match=r"onnect(.|\n)*tried 3 times(.|\n)*Is the endpoint running"):
        asyncio.run(model.answer(REQUEST))


def test_a_cut_off_answer_is_completed_over_a_bad_line() -> None:
    whole = "".join(f"line {number} of a long answer\n" for number in range(30))
    parts = [says(whole[:300], "length"), status(500), says(whole[270:600], "length"), reset_midway, says(whole[600:])]
    with OpenAIServer(faults=parts) as server:

        async def asked() -> Answer:
            model = model_of(server, [])
            try:
                return await complete_text(model.answer, REQUEST)
            finally:
                await model.close()

        answer = asyncio.run(asked())
    assert (answer.text, answer.finish_reason) == (whole, "stop")


def test_sixteen_callers_get_through_a_server_that_fails_one_call_in_three() -> None:
    events: Events = []
    requests = [Request(f"develop/{number}#1", "test-model", (Message("user", f"{number}"),)) for number in range(48)]
    with OpenAIServer(answer=lambda body: f"file {body['messages'][0]['content']}", faults=one_in(3)) as server:
        answers = ask(server, events, *requests)
    assert [one.text for one in answers] == [f"file {number}" for number in range(48)]
    assert len(server.requests) >= 48 * 3 // 2 - len(ROTATING)
    assert_no_key(None, events)


def test_sixteen_callers_do_not_stampede() -> None:
    """All are refused and told to come back at the same moment; they must not all come back then."""

    def first_sixteen(number: int) -> Fault | None:
        if number == 16:
            server.most_at_once = 0
        return status(429, "slow down", headers={"retry-after-ms": "60"}) if number < 16 else None

    def slowly(body: Any) -> str:
        time.sleep(0.05)
        return TEXT

    requests = [Request(f"a#{number}", "test-model", REQUEST.messages) for number in range(16)]
    with OpenAIServer(answer=slowly, faults=first_sixteen) as server:
        answers = ask(server, [], *requests)
    assert len(answers) == 16
    assert len(server.requests) == 32
    assert 1 <= server.most_at_once <= 8


def test_what_an_endpoint_takes_at_once_is_found() -> None:
    def too_many(number: int) -> Fault | None:
        return status(429, "one at a time", headers={"retry-after-ms": "5"}) if server.at_once > 2 else None

    requests = [Request(f"a#{number}", "test-model", REQUEST.messages) for number in range(16)]
    with OpenAIServer(faults=too_many) as server:
        assert len(ask(server, [], *requests)) == 16


def test_a_cancelled_call_ends_and_leaves_the_model_usable() -> None:
    async def cancelled(server: OpenAIServer) -> Answer:
        model = model_of(server, [], patience=Patience(first=0.005, idle=30))
        task = asyncio.ensure_future(model.answer(REQUEST))
        for _ in range(1000):
            if server.requests:
                break
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        try:
            return await model.answer(REQUEST)
        finally:
            await model.close()

    with OpenAIServer(answer=lambda body: TEXT, faults=[stall]) as server:
        assert asyncio.run(cancelled(server)).text == TEXT


def test_a_key_that_the_endpoint_echoes_is_in_no_answer_recording_or_error(tmp_path: Any) -> None:
    events: Events = []
    path = tmp_path / "run.jsonl"
    with OpenAIServer(
        faults=[status(500, f"bad {KEY}"), says(f"your key is {KEY}"), status(400, f"no {KEY}")]
    ) as server:

        async def asked() -> Answer:
            model = RecordingModel(model_of(server, events), path)
            try:
                answer = await model.answer(REQUEST)
                with pytest.raises(ModelError) as caught:
                    await model.answer(REQUEST)
                assert_no_key(caught.value, events)
                return answer
            finally:
                await model.close()

        answer = asyncio.run(asked())
    assert answer.text == "your key is [key]"
    assert KEY not in path.read_text() + repr(events) + repr(answer)
