from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.conformance import conformance
from nodes.contract import Contract
from nodes.localise import Localisation, category, localise, reaches, suspects
from nodes.testing import Failure, run_own_tests
from tests.nodes.localisation_cases import CASES, NOTES, SHOP, Case
from tests.support.contracts import make_contract
from tests.support.forked_pytest import ForkedPytest
from tests.support.make_failures import digest, first_failure, stored

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
    conftest = (
        "ImportError while loading conftest 'tests/conftest.py'.\nE   ImportError: cannot import name 'x' from 'a'"
    )
    assert category(Failure("pytest", "exit", "pytest ended with exit code 4 and no report", conftest)) == "import"


@pytest.fixture(scope="module")
def real_pytest() -> Iterator[ForkedPytest]:
    server = ForkedPytest()
    yield server
    server.close()


def located(case: Case, failure: Failure, **more: str) -> Localisation:
    sources = case.sources | ({".flowrun-qa/test_x.py": case.test} if case.test else {}) | more
    return localise(failure, case.target, Contract(case.contract), sources, failing=case.failing)


def check(case: Case, failure: Failure) -> None:
    found = located(case, failure)
    assert found.repair == (() if case.at_fault is None else (case.at_fault,))
    assert found.test_at_fault == (case.at_fault is None)
    assert found.reaches_dependents == case.reaches
    assert set(found.dependents) <= set(Contract(case.contract).dependents.get(case.at_fault or "", ()))
    assert found.suspected and set(found.suspected) <= case.sources.keys()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_file_at_fault_in_a_made_failure(case: Case) -> None:
    """What pytest printed tells the file at fault, and whether those who depend on it are concerned."""
    kept = stored()[case.name]
    assert kept.pop("digest") == digest(case), "the case was changed: run python -m tests.support.make_failures"
    check(case, Failure(**kept))


@pytest.mark.parametrize("case", CASES[::9], ids=lambda case: case.name)
def test_pytest_prints_what_is_kept(case: Case, real_pytest: ForkedPytest) -> None:
    failure = first_failure(case, real_pytest)
    assert failure.error == stored()[case.name]["error"]
    check(case, failure)


@pytest.mark.parametrize("project", [SHOP, NOTES], ids=["shop", "notes"])
def test_the_projects_are_sound_before_a_fault_is_made(project: object, real_pytest: ForkedPytest) -> None:
    case = Case("sound", "", None, {}, project=SHOP if project is SHOP else NOTES)
    assert conformance(Contract(case.contract), case.sources) == []
    run = asyncio.run(
        run_own_tests({path: text.encode() for path, text in case.sources.items()}, real_pytest.as_context())
    )
    assert run.passed == 1 and not run.failures


def test_only_those_who_use_what_is_touched_are_done_again() -> None:
    case = next(one for one in CASES if one.name == "a promised constant is missing")
    detail = "shop/report.py:1: in <module>\nE   ImportError: cannot import name 'CURRENCY' from 'shop.models' (x)\n"
    found = located(case, Failure("test", "ImportError", "cannot import name 'CURRENCY' from 'shop.models'", detail))
    assert (found.repair, found.dependents) == (("shop/models.py",), ("shop/report.py",))
    assert found.criterion == "interface consistency"


@pytest.mark.parametrize(
    ("kind", "path", "reached"),
    [
        ("assertion", "pkg/core.py", False),
        ("exception", "pkg/core.py", False),
        ("timeout", "pkg/core.py", False),
        ("syntax", "pkg/core.py", False),
        ("interface", "pkg/core.py", True),
        ("import", "pkg/core.py", True),
        ("interface", "tests/test_cli.py", False),  # nobody depends on it
    ],
)
def test_dependents_are_done_again_only_for_an_interface_or_an_import_path(kind: str, path: str, reached: bool) -> None:
    assert reaches(kind, path, CONTRACT) == reached


def test_a_configuration_is_shared_by_all_who_depend_on_it() -> None:
    contract = Contract(make_contract({"settings.toml": [], "README.md": [], "a.py": ["settings.toml", "README.md"]}))
    assert reaches("exception", "settings.toml", contract)
    assert not reaches("exception", "README.md", contract)


LINES = st.sampled_from(
    [
        *(
            f"{path}:{line}: in {name}"
            for path in ("shop/store.py", "./shop/tax.py")
            for line in (0, 5, 999)
            for name in "f<"
        ),
        ".flowrun-qa/test_x.py:4: in test_total",
        "E   TypeError: unsupported operand type(s) for +: 'int' and 'str'",
        "E   AttributeError: 'NoneType' object has no attribute 'price'",
        "E   ImportError: cannot import name 'x' from partially initialized module 'shop.store' (a)",
        "E   ModuleNotFoundError: No module named 'shop.gone'",
        "E   KeyError: 'price'",
        "E       fixture 'store' not found",
        "E   TypeError: Item.__init__() missing 1 required positional argument: 'n'",
        'E     File "/x/shop/models.py", line 3',
        "During handling of the above exception, another exception occurred:",
        "The above exception was the direct cause of the following exception:",
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(LINES | st.text(max_size=20), max_size=8),
    st.sampled_from(
        ["TypeError", "AttributeError", "ImportError", "SyntaxError", "KeyError", "AssertionError", "timeout"]
    ),
    st.dictionaries(st.sampled_from(sorted(SHOP.files)), st.text(max_size=40), max_size=2),
)
def test_any_text_names_a_file_of_the_contract(lines: list[str], error: str, edits: dict[str, str]) -> None:
    case = Case("any", "shop/store.py", None, {path: ("", text) for path, text in edits.items()})
    failure = Failure("test", error, lines[-1] if lines else "", "\n".join(lines))
    found = located(case, failure)
    assert set(found.suspected) | set(found.repair) | set(found.dependents) <= case.sources.keys()
    assert found.suspected and len(found.repair) == (0 if found.test_at_fault else 1)
    assert suspects(failure, case.target, Contract(case.contract))[0] in case.sources
