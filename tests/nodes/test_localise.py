from __future__ import annotations

import pytest

from nodes.contract import Contract
from nodes.localise import category, suspects
from nodes.testing import Failure
from tests.support.contracts import make_contract

CONTRACT = Contract(
    make_contract(
        {
            "pkg/core.py": [],
            "pkg/store.py": ["pkg/core.py"],
            "pkg/cli.py": ["pkg/store.py"],
            "tests/test_cli.py": ["pkg/cli.py"],
        },
        {
            "pkg/core.py": [
                ("Item", "class Item: ..."),
                ("Item.price", "price: int"),
                ("parse", "def parse(text: str) -> Item"),
            ],
            "pkg/store.py": [("Store", "class Store: ..."), ("Store.add", "def add(self, item: Item) -> None")],
            "pkg/cli.py": [("main", "def main(argv: list[str]) -> int")],
        },
    )
)
IN_STORE = (
    ".flowrun-qa/test_x.py:3: in test\n    x()\npkg/cli.py:4: in main\n    add()\npkg/store.py:9: in add\n    go\n"
)


@pytest.mark.parametrize(
    ("error", "message", "detail", "target", "expected"),
    [
        # interface consistency: a promised name that is missing is the promising file's fault
        (
            "ImportError",
            "cannot import name 'parse' from 'pkg.core' (x)",
            "pkg/store.py:1: in <module>",
            "pkg/store.py",
            "pkg/core.py",
        ),
        # ... and a name that nobody promised is the fault of who asks for it
        (
            "ImportError",
            "cannot import name 'Price' from 'pkg.core' (x)",
            "pkg/store.py:1: in <module>",
            "pkg/store.py",
            "pkg/store.py",
        ),
        ("ModuleNotFoundError", "No module named 'requests'", "pkg/cli.py:2: in <module>", "pkg/cli.py", "pkg/cli.py"),
        (
            "ModuleNotFoundError",
            "No module named 'pkg.store'",
            "pkg/cli.py:2: in <module>",
            "pkg/cli.py",
            "pkg/store.py",
        ),
        ("AttributeError", "module 'pkg.core' has no attribute 'parse'", IN_STORE, "pkg/cli.py", "pkg/core.py"),
        ("AttributeError", "'Item' object has no attribute 'price'", IN_STORE, "pkg/cli.py", "pkg/core.py"),
        ("AttributeError", "'Item' object has no attribute 'colour'", IN_STORE, "pkg/cli.py", "pkg/store.py"),
        ("TypeError", "parse() missing 1 required positional argument: 'text'", IN_STORE, "pkg/cli.py", "pkg/store.py"),
        ("TypeError", "Store.add() got an unexpected keyword argument 'n'", "", "pkg/cli.py", "pkg/store.py"),
        # direction: who raised it, not who called
        ("ValueError", "bad", IN_STORE, "pkg/cli.py", "pkg/store.py"),
        ("AssertionError", "assert 1 == 2", "", "pkg/cli.py", "pkg/cli.py"),
        ("timeout", "the test run was ended: timeout", "", "pkg/core.py", "pkg/core.py"),
        (
            "AssertionError",
            "assert 1 == 2",
            "tests/test_cli.py:5: in test_it",
            "tests/test_cli.py",
            "tests/test_cli.py",
        ),
    ],
)
def test_the_file_at_fault(error: str, message: str, detail: str, target: str, expected: str) -> None:
    assert suspects(Failure("test_it", error, message, detail), target, CONTRACT)[0] == expected


def test_categories() -> None:
    kinds = ["ImportError", "TypeError", "AssertionError", "KeyError", "timeout", "no_tests"]
    assert [category(Failure("t", kind, "", "")) for kind in kinds] == [
        "import",
        "interface",
        "assertion",
        "exception",
        "timeout",
        "no_tests",
    ]
