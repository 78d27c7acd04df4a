"""What is told of a repository: its design, and none of its code."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.tokens import estimate_tokens
from nodes.references.design import KINDS, design_chunks
from nodes.references.files import Files
from nodes.references.licence import licence_of
from nodes.references.manifest import dependency_names, read_manifest
from nodes.references.readme import summarise
from nodes.references.tree import tree_lines
from nodes.references.windows import OVERLAP, TOKENS, windows
from tests.support.repositories import README, TIDEWATCH


def files_of(contents: dict[str, str]) -> Files:
    return Files(tuple(sorted(contents)), {path: text.encode() for path, text in contents.items()})


def texts(contents: dict[str, str]) -> dict[str, str]:
    found = files_of(contents)
    chunks = design_chunks("Tidewatch 1.2", "pypi:tidewatch==1.2", found, read_manifest(found))
    assert [one.part for one in chunks] == list(range(len(chunks)))
    return {one.kind: one.text for one in chunks}


def test_a_repository_is_told_in_five_parts() -> None:
    told = texts(dict(TIDEWATCH))
    assert tuple(told) == KINDS
    assert told["readme"].splitlines()[:2] == ["Tidewatch: High and low water for harbours", "# Tidewatch"]
    assert "- knows daylight saving time" in told["readme"]
    assert "tidewatch/tables.py" in told["tree"]
    assert "tests/ (1 files)" in told["tree"]
    assert told["manifest"].splitlines()[1:] == [
        "package: Tidewatch",
        "licence: MIT",
        "python: >=3.11",
        "build: hatchling.build",
        "dependencies: ephem, tomli",
        "dependencies plot: matplotlib",
        "commands: tidewatch = tidewatch.cli:main",
    ]
    assert told["roles"].splitlines()[1:] == [
        "tidewatch/cli.py: defines main",
        "tidewatch/tables.py: Tables of the moon.",
    ]
    assert told["interfaces"].splitlines()[1:] == [
        "tidewatch/cli.py",
        "def main(argv: list[str] | None=None) -> int",
        "tidewatch/tables.py",
        "LIMIT: int",
        "@dataclass class Tide",
        "  height: float",
        "  def label(self, unit: str='m') -> str",
        "def tides(port: str, *, days: int=1) -> list[Tide]",
    ]


def test_no_code_and_no_value_is_told() -> None:
    told = "\n".join(texts(dict(TIDEWATCH)).values())
    for code in ("SECRET_CODE_EXAMPLE", "SECRET_VALUE", "do not show this", "secret_body", "never shown", "_private"):
        assert code not in told
    assert "badge" not in told
    assert "fixed the moon" not in told


def test_a_readme_is_shortened_by_rule_and_its_code_goes() -> None:
    long = README + "".join(f"\n## Part {n}\n\nFirst words of part {n}.\n\nMore of part {n}.\n" for n in range(300))
    short = summarise(long)
    assert estimate_tokens(short) <= 1_200
    assert "First words of part 3." in short
    assert "More of part 3." not in short
    assert summarise("   \n") == ""
    block = "~~~\ncode_in_tildes\n```\nstill code\n~~~\n"
    fenced = f"# A\n\nA tool that converts units.\n\n{block}\nAfter the code block it goes on.\n"
    assert "code" not in summarise(fenced).replace("the code block", "")
    assert "goes on" in summarise(fenced)


def test_restructured_text_is_read_too() -> None:
    usage = "Usage\n-----\n\nThe command takes a harbour.\n\n.. code-block:: python\n\n   hidden()\n"
    text = f"Tides\n=====\n\nThe tool prints tides.\n\n{usage}"
    short = summarise(text, "README.rst")
    assert "The command takes a harbour." in short
    assert "hidden" not in short


@pytest.mark.parametrize(
    ("contents", "name", "needed"),
    [
        (
            {"setup.cfg": "[metadata]\nname = a\nversion = 1\n[options]\ninstall_requires =\n  x>1\n  y\n"},
            "a",
            {"x", "y"},
        ),
        (
            {"setup.py": "from setuptools import setup\nX = 1\nsetup(name='b', version=X, install_requires=['z'])"},
            "b",
            {"z"},
        ),
        ({"PKG-INFO": "Metadata-Version: 2.1\nName: c\nVersion: 3\nRequires-Dist: q (>1)\n\nWords."}, "c", {"q"}),
        ({"pyproject.toml": "[tool.poetry]\nname='d'\n[tool.poetry.dependencies]\npython='3'\nw='1'\n"}, "d", {"w"}),
        ({"requirements.txt": "# all\n-r more.txt\nv==1 # why\n"}, "", {"v"}),
        ({"pyproject.toml": "[[[", "setup.cfg": "===", "setup.py": "setup(", "PKG-INFO": "\0"}, "", set()),
        ({"pyproject.toml": "[project]\nname = 3\ndependencies = 'x'\nscripts = []\n"}, "", set()),
    ],
)
def test_manifests_of_all_kinds(contents: dict[str, str], name: str, needed: set[str]) -> None:
    manifest = read_manifest(files_of(contents))
    assert manifest.name == name
    assert dependency_names(manifest.lines()) == needed


def test_a_licence_is_told_by_its_first_words() -> None:
    for text, name in (
        ("Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
        ("Copyright X\n\nPermission is hereby granted, free of charge, to any", "MIT"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007", "GPL-3.0"),
        ("All rights reserved.", ""),
    ):
        assert licence_of(files_of({"LICENSE": text})) == name


def test_a_large_tree_is_told_in_its_upper_levels() -> None:
    paths = [f"pkg/sub{a}/deep/m{b}.py" for a in range(40) for b in range(40)] + ["tests/a/b.py", "setup.py"]
    lines = tree_lines(paths)
    assert len(lines) <= 91
    assert "setup.py" in lines
    assert "tests/ (1 files)" in lines
    assert any(line.startswith("pkg/sub7/") for line in lines)
    assert tree_lines(list(reversed(paths))) == lines


def test_a_sentence_is_the_role_whatever_surrounds_it() -> None:
    def role(docstring: str) -> str:
        told = texts({"a.py": f'"""{docstring}"""\n\n\nclass Box:\n    ...\n'})
        return told["roles"].splitlines()[1].partition(": ")[2]

    assert role("Keeps boxes. And more.") == "Keeps boxes."
    assert role("\n    Boxes\n    =====\n\n    Keeps all boxes\n    in order.\n") == "Keeps all boxes in order."
    assert role("boxes") == "defines Box"


LINE = st.text(st.characters(blacklist_characters="\n\r", blacklist_categories=("Cs",)), max_size=400)


@settings(max_examples=30, deadline=None)
@given(st.lists(LINE, max_size=60), st.sampled_from(["", "a head of some words"]))
def test_windows_are_bounded_overlap_and_lose_nothing(lines: list[str], head: str) -> None:
    pieces = list(windows(lines, head))
    assert all(estimate_tokens(piece + "\n") <= TOKENS for piece in pieces)
    bodies = [piece.split("\n")[1:] if head else piece.split("\n") for piece in pieces]
    for before, after in itertools.pairwise(bodies):
        shared = next(n for n in range(len(before), -1, -1) if before[len(before) - n :] == after[:n])
        assert shared > 0
        assert sum(estimate_tokens(line + "\n") for line in after[:shared]) <= OVERLAP or len(set(after[:shared])) == 1
    words = {word for line in lines for word in line.split(" ") if 0 < len(word) < 50}
    told = {word for body in bodies for line in body for word in line.split(" ")}
    assert words <= told


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_is_told_without_an_error_and_without_unseen_characters(readme: str, module: str) -> None:
    found = files_of(
        {"README.md": readme.encode("utf-8", "ignore").decode(), "m.py": module.encode("utf-8", "ignore").decode()}
    )
    for one in design_chunks("x", "", found, read_manifest(found)):
        assert "\x1b" not in one.text
        assert "\u202e" not in one.text
