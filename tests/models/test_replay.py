"""A recording answers what it holds, and says what differs from what it does not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import InputError, ReplayMiss
from engine.models import ModelSpec, open_model
from engine.models.base import Decoding, Message, Request
from engine.models.recording import RecordingModel
from engine.models.replay import ReplayModel
from engine.models.scripted import ScriptedModel

PROMPT = "".join(f"line {number}\n" for number in range(30))
ARCHITECT = Request(
    "architect/0#1", "gpt-4o", (Message("system", "Design."), Message("user", PROMPT)), Decoding(seed=1)
)
CTO = Request("cto#1", "gpt-4o", (Message("user", "Choose."),), schema={"type": "object", "required": ["winner"]})
AGAIN = replace(CTO, messages=(*CTO.messages, Message("assistant", "?"), Message("user", "Again.")))


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    model = RecordingModel(ScriptedModel(["sketch", "bad", "winner"], name="gpt-4o"), path)
    for request in (ARCHITECT, CTO, AGAIN):
        asyncio.run(model.answer(request))
    return path


def text(model: ReplayModel, request: Request) -> str:
    return asyncio.run(model.answer(request)).text


def test_recorded_requests_are_answered_as_often_as_asked(recording: Path) -> None:
    model = ReplayModel(recording)
    assert model.name == "gpt-4o"
    assert [text(model, one) for one in (AGAIN, ARCHITECT, CTO, ARCHITECT)] == ["winner", "sketch", "bad", "sketch"]


def test_open_model_replays(recording: Path) -> None:
    model = open_model(ModelSpec(f"replay:{recording}"))
    assert asyncio.run(model.answer(CTO)).text == "bad"


def test_a_replay_can_be_recorded(recording: Path, tmp_path: Path) -> None:
    model = open_model(ModelSpec(f"replay:{recording}"), record=tmp_path / "copy.jsonl")
    for request in (ARCHITECT, CTO, AGAIN):
        asyncio.run(model.answer(request))
    assert (tmp_path / "copy.jsonl").read_bytes() == recording.read_bytes()


def test_a_miss_shows_what_differs_at_the_same_place(recording: Path) -> None:
    asked = replace(
        ARCHITECT, messages=(ARCHITECT.messages[0], Message("user", PROMPT.replace("line 7\n", "line 8\n")))
    )
    with pytest.raises(ReplayMiss) as caught:
        text(ReplayModel(recording), asked)
    message = str(caught.value)
    assert "no recorded answer for architect/0#1" in message
    assert "\n    -line 7\n    +line 8\n" in message
    assert "line 20" not in message
    assert "--replay-drift=warn" in message


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"decoding": Decoding(seed=2)}, "-seed: 1\n    +seed: 2"),
        ({"decoding": Decoding(seed=1, temperature=0.9)}, "-temperature: 0.2\n    +temperature: 0.9"),
        ({"sample": 1}, "-sample: 0\n    +sample: 1"),
        ({"schema": {"type": "array"}}, "+=== schema ==="),
    ],
)
def test_everything_in_a_request_counts(recording: Path, changes: dict[str, object], shown: str) -> None:
    with pytest.raises(ReplayMiss) as caught:
        text(ReplayModel(recording), replace(ARCHITECT, **changes))  # type: ignore[arg-type]
    assert shown in str(caught.value)


def test_a_miss_at_an_unknown_place_shows_the_nearest(recording: Path) -> None:
    with pytest.raises(
        ReplayMiss, match=r"no recorded answer for architect/9#1. Nothing was recorded there; .* of architect/0#1"
    ) as caught:
        text(ReplayModel(recording, drift="warn"), replace(ARCHITECT, place="architect/9#1"))
    assert "-place: architect/0#1" in str(caught.value)
    assert "record again" in str(caught.value)


def test_long_differences_are_cut(recording: Path) -> None:
    with pytest.raises(ReplayMiss) as caught:
        text(ReplayModel(recording), replace(ARCHITECT, messages=(Message("user", "x" * 9999 + "\ny" * 999),)))
    assert len(str(caught.value).splitlines()) < 40
    assert len(str(caught.value)) < 5000


def test_what_differs_in_a_long_line_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    asked = replace(CTO, messages=(Message("user", "a" * 900 + " old words " + "b" * 900),))
    asyncio.run(RecordingModel(ScriptedModel(["x"], name="gpt-4o"), path).answer(asked))
    changed = replace(asked, messages=(Message("user", "a" * 900 + " new words " + "b" * 900),))
    with pytest.raises(ReplayMiss) as caught:
        text(ReplayModel(path), changed)
    lines = str(caught.value).splitlines()
    assert [line[:20] for line in lines if "words" in line] == ["    -…" + "a" * 14, "    +…" + "a" * 14]
    assert any("a old words b" in line for line in lines) and any("a new words b" in line for line in lines)
    assert all(len(line) < 200 for line in lines[1:-1])


def test_an_answer_that_drifted_says_so_wherever_it_goes(recording: Path, tmp_path: Path) -> None:
    changed = replace(CTO, messages=(Message("user", "Choose well."),))
    model = RecordingModel(ReplayModel(recording, drift="warn"), tmp_path / "again.jsonl")
    assert not asyncio.run(model.answer(ARCHITECT)).drifted
    assert asyncio.run(model.answer(changed)).drifted
    again = ReplayModel(tmp_path / "again.jsonl")
    assert not asyncio.run(again.answer(ARCHITECT)).drifted
    assert asyncio.run(again.answer(changed)).drifted


def test_drift_takes_the_nearest_of_the_same_place_and_lists_it(recording: Path) -> None:
    events: list[object] = []
    model = ReplayModel(recording, drift="warn", on_event=lambda kind, data: events.append((kind, data["place"])))
    assert text(model, ARCHITECT) == "sketch"
    assert model.drifted == []
    assert text(model, replace(CTO, messages=(Message("user", "Choose well."),))) == "bad"
    assert text(model, replace(AGAIN, messages=(Message("user", "Choose well."), *AGAIN.messages[1:]))) == "winner"
    assert model.drifted == ["cto#1", "cto#1"]
    assert events == [("replay drift", "cto#1")] * 2


def test_one_replay_stands_for_several_models(recording: Path) -> None:
    recorder = RecordingModel(ScriptedModel(["small"], name="mini"), recording)
    asyncio.run(recorder.answer(replace(CTO, place="qa#1", model="mini")))
    asyncio.run(RecordingModel(ScriptedModel(["other"], name="mini"), recording).answer(replace(CTO, model="mini")))
    model = ReplayModel(recording)
    assert text(model, replace(CTO, place="qa#1")) == "small"
    assert text(model, CTO) == "bad"  # the model of the first line goes first


def test_an_empty_recording_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    RecordingModel(ScriptedModel([]), path)
    with pytest.raises(ReplayMiss, match="the recording is empty"):
        text(ReplayModel(path), CTO)


@pytest.mark.parametrize("name", ["missing.jsonl", ""])
def test_a_missing_recording_is_a_mistake_in_the_input(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"cannot read the recording"):
        open_model(ModelSpec(f"replay:{tmp_path / name}"))
    with pytest.raises(InputError, match="must follow the colon"):
        open_model(ModelSpec("replay:"))
