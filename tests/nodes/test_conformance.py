from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodes.api import public_interface
from nodes.conformance import Violation, conformance, violations
from nodes.contract import Contract
from tests.support.contracts import make_contract

Api = list[tuple[str, str]]


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
        ("f", "def f(x: int, y: str = 'a') -> list[int]", "def f(x: 'int', y='a', *more) -> List[int]: ..."),
        ("f", "def f(x: int | None) -> Iterable[str]", "def f(x: Optional[int]) -> Iterator[str]: ..."),
        ("f", "def f(x: list[int]) -> float", "def f(x: Sequence[int] | None) -> int: ..."),
        ("f", "def f(rows: list[str] = []) -> None", "def f(rows: list[str] | None = None) -> None: ..."),
        ("f", "def f(x: Grid) -> None", "Grid = list[list[int]]\ndef f(x: list[list[int]]) -> None: ..."),
        ("f", "def f(x: np.ndarray) -> None", "def f(x: NDArray) -> None: ..."),
        ("f", "def f(*, strict: bool = False) -> None", "def f(strict=False): ..."),
        ("main", "def main() -> None", "@click.command()\n@click.argument('name')\ndef main(name): ..."),
        ("lines", "async def lines() -> AsyncIterator[str]", "async def lines():\n    yield ''"),
        ("open_", "def open_() -> AbstractContextManager[int]", "@contextmanager\ndef open_() -> Iterator[int]: ..."),
        ("LIMIT", "LIMIT: int = 5", "LIMIT: Final = 5"),
        ("Item.total", "total: int", "class Item:\n    @property\n    def total(self) -> int: ..."),
        ("Item.total", "@property def total(self) -> int", "class Item:\n    total: int = 0"),
        ("Item.of", "def of(self, x: int) -> int", "class Item:\n    @staticmethod\n    def of(x: int) -> int: ..."),
        ("Item.a", "a: int", "class Item:\n    __slots__ = ('a', 'b')\n    def __init__(self): self.a, self.b = 1, 2"),
        ("Kind", "class Kind(str, Enum)", "class Kind(StrEnum):\n    A = 'a'"),
        ("Bad", "class Bad(Exception)", "class Base(ValueError): ...\nclass Bad(Base): ..."),
        ("A", "A: int = 1", "with open('x') as A: pass"),
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
        ("f", "def f(x: int) -> int", "def f(x: str) -> int: ...", "interface"),
        ("f", "def f(x: int) -> int", "def f(x: int) -> str: ...", "interface"),
        ("f", "def f(x: int) -> Item", "class Item: ...\ndef f(x: int) -> Item | None: ...", "interface"),
        ("f", "def f(x: int) -> Item", "class Item: ...\ndef f(x: int) -> dict[str, int]: ...", "interface"),
        ("f", "def f(x: list[int]) -> int", "def f(x: list[str]) -> int: ...", "interface"),
        ("f", "def f(x: int = 1) -> int", "def f(x: int = 2) -> int: ...", "interface"),
        ("f", "def f(x: int = 1) -> int", "def f(x: int) -> int: ...", "interface"),
        ("f", "def f(a, b)", "def f(b, a): ...", "interface"),
        ("f", "def f(a, b)", "def f(a, *, b): ...", "interface"),
        ("f", "def f(a, b)", "def f(a, /, b): ...", "interface"),
        ("f", "def f(*parts)", "def f(parts): ...", "interface"),
        ("f", "def f(**options)", "def f(options=None): ...", "interface"),
        ("f", "def f()", "f = 5", "interface"),
        ("load", "def load() -> str", "async def load(): ...", "interface"),
        ("LIMIT", "LIMIT: int = 5", "LIMIT = 6", "interface"),
        ("LIMIT", "LIMIT: int = 5", "LIMIT: int", "interface"),
        ("LIMIT", "LIMIT: int", "def LIMIT(): ...", "interface"),
        ("LIMIT", "LIMIT: int", "LIMIT: str = ''", "interface"),
        ("Item", "class Item(Base)", "class Base: ...\nclass Item: ...", "interface"),
        ("Bad", "class Bad(Exception)", "class Bad: ...", "interface"),
        ("Item.total", "def total(self) -> int", "class Item:\n    @property\n    def total(self): ...", "interface"),
        ("Item.total", "@property def total(self) -> int", "class Item:\n    def total(self): ...", "interface"),
        ("Item.of", "@classmethod def of(cls) -> Item", "class Item:\n    def of(self): ...", "interface"),
        ("Item.go", "def go(self, n: int) -> None", "class Item:\n    def go(self, m): ...", "interface"),
        ("Item.go", "def go(self) -> None", "class Base: ...\nclass Item(Base): ...", "interface"),
        ("Item.n", "n: int", "@dataclass\nclass Item:\n    m: int", "interface"),
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


def project(files: dict[str, str], api: dict[str, Api] | None = None, **more: Any) -> list[Violation]:
    """Violations of files whose dependencies are `more["needs"]`, by path."""
    data = make_contract({path: more.get("needs", {}).get(path, []) for path in files}, api or {})
    data["dependencies"] = more.get("dependencies", [])
    return conformance(Contract(data), files)


