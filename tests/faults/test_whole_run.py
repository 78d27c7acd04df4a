"""A whole run against a server that keeps failing ends with the same repository as one against a good server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import DEMO
from tests.support.command import ROOT, flowrun
from tests.support.openai_server import (
    Exchange,
    Fault,
    OpenAIServer,
    broken_json,
    ends_early,
    error_midway,
    page,
    reset,
    reset_midway,
    says,
    stall,
    status,
)
from tests.support.recorded import RecordedAnswers

RECORDING = ROOT / "examples" / "cronwhen" / "codeteam.jsonl"
KEY = "sk-whole-91f2c64be07d5a38"
EVERY = 3


def cut_off(exchange: Exchange) -> None:
    """Two thirds of the answer, and that it was cut off there."""
    exchange.answer(exchange.text[: 2 * len(exchange.text) // 3], "length")


FAULTS: tuple[Fault, ...] = (
    status(429, "slow down"),
    cut_off,
    status(500),
    stall,
    status(429, "slow down", headers={"Retry-After": "1"}),
    reset,
    status(502),
    ends_early,
    says(""),
    status(503, headers={"retry-after-ms": "20"}),
    broken_json,
    reset_midway,
    cut_off,
    status(504),
    page(200),
    error_midway,
    page(502),
)


def test_a_server_that_fails_every_third_call_changes_nothing(demo: tuple[Path, str], tmp_path: Path) -> None:
    """Every way of failing comes at least once, each at another call; only the waiting is made short, by settings."""
    met: list[Fault] = []

    def fault(number: int) -> Fault | None:
        turn, rest = divmod(number, EVERY)
        if rest != EVERY - 1:
            return None
        met.append(FAULTS[turn % len(FAULTS)])
        return met[-1]

    answers = RecordedAnswers(RECORDING)
    waits = ["model.timeout=3s", "model.retry_delay=20ms", "model.longest_delay=200ms"]
    with OpenAIServer(answer=answers, faults=fault, cached_tokens=10) as server:
        done = flowrun(
            *DEMO,
            *("--model", "test-model", "--base-url", server.url, "--runs", tmp_path, "--quiet"),
            *(word for one in waits for word in ("--set", one)),
            OPENAI_API_KEY=KEY,
            PYTHONHASHSEED="2",
        )
    assert answers.unknown == []
    assert done.returncode == 0, done.stdout + done.stderr
    record = json.loads(next(tmp_path.glob("*/run.json")).read_text())
    good = json.loads((demo[0] / "run.json").read_text())
    assert record["head"] == good["head"]
    for name in ("ok", "reason"):
        assert record["outcome"][name] == good["outcome"][name]
    assert _without_tokens(record) == _without_tokens(good)
    assert len(met) >= len(FAULTS)
    failed = len(met) - met.count(cut_off)
    assert record["usage"]["model_calls"] == good["usage"]["model_calls"] + met.count(cut_off)
    assert record["usage"]["cached_tokens"] == 10 * (len(server.requests) - failed)  # what was paid for is counted
    events = [json.loads(line) for line in next(tmp_path.glob("*/events.jsonl")).read_text().splitlines()]
    told = [one for one in events if one["kind"] in ("model retry", "model workaround")]
    assert len(told) >= failed
    assert {"rate_limit", "server", "timeout", "connection"} <= {one.get("failure") for one in told}


def _without_tokens(record: dict[str, Any]) -> dict[str, Any]:
    """A run's figures without how much was read: an answer in two parts is asked for in two requests."""
    return {name: value for name, value in record["outcome"]["figures"].items() if not name.startswith("context")}
