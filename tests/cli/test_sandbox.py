"""Being told what protects, and going without."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from engine.cli.sandbox import sandbox
from engine.sandbox import examination, open_sandbox
from engine.sandbox.examination import LIMITS, Finding
from tests.support.command import ROOT, flowrun
from tests.support.sandboxes import LIMITS as OF_A_RUN
from tests.support.sandboxes import environments, run

FLOW = ROOT / "tests" / "flows_data" / "implement.yaml"
SHOP = "script:tests.support.shop:answer"


def test_what_is_missing_is_told_with_the_way_to_get_it() -> None:
    done = flowrun("sandbox", "check", PATH="/nonexistent")
    assert "podman: it needs the program podman: apt-get install podman" in done.stdout
    assert "bubblewrap: it needs the program bwrap: install bubblewrap" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["limit", "podman", "bubblewrap", "sandlock"]
    assert [" ".join(line[:-3]) for line in lines[1 : 1 + len(LIMITS)]] == [*LIMITS]
    taken = "auto takes sandlock" in done.stdout
    assert done.returncode == (0 if taken else 1) and (taken or "no backend holds" in done.stdout)


@pytest.mark.parametrize(
    ("findings", "auto", "says"),
    [
        ([Finding("podman", limits={**dict.fromkeys(LIMITS, True), "memory": False})], None, "a limit fails"),
        ([Finding("podman", "broken"), Finding("sandlock", limits=dict.fromkeys(LIMITS, True))], "sandlock", "broken"),
        ([Finding("podman", "it needs \x1b[31mred")], None, "it needs \N{REPLACEMENT CHARACTER}[31mred"),
    ],
)
def test_auto_takes_the_first_that_holds(
    findings: list[Finding], auto: str | None, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def found() -> list[Finding]:
        return findings

    monkeypatch.setattr(examination, "examine", found)
    shown = CliRunner().invoke(sandbox, ["check"], standalone_mode=False)
    assert says in shown.output and (f"auto takes {auto}" if auto else "no backend holds") in shown.output
    asked = CliRunner().invoke(sandbox, ["check", "--json"], standalone_mode=False)
    told = json.loads(asked.output)
    assert told["auto"] == auto and [one["backend"] for one in told["backends"]] == [one.backend for one in findings]
    assert shown.return_value == asked.return_value == (0 if auto else 1)


def test_going_without_is_told_everywhere_and_never_taken_over(tmp_path: Path) -> None:
    done = flowrun(FLOW, "--model", SHOP, "--runs", tmp_path, "--unsafe-no-sandbox", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "UNPROTECTED (--unsafe-no-sandbox)" in done.stderr
    assert "(unprotected)" in done.stdout and "generated code ran with all your rights" in done.stdout
    folder = next(path.parent for path in tmp_path.glob("*/run.json"))
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert "unprotected" in [one["kind"] for one in events]
    assert json.loads((folder / "run.json").read_text())["sandbox"] == "unprotected"

    again = flowrun("resume", folder, "--rerun", "qa", "--quiet")
    assert again.returncode == 0, again.stdout + again.stderr
    record = json.loads((folder / "run.json").read_text())
    assert record["sandbox"] != "unprotected" and record["unprotected"]
    assert "UNPROTECTED" not in again.stderr and "generated code ran with all your rights" in again.stdout


def test_a_flow_cannot_ask_for_it(tmp_path: Path) -> None:
    flow = tmp_path / "flow.yaml"
    flow.write_text(f"extends: {FLOW}\nname: x\nsandbox: {{backend: unprotected}}\n")
    done = flowrun("check", flow)
    assert done.returncode == 2 and "not 'unprotected'" in done.stdout


def test_without_a_sandbox_time_output_and_environment_are_still_bounded(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    cache = environments(tmp_path_factory)
    found = asyncio.run(open_sandbox(limits=OF_A_RUN, unprotected=True, cache=cache))
    assert found.name == "unprotected"
    seen = run(found, f"import os; print(os.getcwd(), os.path.exists({str(ROOT)!r}), *os.environ)").stdout.split()
    assert seen[:2] == ["/work", "True"] and "OPENAI_API_KEY" not in seen
    slow = type(OF_A_RUN)(timeout=0.4)
    daemon = "import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(1000)"
    assert run(found, daemon, limits=slow).ended == "timeout"
    assert run(found, "while True: print('x' * 65536)").ended == "output"
    assert run(found, ["no-such-command"]).exit_code == 127
    assert not [one for one in Path("/proc").glob("[0-9]*/cmdline") if b"time.sleep(1000)" in _read(one)]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
