from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from engine.cli.flow import COMMANDS
from engine.errors import FlowError, FlowrunError, InputError
from engine.flow import load_flow
from engine.resources import schema_file

GOOD = """\
version: 1
name: good
summary: it works
params: {n: 1}
nodes: {a: {call: placeholder, when: '${params.n > 0}'}}
"""
BAD = "version: 1\nname: bad\nnodes:\n  a: {call: placeholder, nxt: b}\n  b: {call: 'no_such_module:f'}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)
    return tmp_path


def run(name: str, *arguments: str) -> Result:
    command = next(one for one in COMMANDS if one.name == name)
    return CliRunner().invoke(command, arguments)


def test_every_command_has_help() -> None:
    assert [one.name for one in COMMANDS] == ["check", "show", "schema", "graph", "new"]
    for one in COMMANDS:
        assert one.help and run(str(one.name), "--help").exit_code == 0


def test_check_says_what_is_well_and_what_is_not(folder: Path) -> None:
    result = run("check", "good.yaml", "bad.yaml")
    assert result.exit_code == 2
    assert result.output == (
        "good.yaml: ok\n"
        "bad.yaml:4:26: node 'a': unknown key 'nxt'. Did you mean 'next'?\n"
        "      a: {call: placeholder, nxt: b}\n"
        "                             ^\n"
        "bad.yaml:5:13: node 'b': call: cannot import 'no_such_module': no module 'no_such_module' is installed or in"
        " the working directory\n"
        "      b: {call: 'no_such_module:f'}\n"
        "                ^\n"
    )
    assert run("check", "good.yaml").exit_code == 0


def test_check_without_imports(folder: Path) -> None:
    Path("loud.py").write_text("raise SystemExit('imported')\n")
    Path("x.yaml").write_text("version: 1\nname: x\nnodes: {a: {call: 'loud:f'}}\n")
    assert run("check", "x.yaml", "--no-import").output == "x.yaml: ok\n"
    assert run("check", "x.yaml").exit_code == 2


def test_check_for_programs(folder: Path) -> None:
    result = run("check", "good.yaml", "bad.yaml", "nope", "--no-import", "--format", "json")
    good, bad, none = json.loads(result.output)
    assert good == {"flow": "good.yaml", "ok": True, "faults": []}
    assert bad["faults"] == [
        {"file": "bad.yaml", "line": 4, "column": 26, "message": "node 'a': unknown key 'nxt'. Did you mean 'next'?"}
    ]
    assert none["faults"][0]["message"].startswith("no flow 'nope' comes with flowrun")
    assert result.exit_code == 2


def test_check_for_github(folder: Path) -> None:
    Path("a,b:c.yaml").write_text("version: 1\nname: 100%\nnodes: {a: {call: placeholder}}\n")
    result = run("check", "good.yaml", "a,b:c.yaml", "--format", "github")
    assert result.output == (
        "::error file=a%2Cb%3Ac.yaml,line=2,col=7::name: expected a name of letters, digits, '_' and '-' that begins"
        " with a letter, not '100%25'\n"
    )


def test_check_with_overrides(folder: Path) -> None:
    assert run("check", "good.yaml", "--set", "n=2").exit_code == 0
    result = run("check", "good.yaml", "--set", "n=two")
    assert result.output.startswith("good.yaml:5:50: node 'a': when: '>' does not take (string, int)\n")


def test_show(folder: Path) -> None:
    assert run("show", "good.yaml").output == (
        "good: it works\n\nparams\n  n  1\n\nnodes\n  a  -> END  [placeholder; when params.n > 0]\n"
    )


def test_show_resolved_is_a_flow_with_origins(folder: Path) -> None:
    result = run("show", "good.yaml", "--resolved", "--set", "n=5")
    assert next(line for line in result.output.split("\n") if line.startswith("  n: 5")).endswith("  # --set n=5")
    Path("again.yaml").write_text(result.output)
    assert load_flow("again.yaml") == load_flow("good.yaml", sets=["n=5"])


def test_show_for_programs(folder: Path) -> None:
    data = json.loads(run("show", "good.yaml", "--json").output)
    flow = load_flow("good.yaml")
    assert data["flow"] == flow.document and data["digest"] == flow.digest
    assert data["origins"]["/params/n"] == "good.yaml:4"


@pytest.mark.parametrize("command", ["show", "graph"])
def test_a_wrong_flow_is_not_shown(command: str, folder: Path) -> None:
    error = run(command, "bad.yaml").exception
    assert isinstance(error, FlowError) and error.exit_code == 2


def test_schema() -> None:
    assert json.loads(run("schema").output) == json.loads(schema_file("flow").read_text())


def test_graph(folder: Path) -> None:
    assert run("graph", "good.yaml").output.startswith("flowchart TD\n")
    assert run("graph", "good.yaml", "--format", "dot").output.startswith('digraph "good" {\n')
    assert ElementTree.fromstring(run("graph", "good.yaml", "--format", "svg").output).tag.endswith("svg")


def test_new_starts_a_flow_that_works(folder: Path) -> None:
    assert run("new", "mine", "--from", "good.yaml").exit_code == 0
    text = Path("mine.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=") and "extends: good.yaml\nname: mine\n" in text
    assert load_flow("mine.yaml").params == {"n": 1}
    commented = text[text.index("# params:") :]
    Path("mine.yaml").write_text(
        text.replace(commented, commented.replace("# ", "").replace("#", "").replace("n: 1", "n: 4"))
    )
    assert load_flow("mine.yaml").params == {"n": 4}


def test_new_from_a_flow_that_comes_with_flowrun(folder: Path) -> None:
    assert run("new", "mine", "--from", "codeteam").exit_code == 0
    assert load_flow("mine.yaml").nodes.keys() == load_flow("codeteam").nodes.keys()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("good", "--from", "good.yaml"), InputError),
        (("my flow", "--from", "good.yaml"), InputError),
        (("x", "--from", "bad.yaml"), FlowError),
    ],
)
def test_new_refuses_and_leaves_nothing_behind(
    arguments: tuple[str, ...], error: type[FlowrunError], folder: Path
) -> None:
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    assert isinstance(run("new", *arguments).exception, error)
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before
