"""`flowrun corpus`, as a user types it."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engine.cli.corpus import corpus
from engine.errors import FlowrunError
from tests.support.command import start_flowrun
from tests.support.repositories import TIDEWATCH, installed_corpus, lay


@pytest.fixture
def corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of corpora, with one in it."""
    folder = tmp_path / "corpora"
    shutil.copytree(installed_corpus(), folder / "packages")
    monkeypatch.setenv("FLOWRUN_CORPORA", str(folder))
    return folder


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(corpus, list(map(str, arguments)), standalone_mode=False)


def refused(*arguments: str | Path) -> str:
    error = call(*arguments).exception
    assert isinstance(error, FlowrunError)
    assert error.exit_code == 2
    return str(error)


def test_a_corpus_is_built_shown_and_built_again(corpora: Path, tmp_path: Path) -> None:
    lay(tmp_path / "repos" / "tide", TIDEWATCH)
    (tmp_path / "bad.tar.gz").write_bytes(b"\x1f\x8bnothing")
    sources = ["installed:iniconfig", tmp_path / "repos", tmp_path / "bad.tar.gz", "installed:not-there"]
    first = call("build", "mine", *sources, "--jobs", "1")
    assert first.return_value == 0
    assert "added     iniconfig" in first.stdout
    assert "2 added, 2 failed; 2 repositories" in first.stdout
    assert [line.partition(": ")[0].split()[0] for line in first.stderr.splitlines()] == ["failed", "failed"]
    assert "bad.tar.gz: broken archive" in first.stderr
    assert "installed:not-there: no distribution 'not-there' is installed" in first.stderr
    lay(tmp_path / "repos" / "tide", {"tidewatch/new.py": '"""New and good."""\n'})
    (tmp_path / "targets").write_text("iniconfig\n")
    second = call("build", "mine", *sources[:2], "--exclude-targets", tmp_path / "targets", "--jobs", "1")
    assert "1 changed, 1 excluded; 1 repositories" in second.stdout
    shown = call("show", "mine").output
    assert "tidewatch 1.2" in shown
    assert "kept out: iniconfig" in shown
    assert "overlaps the target iniconfig: the same package" in shown


def test_a_build_that_was_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [f"ok:r{n} 1:text{n}" for n in range(9)]
    build = ["corpus", "build", "mine", *sources, "--maker", "tests.support.makers:SlowMaker", "--jobs", "1"]
    place = {"FLOWRUN_CORPORA": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    process = start_flowrun(*build, **place)
    assert process.stdout is not None
    for line in process.stdout:
        if "r7 1" in line:
            process.send_signal(signal.SIGKILL)
            break
    process.communicate(timeout=60)
    monkeypatch.setenv("FLOWRUN_CORPORA", str(tmp_path))
    again = call(*build[1:])
    assert again.return_value == 0
    assert "unchanged" in again.output
    assert "9 repositories, 1800 chunks" in again.output
    whole = call("check", "mine")
    assert (whole.return_value, whole.output) == (0, "whole\n")


def test_corpora_are_listed_shown_and_searched(corpora: Path) -> None:
    assert "packages" in call("list").output
    listed = json.loads(call("list", "--json").output)
    assert (listed[0]["name"], listed[0]["repositories"]) == ("packages", 5)
    shown = json.loads(call("show", "packages", "--json").output)
    assert shown["contents"][0]["repository"].startswith("click ")
    assert shown["contents"][0]["licence"] == "BSD-3-Clause"
    for mode in ("vector", "text", "hybrid"):
        found = json.loads(
            call("search", "packages", "validate JSON schema", "--mode", mode, "-k", "2", "--json").output
        )
        assert found[0]["repository"].startswith("jsonschema ")
        assert len(found) == 2
    by_repository = json.loads(call("search", "packages", "options", "--by-repository", "--json").output)
    assert len({one["repository"] for one in by_repository}) == 5
    assert "click" in call("search", str(corpora / "packages"), "command line").output


def test_what_would_leak_is_told_with_every_reason(corpora: Path, tmp_path: Path) -> None:
    (tmp_path / "targets").write_text("pypi:click\nhttps://example.org/x/py-h11.git\n")
    found = call("check", "packages", "--against", tmp_path / "targets")
    assert found.return_value == 1
    assert found.output.splitlines()[0].startswith("click ")
    assert "click: the same package: click" in found.output
    assert "a related name: h11 and py-h11" in found.output
    told = json.loads(call("check", "packages", "--against", tmp_path / "targets", "--json").output)
    assert {one["target"] for one in told} == {"click", "py-h11"}
    (tmp_path / "targets").write_text("something-else\n")
    clean = call("check", "packages", "--against", tmp_path / "targets")
    assert (clean.return_value, clean.output) == (0, "whole; nothing in it overlaps a target\n")


def test_a_repository_or_a_corpus_is_removed(corpora: Path) -> None:
    name = next(one["repository"] for one in json.loads(call("show", "packages", "--json").output)["contents"])
    assert "has no repository 'nope'" in refused("rm", "packages", "nope", "--yes")
    assert call("rm", "packages", name, "--yes").return_value is None
    assert json.loads(call("list", "--json").output)[0]["repositories"] == 4
    assert call("rm", "packages", "--yes").exception is None
    assert not (corpora / "packages").exists()


def test_mistakes_are_named_with_what_to_do(corpora: Path, tmp_path: Path) -> None:
    assert "Did you mean 'packages'?" in refused("show", "package")
    assert "is no name of a corpus" in refused("show", "no name")
    assert "no such folder" in refused("build", "packages", "no/such")
    assert "names no target" in refused(
        "build", "packages", tmp_path, "--exclude-targets", lay(tmp_path, {"t": ""}) / "t"
    )
    assert "cannot be imported" in refused("build", "packages", tmp_path, "--maker", "nothing.here:Maker")
    (corpora / "broken").mkdir()
    (corpora / "broken" / "corpus.json").write_text("{}")
    assert "broken" in call("list").output
    assert "build it again" in refused("search", "broken", "x")
