"""A mistake in the input is one message: what, where, what to do; exit code 2; nothing is left half made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import ROOT, flowrun

CODETEAM = ROOT / "flows" / "codeteam.yaml"
SCRIPT = "script:tests.support.shop:answer"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"\n  \n", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not UTF-8 text"),
        (b"text\x00", "a binary file"),
        (b"# A\n" * (10 * 2**18), "10 MB is more than the 8 MB"),
    ],
)
def test_a_requirements_file_that_is_none(tmp_path: Path, content: bytes | None, expected: str) -> None:
    file = tmp_path / "README.md"
    if content is not None:
        file.write_bytes(content)
    done = flowrun(CODETEAM, "--input", f"requirements={file}", "--model", SCRIPT, "--runs", tmp_path / "runs")
    assert_refused(done, expected, str(file))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("nodes: [1, 2\n", ":2:1:", ""),
        ("just a sentence", ":1:1:", ""),
        ("extends: {codeteam}\nnodes:\n  qa: {call: 'nodes.qa:validate', next: nowhere}\n", ":3:", "nowhere"),
        ("extends: {codeteam}\nnodes:\n  qa: {call: 'nodes.quality:validate'}\n", ":3:", "nodes.quality"),
        ("extends: {codeteam}\nnodes:\n  qa: {call: 'nodes.qa:no_such'}\n", ":3:", "no_such"),
    ],
)
def test_a_flow_file_that_is_none(tmp_path: Path, text: str, place: str, expected: str) -> None:
    flow = tmp_path / "mine.yaml"
    flow.write_text(text.replace("{codeteam}", str(CODETEAM)))
    requirements = tmp_path / "README.md"
    requirements.write_text("# A\n\nThe program must print 1.\n")
    done = flowrun(flow, "--input", f"requirements={requirements}", "--model", SCRIPT, "--runs", tmp_path / "runs")
    assert_refused(done, expected, f"mine.yaml{place}")
    assert not (tmp_path / "runs").exists()


def test_a_flow_that_is_not_there_lists_those_that_are() -> None:
    done = flowrun("codetaem", "--model", SCRIPT)
    assert_refused(done, "codeteam", "codetaem")


def test_a_runs_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    requirements = tmp_path / "README.md"
    requirements.write_text("# A\n\nThe program must print 1.\n")
    runs = tmp_path / "file" / "runs"
    done = flowrun(CODETEAM, "--input", f"requirements={requirements}", "--model", SCRIPT, "--runs", runs)
    assert_refused(done, "--runs", str(runs))


def test_no_model_names_the_three_ways_to_give_one(tmp_path: Path) -> None:
    requirements = tmp_path / "README.md"
    requirements.write_text("# A\n\nThe program must print 1.\n")
    done = flowrun(CODETEAM, "--input", f"requirements={requirements}", "--runs", tmp_path / "runs")
    assert_refused(done, "replay:FILE", "mailbox:DIR", "--base-url")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--model", "replay:/no/such.jsonl"], "/no/such.jsonl"),
        (["--model", "mailbox:/dev/null/x"], "/dev/null/x"),
        (["--model", "gpt-4o"], "OPENAI_API_KEY"),
        (["--model", "script:nowhere:f"], "script:MODULE:FUNCTION"),
        (["--model", SCRIPT, "--input", "requirments=x"], "requirments"),
        (["--model", SCRIPT, "--input", "requirements"], "NAME=VALUE"),
        (["--model", SCRIPT, "--set", "params.architect=2"], "architect"),
        (["--model", SCRIPT, "--set", "qa.max_rounds"], "PATH=VALUE"),
    ],
)
def test_wrong_options(tmp_path: Path, arguments: list[str], expected: str) -> None:
    requirements = tmp_path / "README.md"
    requirements.write_text("# A\n\nThe program must print 1.\n")
    given = [] if "--input" in arguments else ["--input", f"requirements={requirements}"]
    done = flowrun(CODETEAM, *given, *arguments, "--runs", tmp_path / "runs")
    assert_refused(done, expected)
    assert not (tmp_path / "runs").exists()


def test_an_unknown_run_names_the_known_ones(tmp_path: Path) -> None:
    done = flowrun("resume", "none", "--runs", tmp_path)
    assert_refused(done, "no run 'none'", "--runs DIR")


def assert_refused(done: object, *expected: str) -> None:
    assert done.returncode == 2, done.stdout + done.stderr  # type: ignore[attr-defined]
    error = done.stderr  # type: ignore[attr-defined]
    assert "Traceback" not in error
    for one in expected:
        assert one in error, error
