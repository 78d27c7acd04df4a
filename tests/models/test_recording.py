"""Recordings are readable lines, in the order of answering, and survive whatever ends a run."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import InputError
from engine.models import ModelSpec, open_model
from engine.models.base import Answer, Message, Request
from engine.models.recording import RecordingModel, read_recording
from engine.models.scripted import ScriptedModel


def ask(text: str, **more: Any) -> Request:
    return Request("a#1", "gpt-4o", (Message("user", text),), **more)


def record(path: Path, *requests: Request, name: str = "gpt-4o") -> list[Answer]:
    """Ask all of them at once, through a recorder."""

    async def all_of_them() -> list[Answer]:
        inner = ScriptedModel(lambda request: f"answer to {request.messages[0].content}", name=name)
        model = RecordingModel(inner, path)
        return list(await asyncio.gather(*(model.answer(one) for one in requests)))

    return asyncio.run(all_of_them())


def test_each_answer_is_one_line_after_a_header(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "run.jsonl"
    record(path, ask("one"), ask("two", schema={"type": "object"}, sample=3))
    header, one, two = map(json.loads, path.read_text().splitlines())
    assert header == {"flowrun_recording": 1, "model": "gpt-4o"}
    assert list(one) == ["place", "key", "request", "answer"]
    assert list(one["request"]) == ["messages", "decoding", "schema", "sample"]
    assert one["answer"]["text"] == "answer to one"
    assert (two["request"]["schema"], two["request"]["sample"]) == ({"type": "object"}, 3)


def test_what_was_recorded_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    requests = [ask("one"), ask("zwei ✓\u2028\x85\r"), ask("half \ud800", sample=1)]
    answers = record(path, *requests)
    path.read_text(encoding="utf-8")
    recording = read_recording(path)
    assert recording.model == "gpt-4o"
    assert [(one.request, one.answer) for one in recording.entries] == list(zip(requests, answers, strict=True))


def test_a_file_is_continued_without_writing_twice(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ask("one"), ask("one"))
    record(path, ask("two"), ask("one"))
    assert [one.request.messages[0].content for one in read_recording(path).entries] == ["one", "two"]


def test_models_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ask("one"))
    record(path, replace(ask("one"), model="mini"), name="mini")
    models = [one.request.model for one in read_recording(path).entries]
    assert models == ["gpt-4o", "mini"]


@pytest.mark.parametrize("lost", [1, 2, 30])
def test_a_line_that_was_cut_off_is_dropped_and_written_over(tmp_path: Path, lost: int) -> None:
    path = tmp_path / "run.jsonl"
    record(path, ask("one"), ask("two"))
    path.write_bytes(path.read_bytes()[:-lost])
    kept = 2 if lost == 1 else 1
    assert len(read_recording(path).entries) == kept
    record(path, ask("two"), ask("three"))
    assert [one.request.messages[0].content for one in read_recording(path).entries] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}\n", ":1: not a recording"),
        (b"\xff\xfe\n", ":1: not a recording"),
        (b"print(1)\n", ":1: not a recording"),
        (b'{"flowrun_recording": 2, "model": "m"}\n', ":1: a recording of format 2"),
        (b'{"flowrun_recording": 1, "model": "m"}\n{"place": "a"}\n', ":2: a broken line"),
        (b'{"flowrun_recording": 1, "model": "m"}\n\n[\n\n', ":3: a broken line"),
    ],
)
def test_what_is_no_recording_is_named_by_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_recording(path)
    with pytest.raises(InputError, match=message):
        RecordingModel(ScriptedModel([]), path)
    assert path.read_bytes() == content


def test_a_recording_that_cannot_be_written_is_a_mistake_in_the_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--record .*cannot be written"):
        open_model(ModelSpec(f"mailbox:{tmp_path}/box"), record=tmp_path / "file" / "run.jsonl")


@given(st.text(), st.text())
def test_any_text_is_read_back(tmp_path_factory: pytest.TempPathFactory, asked: str, said: str) -> None:
    path = tmp_path_factory.mktemp("recording") / "run.jsonl"
    model = RecordingModel(ScriptedModel([said]), path)
    asyncio.run(model.answer(ask(asked)))
    [entry] = read_recording(path).entries
    assert (entry.request.messages[0].content, entry.answer.text) == (asked, said)