FIELDS = [
    ("Item", "@dataclass(frozen=True) class Item"),
    ("Item.name", "name: str"),
    ("Item.price", "price: float = 0.0"),
]


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("@dataclass(frozen=True)\nclass Item:\n    name: str\n    price: float = 0.0\n", True),
        ("@dataclass(frozen=True)\nclass Item:\n    name: str\n    price: float = 0.0\n    more: int = 0\n", True),
        ("class Item(NamedTuple):\n    name: str\n    price: float = 0.0\n", True),
        ("class Item:\n    def __init__(self, name, price=0.0): self.name, self.price = name, price\n", True),
        ("@dataclass\nclass Item:\n    name: str\n    price: float = 0.0\n", False),
        ("@dataclass(frozen=True)\nclass Item:\n    price: float = 0.0\n    name: str = ''\n", False),
        ("@dataclass(frozen=True)\nclass Item:\n    name: str\n    price: float\n", False),
        ("@dataclass(frozen=True)\nclass Item:\n    name: str\n    more: int\n    price: float = 0.0\n", False),
        ("class Item:\n    def __init__(self, name): self.name, self.price = name, 0.0\n", False),
    ],
)
def test_a_data_class_is_made_and_read_as_declared(source: str, kept: bool) -> None:
    found = project(
        {"a.py": f"from dataclasses import dataclass\nfrom typing import NamedTuple\n{source}"}, {"a.py": FIELDS}
    )
    assert [one.kind for one in found] == ([] if kept else ["interface"])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("from .core import load", ""),
        ("from . import core", ""),
        ("from . import deep", ""),
        ("import pkg.deep.low", ""),
        ("from pkg.deep import low", ""),
        ("from pkg.deep.low import deepest", ""),
        ("from pkg import load", ""),
        ("from .core import *", ""),
        ("import yaml, jwt, requests.adapters", ""),
        ("from __future__ import annotations", ""),
        ("import os.path, tomllib", ""),
        ("try:\n    import fast\nexcept ImportError:\n    fast = None", ""),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas", ""),
        ("from . import core\nprint(core.load)", ""),
        ("from . import core\ndef f(core): return core.lod", ""),
        ("from .core import promised", "core"),
        ("from .core import lod", "did you mean 'load'"),
        ("from . import cor", "has no 'cor'"),
        ("from .cor import load", "did you mean 'pkg.core'"),
        ("import pkg.cor", "no module 'pkg.cor'"),
        ("from ..core import load", "leads out"),
        ("from pkg.deep import lower", "no module 'lower'"),
        ("from pkg.deep.low import deeper", "has no 'deeper'"),
        ("from src.pkg.core import load", "write 'pkg.core'"),
        ("import numpy", "'numpy' is neither"),
        ("def f():\n    import numpy", "'numpy' is neither"),
        ("from . import core\nprint(core.lod)", "did you mean 'load'"),
        ("import pkg.core as c\nprint(c.lod)", "has no 'lod'"),
    ],
)
def test_imports_resolve_to_the_tree_a_dependency_or_the_standard_library(line: str, fault: str) -> None:
    files = {
        "src/pkg/__init__.py": "from .core import load\n",
        "src/pkg/core.py": "def load(): ...\n",
        "src/pkg/deep/low.py": "deepest = 1\n",
        "src/pkg/cli.py": line + "\n",
    }
    api = {"src/pkg/core.py": [("load", "def load()"), ("promised", "def promised()")]}
    found = project(files, api, dependencies=["PyYAML>=6", "pyjwt", "requests[socks]"])
    [missing, *others] = [one for one in found if one.kind != "exception"]
    assert (missing.path, missing.kind) == ("src/pkg/core.py", "interface")
    if fault in ("", "core"):  # a promised name that is missing is the fault of the file that promised it
        assert others == []
    else:
        assert [(one.path, one.kind) for one in others] == [("src/pkg/cli.py", "import")]
        assert fault in others[0].message
        assert files["src/pkg/cli.py"].splitlines()[others[0].line - 1]


def test_tests_import_each_other_as_pytest_lets_them() -> None:
    loose = {"tests/helpers.py": "A = 1\n", "tests/test_a.py": "from helpers import A\ndef test(): ...\n"}
    assert project(loose) == []
    relative = {"tests/helpers.py": "A = 1\n", "tests/test_a.py": "from .helpers import A\ndef test(): ...\n"}
    assert [one.kind for one in project(relative)] == ["import"]
    assert project({"tests/__init__.py": "", **relative}) == []


def test_a_ring_of_imports_is_the_fault_of_the_one_that_goes_against_the_contract() -> None:
    files = {"p/a.py": "from p.b import g\ndef f(): return g\n", "p/b.py": "from p.a import f\ndef g(): return f\n"}
    api: dict[str, Api] = {"p/a.py": [("f", "def f()")], "p/b.py": [("g", "def g()")]}
    found = project(files, api, needs={"p/b.py": ["p/a.py"]})
    assert [(one.path, one.line, one.kind) for one in found] == [("p/a.py", 1, "import")]
    files["p/a.py"] = "def f():\n    from p.b import g\n    return g\n"
    assert project(files, api, needs={"p/b.py": ["p/a.py"]}) == []


