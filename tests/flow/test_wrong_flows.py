"""Every kind of mistake in a flow file, with the exact place and message."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from engine.errors import Diagnostic, FlowError
from engine.flow.loader import check_flow

HEAD = "version: 1\nname: x\nnodes: {a: {call: placeholder}}\n"


@dataclass
class Case:
    name: str
    files: dict[str, str] = field(default_factory=dict)
    expected: list[str] = field(default_factory=list)


def read_cases() -> list[Case]:
    text = (Path(__file__).parent / "wrong_flows.txt").read_text()
    cases = []
    for part in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        case = Case(name)
        file = "x.yaml"
        for line in body.rstrip("\n").split("\n"):
            if line.startswith("=> "):
                case.expected.append(line[3:])
            elif line.startswith("+++ "):
                file = line[4:]
            else:
                case.files[file] = case.files.get(file, "") + line + "\n"
        cases.append(case)
    return cases


CASES = read_cases()


def faults(name: str = "x.yaml") -> list[Diagnostic]:
    with pytest.raises(FlowError) as raised:
        check_flow(name)
    return list(raised.value.diagnostics)


def said(found: list[Diagnostic]) -> list[str]:
    return [f"{one.file}:{one.line}:{one.column}: {one.message}" for one in found]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_fault_is_said_with_its_place(case: Case, workdir: Path) -> None:
    for name, text in case.files.items():
        Path(name).write_text(text)
    assert case.expected, "a case says what it expects"
    assert said(faults()) == case.expected


def test_there_are_enough_cases() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_place_is_in_the_file_that_is_named(case: Case, workdir: Path) -> None:
    for name, text in case.files.items():
        Path(name).write_text(text)
    for one in faults():
        lines = Path(one.file).read_text().split("\n")
        assert 1 <= one.line <= len(lines) and 1 <= one.column <= len(lines[one.line - 1]) + 1
        assert one.snippet == lines[one.line - 1].replace("\t", " ")


def test_a_fault_is_shown_with_its_line_and_a_caret(workdir: Path) -> None:
    Path("x.yaml").write_text("version: 1\nname: x\nnodes:\n  a: {call: placeholder, nxt: b}\n")
    assert str(faults()[0]).split("\n")[1:] == [
        "      a: {call: placeholder, nxt: b}",
        "                             ^",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", "x.yaml:1:1: the file is empty; a flow has at least 'name' and 'nodes'"),
        (b"name: \xe9t\xe9\n", "x.yaml:1:7: byte 0xe9 is not UTF-8; save the file as UTF-8"),
        ("version: 1\n".encode("utf-16"), "x.yaml:1:1: byte 0xff is not UTF-8; save the file as UTF-8"),
        (b"a: 1\nb: x\x07y\n", "x.yaml:2:5: not YAML: the character U+0007 is not allowed"),
        (b"a: " + b"[" * 101, "x.yaml:1:103: more than 100 levels deep"),
        (b"- " * 101 + b"a", "x.yaml:1:201: more than 100 levels deep"),
        (
            b"a: [" + b"1," * 250_000 + b"]",
            "x.yaml:1:499999: with its aliases written out the file holds more than 250000 values",
        ),
    ],
    ids=["nothing", "latin-1", "utf-16", "control character", "brackets", "dashes", "values"],
)
def test_what_is_no_flow_at_all(text: bytes, expected: str, workdir: Path) -> None:
    Path("x.yaml").write_bytes(text)
    assert said(faults()) == [expected]


def test_an_alias_bomb_is_refused_where_it_grows_too_large(workdir: Path) -> None:
    layers = [
        f"  {name}: &{name} [{', '.join(['*' + below] * 10)}]"
        for below, name in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    Path("x.yaml").write_text(HEAD + "params:\n  a: &a [x, x, x, x]\n" + "\n".join(layers))
    assert [one.line for one in faults()] == [10]


def test_a_bomb_of_long_text_is_refused(workdir: Path) -> None:
    Path("x.yaml").write_text(HEAD + f"params:\n  a: &a {'x' * 100_000}\n  b: [{', '.join(['*a'] * 200)}]\n")
    assert "values" in faults()[0].message


def test_a_bomb_of_subflows_is_refused(workdir: Path) -> None:
    for number in range(6):
        nodes = [
            f"  n{index}: {{flow: s{number + 1}.yaml, next: {f'n{index + 1}' if index < 9 else 'END'}}}"
            for index in range(10)
        ]
        Path(f"s{number}.yaml").write_text("version: 1\nname: s\nnodes:\n" + "\n".join(nodes))
    Path("s6.yaml").write_text(HEAD)
    assert "100000 nodes" in faults("s0.yaml")[0].message


def test_more_faults_than_anyone_reads_are_counted(workdir: Path) -> None:
    Path("x.yaml").write_text(HEAD + "".join(f"k{number}: 1\n" for number in range(300)))
    found = faults()
    assert len(found) == 201
    assert found[-1].message == "and 100 faults more"
