from __future__ import annotations

from collections import Counter

import pytest

from nodes.failure_class import failure_class
from nodes.testing import Failure
from tests.support.make_failures import stored


@pytest.mark.parametrize(
    ("error", "message", "expected"),
    [
        ("PackageNotFoundError", "No package metadata was found for shop", "packaging"),
        ("TOMLDecodeError", "Invalid statement (at line 1, column 1)", "packaging"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: '/work/pyproject.toml'", "packaging"),
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'rates.json'", "logic"),
        ("ModuleNotFoundError", "No module named 'shop.gone'", "import"),
        ("ImportError", "cannot import name 'x' from 'shop'", "import"),
        ("AttributeError", "partially initialized module 'a' has no attribute 'b'", "import"),
        ("SyntaxError", "invalid syntax", "import"),
        ("AttributeError", "'Item' object has no attribute 'price'", "api_mismatch"),
        ("AttributeError", "module 'shop' has no attribute 'Store'", "api_mismatch"),
        ("TypeError", "f() missing 1 required positional argument: 'x'", "api_mismatch"),
        ("TypeError", "Store.add() got an unexpected keyword argument 'n'", "api_mismatch"),
        ("TypeError", "f() takes 1 positional argument but 2 were given", "api_mismatch"),
        ("TypeError", "Item() takes no arguments", "api_mismatch"),
        ("TypeError", "Can't instantiate abstract class A with abstract method b", "api_mismatch"),
        ("TypeError", "'str' object is not callable", "api_mismatch"),
        ("TypeError", "unsupported operand type(s) for +: 'int' and 'str'", "logic"),
        ("ValueError", "could not convert string to float: 'x'", "logic"),
        ("AssertionError", "assert 'no attribute' == 'x() missing 1 required'", "logic"),
        ("KeyError", "'price'", "logic"),
        ("timeout", "the test run was ended: timeout", "logic"),
    ],
)
def test_the_class_of_a_failure(error: str, message: str, expected: str) -> None:
    assert (
        failure_class(Failure("test_it", error, message, f"a.py:3: in f\n    run()\nE   {error}: {message}"))
        == expected
    )


def test_code_that_pytest_shows_is_not_what_was_raised() -> None:
    detail = (
        "a.py:3: in f\n    raise ValueError('f() missing 1 required')  # No package metadata was found\nE   KeyError: 1"
    )
    assert failure_class(Failure("test_it", "KeyError", "1", detail)) == "logic"


def test_the_made_failures_fall_into_their_classes() -> None:
    found = {name: failure_class(Failure(**{key: one[key] for key in ("name", "error", "message", "detail")}))
             for name, one in stored().items()}  # fmt: skip
    expected = {
        "a promised function is missing": "import",
        "an undeclared package is imported": "import",
        "a dependency that does not parse": "import",
        "a ring of imports": "import",
        "a promised method is missing": "api_mismatch",
        "a call with a keyword that nobody promised": "api_mismatch",
        "a class that takes no arguments": "api_mismatch",
        "a call is not awaited": "api_mismatch",
        "an enum's member is missing": "api_mismatch",
        "conftest imports what nobody promised": "import",
        "None where an item is promised": "logic",
        "a dependency requires one parameter more": "api_mismatch",
        "the repository's test lacks a fixture that conftest promised": "api_mismatch",
        "a wrong value": "logic",
        "a key that the configuration lacks": "logic",
        "an endless recursion": "logic",
        "it never ends": "logic",
    }
    assert {name: found[name] for name in expected} == expected
    assert set(Counter(found.values())) == {"import", "api_mismatch", "logic"}
