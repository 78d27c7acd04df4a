# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import pytest

from nodes.signatures import Symbol, read_signature


@pytest.mark.parametrize(
    ("text", "name", "kind", "signature"),
    [
        ("def load(path: str) -> Table", "load", "function", "def load(path: str) -> Table"),
        ("def load(path: str) -> Table:", "load", "function", "def load(path: str) -> Table"),
        ("def load(path: str) -> Table: ...", "load", "function", "def load(path: str) -> Table"),
        ("async def  load() -> None", "load", "function", "async def load() -> None"),
        ("class Table", "Table", "class", "class Table"),
        ("class Table(Base): ...", "Table", "class", "class Table(Base)"),
        ("def Table.add(self, row: Row, *, check: bool = True) -> None", "Table.add", "method", "def add(self, row: Row, *, check: bool=True) -> None"),
        ("@property def Table.size(self) -> int", "Table.size", "method", "@property def size(self) -> int"),
        ("Table.rows: list[Row]", "Table.rows", "constant", "rows: list[Row]"),
        ("LIMIT: int = 5", "LIMIT", "constant", "LIMIT: int = 5"),
        ("LIMIT = 5", "LIMIT", "constant", "LIMIT = 5"),
        ("def f(x: dict[str, int] = {'a.b': 1}) -> None", "f", "function", "def f(x: dict[str, int]={'a.b': 1}) -> None"),
    ],
)  # fmt: skip
def test_what_a_signature_declares(text: str, name: str, kind: str, signature: str) -> None:
    assert read_signature(text) == Symbol(name, kind, signature)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "load", "def (x)", "import os", "class A.B", "a, b = 1, 2", "\0"])
def test_what_is_no_signature(text: str) -> None:
    with pytest.raises(ValueError, match=r"declar|source code"):
        read_signature(text)
