from __future__ import annotations

import sys

import pytest

from nodes.api import changes, compatibility, public_interface

SOURCE = """
import os
from .store import Store
LIMIT: int = 5
names = ["a", "b"]
_hidden = 1

class Inventory(Base):
    size: int = 0
    def __init__(self, path: str = "x") -> None: ...
    def add(self, item: "Item", *, count: int = 1) -> int: ...
    def _check(self): ...
    @property
    def total(self) -> int: ...

async def load(path, *parts, **options) -> Inventory: ...
def _private(): ...
if True:
    def late() -> None: ...
"""


def test_what_is_exported_and_how_it_is_declared() -> None:
    assert public_interface(SOURCE) == {
        "LIMIT": "LIMIT: int",
        "names": "names = ['a', 'b']",
        "Inventory": "class Inventory(Base)",
        "Inventory.size": "size: int = 0",
        "Inventory.__init__": "def __init__(self, path: str='x') -> None",
        "Inventory.add": "def add(self, item: 'Item', *, count: int=1) -> int",
        "Inventory.total": "@property def total(self) -> int",
        "load": "async def load(path, *parts, **options) -> Inventory",
        "late": "def late() -> None",
    }


def test_all_decides_what_is_exported() -> None:
    source = "from .a import b\n__all__ = ['b', '_kept']\ndef _kept(): ...\ndef dropped(): ...\n"
    assert public_interface(source) == {"_kept": "def _kept()", "b": "b  # re-exported"}


def test_a_constant_is_an_api_change_and_a_private_helper_is_none() -> None:
    before = public_interface("A = 1\ndef _help(): ...\ndef f(x: int) -> int: ...\n")
    assert changes(before, public_interface("A = 2\ndef _other(): ...\ndef f(x: int) -> int: return x\n")) == ["~A"]
    assert changes(before, public_interface("def f(x: int, y: int) -> int: ...\ndef g(): ...")) == ["-A", "~f", "+g"]


