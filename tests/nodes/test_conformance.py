from __future__ import annotations

from typing import Any

import pytest

from nodes.conformance import violations
from tests.support.contracts import make_contract


def check(api: list[tuple[str, str]], source: str, path: str = "pkg/a.py") -> list[tuple[str, str]]:
    entry: dict[str, Any] = make_contract({path: []}, {path: api})["files"][0]
    return list(violations(entry, source))


@pytest.mark.parametrize(
    ("name", "signature", "source"),
    [
        ("f", "def f(x: int) -> int", "def f(x: int) -> int:\n    return x\n"),
        ("f", "def f(x: int) -> int", "def f(x, extra=None):\n    return x\n"),
        ("f", "def f(x: int) -> int: ...", "def f(x): return x"),
        ("LIMIT", "LIMIT: int = 5", "LIMIT = 5"),
        ("Item", "class Item: ...", "class Item:\n    pass"),
        ("Item.name", "name: str", "class Item:\n    def __init__(self, name):\n        self.name = name\n"),
        ("Item.go", "def go(self) -> None", "class Item(Base):\n    pass"),
        ("load", "async def load(path: str) -> str", "async def load(path): ..."),
        ("g", "def g() -> None", "try:\n    from fast import g\nexcept ImportError:\n    def g(): ...\n"),
    ],
)
def test_what_keeps_the_contract(name: str, signature: str, source: str) -> None:
    assert check([(name, signature)], source) == []


@pytest.mark.parametrize(
    ("name", "signature", "source", "category"),
    [
        ("f", "def f(x: int) -> int", "def f():\n    return 1\n", "interface"),
        ("f", "def f(x: int) -> int", "def f(y):\n    return 1\n", "interface"),
        ("f", "def f(x: int) -> int", "def f(x, y):\n    return 1\n", "interface"),
        ("f", "def f(x: int, *, strict: bool = False) -> int", "def f(x):\n    return 1\n", "interface"),
        ("f", "def f(x: int) -> int", "g = 1\n", "interface"),
        ("load", "async def load() -> str", "def load(): ...", "interface"),
        ("Item", "class Item: ...", "def Item(): ...", "interface"),
        ("Item.go", "def go(self) -> None", "class Item:\n    pass", "interface"),
        ("f", "def f() -> int", "def f(:\n", "syntax"),
        ("f", "def f() -> int", "\0", "syntax"),
    ],
)
def test_what_breaks_the_contract(name: str, signature: str, source: str, category: str) -> None:
    found = check([(name, signature)], source)
    assert [kind for kind, _ in found] == [category]
    assert "pkg/a.py" in found[0][1]


def test_a_test_file_without_a_test_and_an_empty_document_are_told() -> None:
    assert check([], "import os\n", "tests/test_a.py") == [("no_tests", "tests/test_a.py holds no test function")]
    assert [kind for kind, _ in check([], "", "README.md")] == ["placeholder"]
    assert check([], "", "pkg/__init__.py") == []
