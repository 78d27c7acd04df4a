from __future__ import annotations

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
        "Inventory.size": "size: int",
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