@pytest.mark.parametrize(
    ("old", "symbols", "expected"),
    [
        (None, ["+f"], "new"),
        ({}, [], "unchanged"),
        ({}, ["+f", "+g"], "compatible"),
        ({"f": ""}, ["-f", "+g"], "breaking"),
    ],
)
def test_compatibility(old: dict[str, str] | None, symbols: list[str], expected: str) -> None:
    assert compatibility(old, symbols) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def _help(): ...\nclass _Hidden:\n    def go(self): ...\n", {}),
        ("class A:\n    class _B:\n        def go(self): ...\n    _x = 1\n", {"A": "class A"}),
        ("class A:\n    def __len__(self) -> int: ...\n", {"A": "class A", "A.__len__": "def __len__(self) -> int"}),
        ("__version__ = '1'\n__slots__ = ()", {"__version__": "__version__ = '1'"}),
        ("A, (B, _C) = 1, (2, 3)\nX = Y = 5\n", {"A": "A", "B": "B", "X": "X = 5", "Y": "Y = 5"}),
        (
            "try:\n    from fast import f\nexcept ImportError:\n    def f(x): ...\nelse:\n    ready = 1\n",
            {"f": "def f(x)", "ready": "ready = 1"},
        ),
        ("if WINDOWS:\n    def f(x): ...\nelse:\n    def f(y): ...\n", {"f": "def f(x)"}),
        ("if TYPE_CHECKING:\n    Only = int\nif __name__ == '__main__':\n    done = f()\n", {}),
        ("with a() as b:\n    C = 1\n", {"C": "C = 1"}),
        ("def f(x): ...\ndef f(y): ...\n", {"f": "def f(y)"}),
        (
            "@overload\ndef f(x: int) -> int: ...\n@overload\ndef f(x: str) -> str: ...\ndef f(x): return x\n",
            {"f": "@overload def f(x: int) -> int; @overload def f(x: str) -> str"},
        ),
        (
            "class A:\n    @property\n    def n(self) -> int: ...\n    @n.setter\n    def n(self, to): ...\n",
            {"A": "class A", "A.n": "@property def n(self) -> int  # settable"},
        ),
        (
            "class A:\n    @functools.cached_property\n    def n(self): ...\n    @staticmethod\n    def s(): ...\n",
            {
                "A": "class A",
                "A.n": "@functools.cached_property def n(self)",
                "A.s": "@staticmethod def s()",
            },
        ),
        (
            "class L(enum.Enum):\n    LOW = 1\n    HIGH = 2\n",
            {"L": "class L(enum.Enum)", "L.LOW": "LOW = 1", "L.HIGH": "HIGH = 2"},
        ),
        (
            "@dataclass(frozen=True)\nclass I(Base, metaclass=M):\n    name: str\n    _key: int = 0\n",
            {"I": "@dataclass(frozen=True) class I(Base, metaclass=M)", "I.name": "name: str"},
        ),
        ("Grid: TypeAlias = list[int]\nRow = list[int]\n", {"Grid": "Grid: TypeAlias", "Row": "Row = list[int]"}),
        ("@contextmanager\ndef f(): ...\n@cache\ndef g(): ...\n", {"f": "@contextmanager def f()", "g": "def g()"}),
        ("def f(a, /, b=1, *c, d: int = 2, **e) -> None: ...", {"f": "def f(a, /, b=1, *c, d: int=2, **e) -> None"}),
        ("from .a import b as b, c as d, e\nimport x as x\n", {"b": "b  # re-exported", "x": "x  # re-exported"}),
        ("from .a import b, c\n__all__ = ['b']\n__all__ += ['c']\n", {n: f"{n}  # re-exported" for n in "bc"}),
        ("__all__: list[str] = []\ndef f(): ...\n", {}),
        ("__all__ = other.__all__\ndef f(): ...\ndef _g(): ...\n", {"f": "def f()"}),  # it cannot be read
        ("", {}),
    ],
)
def test_what_counts_as_public(source: str, expected: dict[str, str]) -> None:
    assert public_interface(source) == expected


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement came with Python 3.12")
def test_a_type_statement_is_an_alias() -> None:
    assert public_interface("type Grid = list[int]") == {"Grid": "type Grid = list[int]"}


def test_code_that_does_not_parse_has_no_interface() -> None:
    with pytest.raises(SyntaxError):
        public_interface("def f(:")


@pytest.mark.parametrize(
    ("before", "after", "symbols", "note"),
    [
        ("def f(): return 1", "def f(): return 2", [], "unchanged"),
        ("def f(): ...", "def f(): ...\ndef _g(): ...", [], "unchanged"),
        ("def f(): ...", "def f(): ...\nLIMIT = 1", ["+LIMIT"], "compatible"),
        ("LIMIT = 1", "LIMIT = 2", ["~LIMIT"], "breaking"),
        ("LIMIT: int = 1", "LIMIT: str = ''", ["~LIMIT"], "breaking"),
        ("def f(x: int): ...", "def f(x: str): ...", ["~f"], "breaking"),
        ("def f(x=1): ...", "def f(x=2): ...", ["~f"], "breaking"),
        ("def f(): ...", "async def f(): ...", ["~f"], "breaking"),
        ("class A:\n    n: int", "class A:\n    @property\n    def n(self) -> int: ...", ["~A.n"], "breaking"),
        ("class A:\n    n: int = 0", "class A:\n    n: int", ["~A.n"], "breaking"),
        ("class A:\n    n: int", "@dataclass\nclass A:\n    n: int", ["~A"], "breaking"),
        ("__all__ = ['f']\nf = g = 1", "__all__ = ['g']\nf = g = 1", ["-f", "+g"], "breaking"),
    ],
)  # fmt: skip
def test_what_a_change_of_the_code_means_for_its_users(before: str, after: str, symbols: list[str], note: str) -> None:
    old = public_interface(before)
    assert changes(old, public_interface(after)) == symbols
    assert compatibility(old, symbols) == note
