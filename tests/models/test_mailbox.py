"""Requests become files, answer files become answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError, ModelError
from engine.models import ModelSpec, open_model
from engine.models.base import Answer, Message, Request
from engine.models.mailbox import MailboxModel, readable, request_stem

REQUEST = Request(
    "develop/src/core.py#2:tests",
    "mailbox",
    (Message("system", "Be good."), Message("user", "Write ```x```.\n")),
    schema={"type": "object"},
)


def answered(folder: Path, write: Callable[[Path, str], object], request: Request = REQUEST) -> Answer:
    """Ask, and let `write` put the answer down once the question is there."""
    model = MailboxModel(folder, poll=0.01)

    async def reply() -> None:
        question = folder / "requests" / f"{request_stem(request)}.md"
        for _ in range(1000):
            if question.exists():
                break
            await asyncio.sleep(0.005)
        write(folder / "answers", question.stem)

    async def both() -> Answer:
        answer, _ = await asyncio.gather(model.answer(request), reply())
        return answer

    return asyncio.run(asyncio.wait_for(both(), 10))


def test_the_question_is_written_whole_and_readable(tmp_path: Path) -> None:
    answer = answered(tmp_path, lambda answers, stem: (answers / f"{stem}.txt").write_text("yes\n"))
    assert (answer.text, answer.finish_reason, answer.model, answer.estimated) == ("yes\n", "stop", "mailbox", True)
    [question] = (tmp_path / "requests").glob("*.json")
    assert re.fullmatch(r"develop_src_core\.py_2_tests-[0-9a-f]{8}", question.stem)
    assert Request.from_json(json.loads(question.read_text())) == REQUEST
    text = question.with_suffix(".md").read_text()
    assert "=== system ===\nBe good.\n" in text
    assert "=== user ===\nWrite ```x```.\n" in text
    assert '{"type":"object"}' in text
    assert not list((tmp_path / "requests").glob(".*"))


def test_json_carries_the_finish_reason(tmp_path: Path) -> None:
    said = json.dumps({"text": "half", "finish_reason": "length"})
    answer = answered(tmp_path, lambda answers, stem: (answers / f"{stem}.json").write_text(said))
    assert (answer.text, answer.finish_reason) == ("half", "length")


def test_an_answer_that_is_there_already_is_taken(tmp_path: Path) -> None:
    model = MailboxModel(tmp_path, poll=0.01)
    (tmp_path / "answers" / f"{request_stem(REQUEST)}.txt").write_bytes(b"\xef\xbb\xbfold")
    assert asyncio.run(model.answer(REQUEST)).text == "old"


def test_an_unfinished_answer_is_not_taken(tmp_path: Path) -> None:
    def slowly(answers: Path, stem: str) -> None:
        async def write() -> None:
            with (answers / f"{stem}.txt").open("w") as file:
                for number in range(20):
                    file.write(f"{number}\n")
                    file.flush()
                    await asyncio.sleep(0.004)

        tasks.append(asyncio.ensure_future(write()))

    tasks: list[asyncio.Task[None]] = []
    assert answered(tmp_path, slowly).text.split() == [str(number) for number in range(20)]


def test_waiting_can_be_cancelled(tmp_path: Path) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(MailboxModel(tmp_path).answer(REQUEST))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".json", b'{"n": 1}'),
        (".json", b'{"text": 1}'),
        (".json", b'["x"]'),
        (".json", b"{"),
        (".txt", b"\xff\xfe\x00"),
    ],
)
def test_what_is_no_answer_is_an_error_that_names_the_file(tmp_path: Path, suffix: str, content: bytes) -> None:
    with pytest.raises(ModelError, match=r"develop_src_core.*(write it again|Write it again)"):
        answered(tmp_path, lambda answers, stem: (answers / f"{stem}{suffix}").write_bytes(content))


def test_a_folder_that_cannot_be_made_is_a_mistake_in_the_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make the folder"):
        open_model(ModelSpec(f"mailbox:{tmp_path}/file/box"))


@given(st.text())
def test_any_place_is_a_file_name(place: str) -> None:
    stem = request_stem(Request(place, "m", ()))
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{8}", stem)
    assert len(stem) < 120


@given(st.text(st.characters()))
def test_any_text_can_be_put_down(text: str) -> None:
    assert "=== user ===" in readable(Request("a", "m", (Message("user", text),)))
    json.dumps(Request("a", "m", (Message("user", text),)).to_json()).encode()