def test_a_package_may_name_its_version_before_it_imports_its_modules() -> None:
    files = {
        "p/__init__.py": "__version__ = '1'\nfrom .a import f\n",
        "p/a.py": "from p import __version__\ndef f(): ...\n",
    }
    needs = {"p/__init__.py": ["p/a.py"]}
    assert [one for one in project(files, needs=needs) if one.kind == "import"] == []
    files["p/__init__.py"] = "from .a import f\n__version__ = '1'\n"
    assert [one.path for one in project(files, needs=needs) if one.kind == "import"] == ["p/a.py"]


def test_symbols_that_a_file_hands_on_are_checked_where_they_are_defined() -> None:
    files = {"p/__init__.py": "from .a import f\n__all__ = ['f']\n", "p/a.py": "def f(x): ...\n"}
    api: dict[str, Api] = {"p/__init__.py": [("f", "def f(x: int)")]}
    assert project(files, api) == []
    found = project(files | {"p/a.py": "def f(y): ...\n"}, api)
    assert [(one.path, one.kind) for one in found] == [("p/__init__.py", "interface")]


def test_ruff_finds_what_is_certain_to_fail_and_no_comment_silences_it() -> None:
    source = "def f():\n    return missing  # noqa\n\nwhile True:\n    pass\nbreak\n"
    found = project({"p/a.py": "# ruff: noqa\n" + source, "p/b.py": "__all__ = ['gone']\n"})
    assert [(one.path, one.line, one.kind) for one in found] == [
        ("p/a.py", 3, "exception"),
        ("p/a.py", 7, "syntax"),
        ("p/b.py", 1, "exception"),
    ]


def test_a_file_outside_the_contract_and_one_that_is_not_written_yet() -> None:
    contract = Contract(make_contract({"p/a.py": [], "p/b.py": ["p/a.py"]}, {"p/a.py": [("f", "def f()")]}))
    found = conformance(contract, {"p/b.py": "from p.a import f, g\nprint(f, g)\n", "p/extra.py": "x = ("})
    assert [(one.path, one.kind) for one in found] == [("p/b.py", "import"), ("p/extra.py", "interface")]
    assert "promises no 'g'" in found[0].message


@pytest.mark.parametrize(
    "source", ["\0", "(" * 500, "x = '\\udcff'", "def f(: pass", "\ufeffx = 1", "x = 1\r\ny = 2\r\n"]
)
def test_odd_text_is_read_or_told_and_never_ends_the_check(source: str) -> None:
    found = project({"p/a.py": source, "p/b.py": "from p.a import x\n"})
    assert all(one.path in ("p/a.py", "p/b.py") and one.message for one in found)


def test_the_projects_own_code_conforms_to_the_interface_that_is_read_from_it() -> None:
    folder = Path(__file__).parents[2] / "nodes"
    files = {f"nodes/{path.name}": path.read_text("utf-8") for path in sorted(folder.glob("*.py"))}
    api = {
        path: [(name, text) for name, text in public_interface(source).items() if "re-exported" not in text]
        for path, source in files.items()
    }
    data = make_contract({path: [] for path in files}, api)
    data["dependencies"] = ["packaging", "ruff", "numpy", "jsonschema", "pyyaml", "click"]
    found = [one for one in conformance(Contract(data), files) if "'engine'" not in one.message]
    assert [one for one in found if one.kind != "import"] == []


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.json", '{"x": 1}', None),
        ("a.json", '{"x": 1,\n "y": }', 2),
        ("a.json", "[" * 100_000, 0),
        ("a.toml", "x = 1", None),
        ("a.toml", "x = 1\ny = \n", 2),
        ("a.ini", "[a]\nx = 1\nflag\n", None),
        ("a.cfg", "x = 1\n", 1),
        ("a.yaml", "x: &a [1, *a]\n---\ny: !!python/object:os.system {}", None),
        ("a.yml", "x: 1\ny: [1, 2\n", 3),
        ("a.yaml", "x: {{ name }}\n", None),
        ("a.txt", "x = [", None),
    ],
)
def test_data_that_cannot_be_read_is_told_with_its_line(path: str, text: str, line: int | None) -> None:
    found = project({path: text})
    assert [(one.path, one.line, one.kind) for one in found] == ([] if line is None else [(path, line, "syntax")])


def test_a_script_names_a_function_that_is_there() -> None:
    files = {
        "pyproject.toml": '[project.scripts]\na = "p.cli:main"\nb = "p.cli:run"\nc = "p.gone:f"\n',
        "p/cli.py": "main = 1",
    }
    assert [one.message.split(": ", 1)[1] for one in project(files)] == [
        "script 'b': p/cli.py has no 'run'",
        "script 'c': the tree has no module 'p.gone'",
    ]
