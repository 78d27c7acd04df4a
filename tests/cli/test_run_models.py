"""Which model answers for which role, what that costs, what drifted, and where a key may not be: whole runs."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import ROOT, flowrun
from tests.support.openai_server import Body, Fault, OpenAIServer, status
from tests.support.recorded import RecordedAnswers

FLOW = ROOT / "tests" / "flows_data" / "implement.yaml"
KEYS = ("sk-live-6b1f0c9e7d2a4835", "dev-key-e04a7c5b91d3f268")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the scripted model of the shop says in a whole run."""
    folder = tmp_path_factory.mktemp("recorded")
    model = "script:tests.support.shop:answer"
    done = flowrun(FLOW, "--model", model, "--record", folder / "shop.jsonl", "--runs", folder, "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "shop.jsonl"


def record_of(runs: Path) -> dict[str, Any]:
    [file] = runs.glob("*/run.json")
    data: dict[str, Any] = json.loads(file.read_text())
    return data


def flow_of(folder: Path, developer: OpenAIServer, qa: OpenAIServer) -> Path:
    file = folder / "roles.yaml"
    file.write_text(
        f"extends: {FLOW}\n"
        "model: {retry_delay: 10ms}\n"
        "models:\n"
        f"  developer: {{name: dev-model, base_url: '{developer.url}', api_key_env: DEV_KEY, temperature: 0.7,"
        " price: {input: 1000, output: 2000, cached: 500}}\n"
        f"  qa: {{name: qa-model, base_url: '{qa.url}'}}\n"
    )
    return file


def test_each_role_asks_its_own_model(recording: Path, tmp_path: Path) -> None:
    answers = RecordedAnswers(recording)
    with (
        OpenAIServer(answer=answers, model="dev-model", key=KEYS[1], cached_tokens=40) as developer,
        OpenAIServer(answer=answers, model="qa-model") as qa,
    ):
        flow = flow_of(tmp_path, developer, qa)
        done = flowrun(flow, "--runs", tmp_path, "--quiet", OPENAI_API_KEY=KEYS[0], DEV_KEY=KEYS[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (len(developer.requests), len(qa.requests)) == (6, 3)
    assert {one["temperature"] for one in developer.requests} == {0.7}
    assert {one["temperature"] for one in qa.requests} == {0.2}
    assert set(qa.keys) == {f"Bearer {KEYS[0]}"}
    record = record_of(tmp_path)
    assert record["model"]["developer"]["name"] == "dev-model"
    usage = record["usage"]["roles"]
    assert (usage["developer"]["calls"], usage["qa"]["calls"]) == (6, 3)
    assert (usage["developer"]["cached_tokens"], usage["qa"]["cached_tokens"]) == (240, 0)
    read, written = usage["developer"]["input_tokens"], usage["developer"]["output_tokens"]
    assert usage["developer"]["cost"] == pytest.approx(((read - 240) * 1000 + 240 * 500 + written * 2000) / 1e6)
    assert record["usage"]["cost"] == pytest.approx(usage["developer"]["cost"])
    shown = flowrun("runs", "show", "last", "--runs", tmp_path).stdout
    assert "developer: 6 calls of dev-model" in shown and "of the prompts cached" in shown
    assert "qa: 3 calls of qa-model" in shown


def test_a_model_on_the_command_line_stands_for_all_roles(recording: Path, tmp_path: Path) -> None:
    with (
        OpenAIServer() as unasked,
        OpenAIServer(answer=RecordedAnswers(recording), model="one-model", key=KEYS[0]) as asked,
    ):
        chosen = ["--model", "one-model", "--base-url", asked.url]
        flow = flow_of(tmp_path, unasked, unasked)
        done = flowrun(flow, *chosen, "--runs", tmp_path, "--quiet", OPENAI_API_KEY=KEYS[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert unasked.requests == []
    assert {one["model"] for one in asked.requests} == {"one-model"}
    assert record_of(tmp_path)["usage"]["cost"] == 0  # the price is another model's
    assert {one["temperature"] for one in asked.requests} == {0.2, 0.7}


def test_a_role_that_nobody_has_is_told_and_one_without_a_model_refused(recording: Path, tmp_path: Path) -> None:
    replay = ["--model", f"replay:{recording}", "--runs", tmp_path]
    done = flowrun(FLOW, *replay, "--set", "models={qs: {name: x}}", "--set", "budget.calls=1")
    assert "models.qs has no effect: no node has this role" in done.stdout
    done = flowrun(FLOW, "--runs", tmp_path, "--set", "models={qa: {name: x, base_url: 'http://localhost:9'}}")
    assert done.returncode == 2
    assert "no model is configured" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "replay:{recording}", "--base-url", "http://localhost:9/v1"], "--base-url has no effect"),
        (["--model", "mailbox:{folder}", "--base-url", "http://localhost:9/v1"], "--base-url has no effect"),
        (["--model", "x", "--base-url", "http://localhost:9/v1", "--replay-drift", "warn"], "is no recording"),
        (["--model", "x", "--base-url", f"user:{KEYS[0]}@host/v1"], "not an address"),
        (["--model", "x", "--base-url", f"https://user:{KEYS[0]}@host/v1"], "it holds a password"),
        (["--model", "replay:{recording}", "--set", f"model.base_url=https://u:{KEYS[0]}@h"], "it holds a password"),
    ],
)
def test_options_without_effect_and_keys_in_addresses_are_refused(
    options: list[str], said: str, recording: Path, tmp_path: Path
) -> None:
    given = [one.format(recording=recording, folder=tmp_path / "mail") for one in options]
    done = flowrun(FLOW, *given, "--runs", tmp_path / "runs")
    assert done.returncode == 2
    assert said in done.stderr
    assert KEYS[0] not in done.stdout + done.stderr
    assert not (tmp_path / "runs").exists()


def test_drift_is_counted(recording: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.jsonl"
    changed.write_text(recording.read_text().replace("20 percent", "30 percent"))
    again = ["--model", f"replay:{changed}", "--runs", tmp_path]
    done = flowrun(FLOW, *again, "--quiet")
    assert done.returncode == 1
    assert "What was recorded there answers another question" in done.stdout
    done = flowrun("resume", "last", "--replay-drift", "warn", "--runs", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    drifted = record_of(tmp_path)["usage"]["drifted"]
    assert drifted == done.stdout.count("a recorded answer to another question serves")
    assert 0 < drifted <= 9
    assert f"{drifted} answers were recorded for other questions" in done.stdout


SPY = """\
import os
import pathlib


def test_total():
    seen = [*os.environ.values(), *os.environ]
    for file in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            seen.append(file.read_text(errors="replace"))
        except OSError:
            pass
    print("looked", *seen, sep="\\n")
    assert not seen
"""


def test_a_key_is_nowhere_but_in_the_request(recording: Path, tmp_path: Path) -> None:
    """The server repeats it in errors, headers and answers; a generated test prints all the environment it finds."""
    answers = RecordedAnswers(recording)

    def answer(body: Body) -> str:
        said = answers(body)
        return f"```python\n{SPY}```\n{KEYS[0]}" if "def test_total" in said else f"{said}\n{KEYS[0]}"

    def fault(number: int) -> Fault | None:
        echoed = {"x-seen": KEYS[0], "WWW-Authenticate": f"Bearer {KEYS[0]}"}
        return status(500, f"cannot read {KEYS[0]}", headers=echoed) if number % 2 else None

    chosen = ["--set", "model.retry_delay=10ms", "--set", "qa.max_rounds=1", "--record", tmp_path / "said.jsonl"]
    with OpenAIServer(answer=answer, faults=fault, headers={"x-seen": KEYS[0]}) as server:
        address = ["--model", "test-model", "--base-url", server.url, "--runs", tmp_path]
        done = flowrun(FLOW, *address, *chosen, OPENAI_API_KEY=KEYS[0], DEV_KEY=KEYS[1])
        shown = flowrun("runs", "show", "last", "--runs", tmp_path, OPENAI_API_KEY=KEYS[0])
        refused = flowrun(FLOW, *address, *chosen, "--set", "model.api_key_env=NONE", OPENAI_API_KEY=KEYS[0])
    assert f"Bearer {KEYS[0]}" in server.keys
    assert "[key]" in done.stdout
    everything = [*contents(tmp_path), *(text.encode() for one in (done, shown, refused) for text in said_by(one))]
    assert any(b"looked\n" in one and b"PATH" in one for one in everything)  # the generated test did look
    for key in KEYS:
        assert [one for one in everything if key.encode() in one] == []


def said_by(done: Any) -> tuple[str, str]:
    return done.stdout, done.stderr


def contents(folder: Path) -> Iterator[bytes]:
    """The bytes of all files, and what is packed in them: SQLite cells and Git objects."""
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        data = file.read_bytes()
        yield data
        yield from unpacked(data)
        if file.suffix == ".sqlite":
            with closing(sqlite3.connect(file)) as database:
                for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    for row in database.execute(f"SELECT * FROM {table}"):
                        cells = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
                        yield from cells
                        yield from (one for cell in cells for one in unpacked(cell))


def unpacked(data: bytes) -> list[bytes]:
    try:
        return [zlib.decompress(data)]
    except zlib.error:
        return []
