"""Made faults: small projects with one fault each, the test that fails, and the file that is at fault.

A project is the sound one of this file with some files replaced. `test` is the temporary test about `target`; without
one the project's own tests run, and `target` is the test file. `at_fault` is None where the temporary test itself is.
`reaches` says whether the fault reaches those who depend on the file.
"""

# ruff: noqa: E501 - the texts of small files

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.contracts import make_contract

FILES = {
    "pyproject.toml": """\
[project]
name = "shop"
version = "0.1"

[project.scripts]
shop = "shop.cli:main"
""",
    "shop/__init__.py": """\
from shop.store import Store

__all__ = ["Store"]
""",
    "shop/rates.json": '{"standard": 20, "reduced": 5}\n',
    "shop/models.py": """\
from dataclasses import dataclass

CURRENCY = "EUR"


class ShopError(Exception):
    pass


@dataclass
class Item:
    name: str
    price: int
    count: int = 1


def parse_item(text: str) -> Item:
    name, price = text.split(":")
    if int(price) < 0:
        raise ShopError("a price is never negative")
    return Item(name, int(price))
""",
    "shop/tax.py": """\
import json
from pathlib import Path

RATES = json.loads(Path(__file__).with_name("rates.json").read_text())


def tax(price: int, kind: str = "standard") -> int:
    return price * RATES[kind] // 100
""",
    "shop/store.py": """\
from shop.models import Item, parse_item
from shop.tax import tax


class Store:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}

    def add(self, item: Item, *, count: int = 1) -> None:
        item.count = count
        self._items[item.name] = item

    def get(self, name: str) -> Item:
        return self._items[name]

    def find(self, name: str) -> Item | None:
        return self._items.get(name)

    def total(self) -> int:
        return sum((one.price + tax(one.price)) * one.count for one in self._items.values())

    def rows(self) -> list[dict[str, str]]:
        return [{"name": one.name, "price": str(one.price)} for one in self._items.values()]


def load(lines: list[str]) -> Store:
    store = Store()
    for line in lines:
        store.add(parse_item(line))
    return store
""",
    "shop/report.py": """\
from shop.models import CURRENCY
from shop.store import Store


def report(store: Store) -> str:
    lines = [f"{row['name']} {row['price']} {CURRENCY}" for row in store.rows()]
    return "\\n".join([*lines, f"total {store.total()} {CURRENCY}"])


def cheapest(store: Store, name: str, other: str) -> str:
    first = store.get(name)
    second = store.get(other)
    return first.name if first.price <= second.price else second.name
""",
    "shop/cli.py": """\
import sys

from shop.report import report
from shop.store import load


def main(argv: list[str] | None = None) -> int:
    store = load(argv if argv is not None else sys.argv[1:])
    print(report(store))
    return 0
""",
    "tests/conftest.py": """\
import pytest

from shop.models import Item
from shop.store import Store


@pytest.fixture
def store():
    store = Store()
    store.add(Item("tea", 100))
    return store
""",
    "tests/test_store.py": """\
from shop.models import Item


def test_total(store):
    store.add(Item("milk", 50), count=2)
    assert store.total() == 240
""",
}
NEEDS = {
    "pyproject.toml": ["shop/cli.py"],
    "shop/__init__.py": ["shop/store.py"],
    "shop/rates.json": [],
    "shop/models.py": [],
    "shop/tax.py": ["shop/rates.json"],
    "shop/store.py": ["shop/models.py", "shop/tax.py"],
    "shop/report.py": ["shop/store.py", "shop/models.py"],
    "shop/cli.py": ["shop/report.py", "shop/store.py"],
    "tests/conftest.py": ["shop/models.py", "shop/store.py"],
    "tests/test_store.py": ["shop/models.py", "tests/conftest.py"],
}
API = {
    "shop/__init__.py": [("Store", "class Store")],
    "shop/models.py": [
        ("CURRENCY", "CURRENCY: str = 'EUR'"),
        ("ShopError", "class ShopError(Exception)"),
        ("Item", "@dataclass class Item"),
        ("Item.name", "name: str"),
        ("Item.price", "price: int"),
        ("Item.count", "count: int = 1"),
        ("parse_item", "def parse_item(text: str) -> Item"),
    ],
    "shop/tax.py": [("tax", "def tax(price: int, kind: str = 'standard') -> int")],
    "shop/store.py": [
        ("Store", "class Store"),
        ("Store.add", "def add(self, item: Item, *, count: int = 1) -> None"),
        ("Store.get", "def get(self, name: str) -> Item"),
        ("Store.find", "def find(self, name: str) -> Item | None"),
        ("Store.total", "def total(self) -> int"),
        ("Store.rows", "def rows(self) -> list[dict[str, str]]"),
        ("load", "def load(lines: list[str]) -> Store"),
    ],
    "shop/report.py": [
        ("report", "def report(store: Store) -> str"),
        ("cheapest", "def cheapest(store: Store, name: str, other: str) -> str"),
    ],
    "shop/cli.py": [("main", "def main(argv: list[str] | None = None) -> int")],
    "tests/conftest.py": [("store", "def store() -> Store")],
}
PURPOSE = {
    "shop/rates.json": "Tax rates in percent by kind: standard, reduced.",
    "shop/models.py": "Items and their parsing. parse_item raises ShopError for a negative price.",
    "shop/store.py": "The store; rows gives name and price of each item.",
    "tests/conftest.py": "The fixture store: a Store with one item.",
}

MODELS, TAX, STORE, REPORT, CLI = (f"shop/{name}.py" for name in ("models", "tax", "store", "report", "cli"))
INIT, RATES, PROJECT, CONFTEST, OWN = "shop/__init__.py", "shop/rates.json", "pyproject.toml", *list(FILES)[-2:]


@dataclass(frozen=True)
class Project:
    """A sound project: sources, dependencies, interfaces and purposes by path."""

    files: dict[str, str]
    needs: dict[str, list[str]]
    api: dict[str, list[tuple[str, str]]]
    purpose: dict[str, str]


SHOP = Project(FILES, NEEDS, API, PURPOSE)


@dataclass(frozen=True)
class Case:
    """One made fault. `edits` replaces a piece of a file's text, or the whole file for an empty piece."""

    name: str
    target: str
    at_fault: str | None
    edits: Mapping[str, tuple[str, str]]
    test: str = ""
    reaches: bool = False
    failing: tuple[str, ...] = ()
    seconds: float = 20.0
    more: Mapping[str, Any] = field(default_factory=dict)
    project: Project = SHOP

    @property
    def sources(self) -> dict[str, str]:
        """The project's files by path."""
        files = dict(self.project.files) | {
            path: "" for path in self.more.get("needs", {}) if path not in self.project.files
        }
        for path, (old, new) in self.edits.items():
            assert old in files[path], f"{self.name}: {path} has no {old!r}"
            files[path] = files[path].replace(old, new, 1) if old else new
        return files

    @property
    def contract(self) -> dict[str, Any]:
        """The project's contract."""
        data = make_contract(
            self.project.needs | self.more.get("needs", {}), self.project.api | self.more.get("api", {})
        )
        for entry in data["files"]:
            entry["purpose"] = self.project.purpose.get(entry["path"], "Part of it.")
        return data


_TOTAL = "from shop.models import Item\nfrom shop.store import Store\n\ndef test_total():\n    store = Store()\n"
_TOTAL += "    store.add(Item('tea', 100), count=2)\n    assert store.total() == 240\n"
_PARSE = "from shop.models import parse_item\n\ndef test_parse():\n    assert parse_item('tea:3').price == 3\n"
_REPORT = "from shop.report import report\nfrom shop.store import load\n\ndef test_report():\n"
_REPORT += "    assert report(load(['tea:100'])) == 'tea 100 EUR\\ntotal 120 EUR'\n"
_CHEAP = "from shop.report import cheapest\nfrom shop.store import load\n\ndef test_cheapest():\n"
_CHEAP += "    assert cheapest(load(['tea:3', 'milk:2']), 'tea', 'milk') == 'milk'\n"
_MAIN = "from shop.cli import main\n\ndef test_main(capsys):\n    assert main(['tea:100']) == 0\n"
_MAIN += "    assert 'total 120 EUR' in capsys.readouterr().out\n"
_TAX = "from shop.tax import tax\n\ndef test_tax():\n    assert tax(200) == 40\n"
_LOAD = "from shop.store import load\n\ndef test_load():\n    assert load(['tea:3']).get('tea').price == 3\n"

CASES = [
    # names that are missing
    Case("a promised function is missing", STORE, MODELS, {MODELS: ("def parse_item", "def parse")}, _TOTAL, True),
    Case(
        "an import of a name that nobody promised",
        STORE,
        STORE,
        {STORE: ("Item, parse_item", "Item, Price, parse_item")},
        _TOTAL,
    ),
    Case("a promised method is missing", REPORT, STORE, {STORE: ("def rows", "def lines")}, _REPORT, True),
    Case(
        "a method that nobody promised is called",
        REPORT,
        REPORT,
        {REPORT: ("store.rows()", "store.entries()")},
        _REPORT,
    ),
    Case(
        "a promised attribute is missing",
        REPORT,
        MODELS,
        {
            MODELS: (
                "",
                "from dataclasses import dataclass\n\nCURRENCY = 'EUR'\n\nclass ShopError(Exception): ...\n\n@dataclass\nclass Item:\n    name: str\n    cost: int\n    count: int = 1\n\ndef parse_item(text: str) -> Item:\n    name, price = text.split(':')\n    return Item(name, int(price))\n",
            )
        },
        _CHEAP,
        True,
    ),
    Case(
        "a promised constant is missing",
        CLI,
        MODELS,
        {MODELS: ('CURRENCY = "EUR"', 'CURRENCIES = ["EUR"]')},
        _MAIN,
        True,
    ),
    Case(
        "a package does not hand on what it promised",
        INIT,
        INIT,
        {INIT: ("", "__all__ = []\n")},
        "from shop import Store\n\ndef test_it():\n    assert Store().total() == 0\n",
    ),
    Case(
        "a module is read for a name that it lacks",
        CLI,
        CLI,
        {
            CLI: (
                "",
                "import shop.store as store\nfrom shop.report import report\n\ndef main(argv=None):\n    print(report(store.read(argv)))\n    return 0\n",
            )
        },
        _MAIN,
    ),
    Case(
        "an undeclared package is imported",
        TAX,
        TAX,
        {TAX: ("import json\n", "import json\nimport taxrates_unknown\n")},
        _MAIN,
    ),
    Case("a module is imported under a wrong path", CLI, CLI, {CLI: ("shop.store", "shop.stores")}, _MAIN),
    Case(
        "a name is used before anything defines it",
        CLI,
        STORE,
        {STORE: ("parse_item(line)", "parse_line(line)")},
        _MAIN,
    ),
    Case("a relative import leads nowhere", REPORT, REPORT, {REPORT: ("from shop.models", "from ..models")}, _REPORT),
    # calls
    Case(
        "a signature without a promised parameter",
        STORE,
        STORE,
        {STORE: ("item: Item, *, count: int = 1", "item: Item")},
        _TOTAL,
        True,
    ),
    Case(
        "a call with a keyword that nobody promised",
        STORE,
        STORE,
        {STORE: ("parse_item(line)", "parse_item(line, sep=':')")},
        _LOAD,
    ),
    Case(
        "a dependency requires one parameter more",
        STORE,
        TAX,
        {TAX: ('kind: str = "standard"', "kind: str")},
        _TOTAL,
        True,
    ),
    Case("a call without a required argument", REPORT, REPORT, {REPORT: ("store.get(other)", "store.get()")}, _CHEAP),
    Case(
        "a class that takes no arguments",
        STORE,
        MODELS,
        {MODELS: ("@dataclass\nclass Item", "class Item")},
        _LOAD,
        True,
    ),
    Case(
        "a function that became asynchronous",
        STORE,
        MODELS,
        {MODELS: ("def parse_item", "async def parse_item")},
        _LOAD,
        True,
    ),
    Case(
        "a property in place of a method",
        REPORT,
        STORE,
        {STORE: ("    def total", "    @property\n    def total")},
        _REPORT,
        True,
    ),
    # values of a wrong type
    Case(
        "None where an item is promised",
        REPORT,
        STORE,
        {STORE: ("return self._items[name]", "self._items[name]")},
        _CHEAP,
    ),
    Case(
        "None that is promised and not looked at",
        REPORT,
        REPORT,
        {REPORT: ("second = store.get(other)", "second = store.find(other + '!')")},
        _CHEAP,
    ),
    Case(
        "text where a number is promised",
        STORE,
        TAX,
        {TAX: ("price * RATES[kind] // 100", "str(price * RATES[kind] // 100)")},
        _TOTAL,
    ),
    Case(
        "a tuple where an item is promised",
        STORE,
        MODELS,
        {MODELS: ("return Item(name, int(price))", "return name, int(price)")},
        _LOAD,
    ),
    Case(
        "a list of text where rows are promised",
        REPORT,
        STORE,
        {STORE: ('{"name": one.name, "price": str(one.price)}', "one.name")},
        _REPORT,
    ),
    Case(
        "text is passed where a number is promised", STORE, STORE, {STORE: ("tax(one.price)", "tax(one.name)")}, _TOTAL
    ),
    # exceptions
    Case(
        "a dependency raises on right arguments",
        STORE,
        TAX,
        {TAX: ("    return price", "    if price > 0:\n        raise ValueError('no price')\n    return price")},
        _TOTAL,
    ),
    Case(
        "a dependency refuses wrong arguments as it says",
        STORE,
        STORE,
        {STORE: ("parse_item(line)", "parse_item(line.replace(':', ':-'))")},
        _LOAD,
    ),
    Case("a key that a dependency's rows lack", REPORT, STORE, {STORE: ('"price": str', '"cost": str')}, _REPORT),
    Case("a key that the configuration lacks", TAX, RATES, {RATES: ("standard", "normal")}, _TAX, True),
    Case("a configuration that does not parse", STORE, RATES, {RATES: ("20,", "20,,")}, _TOTAL, True),
    Case(
        "an error raised in another's handler",
        REPORT,
        REPORT,
        {
            REPORT: (
                "    first = store.get(name)\n",
                "    try:\n        first = store.get('none')\n    except KeyError as error:\n        return error.missing\n",
            )
        },
        _CHEAP,
    ),
    Case("a division by zero two files down", CLI, TAX, {TAX: ("// 100", "// (RATES[kind] - 20)")}, _MAIN),
    Case("an endless recursion", STORE, TAX, {TAX: ("return price *", "return tax(price) *")}, _TOTAL),
    # structure
    Case("a dependency that does not parse", CLI, TAX, {TAX: ("def tax(", "def tax((")}, _MAIN, False),
    Case("wrong indentation two files down", CLI, MODELS, {MODELS: ("    price: int", "      price: int")}, _MAIN),
    Case(
        "a ring of imports",
        REPORT,
        MODELS,
        {
            MODELS: (
                "from dataclasses import dataclass\n",
                "from dataclasses import dataclass\nfrom shop.store import Store\n",
            )
        },
        _REPORT,
    ),
    Case(
        "a ring of imports through a module",
        STORE,
        TAX,
        {TAX: ("import json\n", "import json\nimport shop.store\n\nSTORE = shop.store.Store()\n")},
        "from shop.tax import tax\n" + _TOTAL,
    ),
    Case(
        "the package's metadata names no such function",
        PROJECT,
        PROJECT,
        {PROJECT: ("shop.cli:main", "shop.cli:run")},
        "import importlib, tomllib\n\ndef test_script():\n    with open('pyproject.toml', 'rb') as file:\n        module, _, name = tomllib.load(file)['project']['scripts']['shop'].partition(':')\n    assert callable(getattr(importlib.import_module(module), name))\n",
    ),
    # wrong values
    Case("a wrong value", TAX, TAX, {TAX: ("// 100", "// 10")}, _TAX),
    Case("a wrong constant seen through a consumer", REPORT, MODELS, {MODELS: ('"EUR"', '"USD"')}, _REPORT, True),
    Case(
        "a wrong value that the test takes from a dependency",
        STORE,
        MODELS,
        {MODELS: ("return Item(name, int(price))", "return Item(name, int(price) + 1)")},
        "from shop.models import parse_item\nfrom shop.store import Store\n\ndef test_add():\n    store = Store()\n    item = parse_item('tea:3')\n    store.add(item)\n    assert item.price == 3\n",
    ),
    Case(
        "a wrong value of a dependency whose own test fails too",
        REPORT,
        TAX,
        {TAX: ("// 100", "// 10")},
        _REPORT,
        False,
        (TAX,),
    ),
    Case(
        "it never ends",
        STORE,
        STORE,
        {STORE: ("store = Store()\n", "store = Store()\n    while lines:\n        pass\n")},
        _LOAD,
        seconds=1.0,
    ),
    # tests
    Case(
        "a temporary test imports what nobody promised",
        STORE,
        None,
        {},
        "from shop.store import Shop\n\ndef test_it():\n    assert Shop()\n",
    ),
    Case(
        "a temporary test calls with what nobody promised",
        STORE,
        None,
        {},
        "from shop.store import Store\n\ndef test_it():\n    Store().add(name='tea')\n",
    ),
    Case("a temporary test that does not parse", STORE, None, {}, "def test_it(:\n    pass\n"),
    Case("a temporary test without a test", STORE, None, {}, "from shop.store import Store\n"),
    Case(
        "the repository's test lacks a fixture that conftest promised",
        OWN,
        CONFTEST,
        {CONFTEST: ("def store", "def shop_store")},
        "",
        True,
    ),
    Case("the repository's test wants a fixture that nobody promised", OWN, OWN, {OWN: ("(store)", "(store, basket)")}),
    Case("a fixture fails", OWN, CONFTEST, {CONFTEST: ('Item("tea", 100)', 'Item("tea", 100, 1, 2)')}),
    Case("conftest imports what nobody promised", OWN, CONFTEST, {CONFTEST: ("import Item", "import Item, Basket")}),
    Case(
        "a module hides one of the standard library",
        "statistics.py",
        CLI,
        {
            CLI: ("import sys\n", "import statistics\nimport sys\n\nstatistics.mean([1])\n"),
            "statistics.py": ("", "def average(values: list[int]) -> float:\n    return sum(values) / len(values)\n"),
        },
        _MAIN,
        more={
            "needs": {"statistics.py": []},
            "api": {"statistics.py": [("average", "def average(values: list[int]) -> float")]},
        },
    ),
]

NOTES = Project(
    files={
        "settings.ini": "[notes]\nwidth = 20\nmark = *\n",
        "src/notes/__init__.py": "from .book import Book\nfrom .model import Note\n\n__all__ = ['Book', 'Note']\n",
        "src/notes/model.py": """\
from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import date


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class NoteError(Exception):
    pass


@dataclass(frozen=True)
class Note:
    title: str
    day: date
    level: Level = Level.LOW
    tags: tuple[str, ...] = ()

    def shown(self) -> str:
        return f"{self.day.isoformat()} {self.title}"

    @classmethod
    def parse(cls, line: str) -> Note:
        day, _, title = line.partition(" ")
        return cls(title, date.fromisoformat(day))
""",
        "src/notes/storage/__init__.py": "",
        "src/notes/storage/base.py": """\
from abc import ABC, abstractmethod


class Storage(ABC):
    @abstractmethod
    def read(self) -> list[str]: ...

    @abstractmethod
    def write(self, lines: list[str]) -> None: ...

    def size(self) -> int:
        return len(self.read())
""",
        "src/notes/storage/memory.py": """\
from .base import Storage


class Memory(Storage):
    def __init__(self, lines: list[str] | None = None) -> None:
        self.lines = lines or []

    def read(self) -> list[str]:
        return list(self.lines)

    def write(self, lines: list[str]) -> None:
        self.lines = list(lines)
""",
        "src/notes/config.py": """\
import configparser
from pathlib import Path


def settings(path: str = "settings.ini") -> dict[str, str]:
    parser = configparser.ConfigParser()
    parser.read_string(Path(path).read_text())
    return dict(parser["notes"])


def width() -> int:
    return int(settings()["width"])
""",
        "src/notes/book.py": """\
from . import config
from .model import Note, NoteError
from .storage.base import Storage
from .storage.memory import Memory


class Book:
    def __init__(self, storage: Storage | None = None) -> None:
        self.storage = storage or Memory()

    def notes(self) -> list[Note]:
        return [Note.parse(line) for line in self.storage.read()]

    def add(self, note: Note) -> None:
        if len(note.title) > config.width():
            raise NoteError(f"longer than {config.width()}")
        self.storage.write([*self.storage.read(), note.shown()])

    def by_title(self, title: str) -> Note | None:
        return next((one for one in self.notes() if one.title == title), None)

    async def export(self) -> str:
        return "\\n".join(one.shown() for one in self.notes())


def titles(book: Book) -> list[str]:
    return [one.title for one in book.notes()]
""",
        "src/notes/render.py": """\
from notes.book import Book, titles
from notes.config import settings


def render(book: Book) -> str:
    mark = settings()["mark"]
    return "\\n".join(f"{mark} {title}" for title in titles(book))


async def save(book: Book) -> int:
    text = await book.export()
    return len(text)
""",
        "tests/test_render.py": """\
from notes import Book, Note
from notes.render import render


def test_render():
    book = Book()
    book.add(Note.parse("2024-01-02 milk"))
    assert render(book) == "* milk"
""",
    },
    needs={
        "settings.ini": [],
        "src/notes/__init__.py": ["src/notes/book.py", "src/notes/model.py"],
        "src/notes/model.py": [],
        "src/notes/storage/__init__.py": [],
        "src/notes/storage/base.py": [],
        "src/notes/storage/memory.py": ["src/notes/storage/base.py"],
        "src/notes/config.py": ["settings.ini"],
        "src/notes/book.py": [
            "src/notes/config.py",
            "src/notes/model.py",
            "src/notes/storage/base.py",
            "src/notes/storage/memory.py",
        ],
        "src/notes/render.py": ["src/notes/book.py", "src/notes/config.py"],
        "tests/test_render.py": ["src/notes/render.py", "src/notes/__init__.py"],
    },
    api={
        "src/notes/__init__.py": [("Book", "class Book"), ("Note", "class Note")],
        "src/notes/model.py": [
            ("Level", "class Level(enum.Enum)"),
            ("Level.LOW", "LOW: int"),
            ("Level.HIGH", "HIGH: int"),
            ("NoteError", "class NoteError(Exception)"),
            ("Note", "@dataclass(frozen=True) class Note"),
            ("Note.title", "title: str"),
            ("Note.day", "day: date"),
            ("Note.level", "level: Level = Level.LOW"),
            ("Note.tags", "tags: tuple[str, ...] = ()"),
            ("Note.shown", "def shown(self) -> str"),
            ("Note.parse", "@classmethod def parse(cls, line: str) -> Note"),
        ],
        "src/notes/storage/base.py": [
            ("Storage", "class Storage(ABC)"),
            ("Storage.read", "def read(self) -> list[str]"),
            ("Storage.write", "def write(self, lines: list[str]) -> None"),
            ("Storage.size", "def size(self) -> int"),
        ],
        "src/notes/storage/memory.py": [
            ("Memory", "class Memory(Storage)"),
            ("Memory.read", "def read(self) -> list[str]"),
            ("Memory.write", "def write(self, lines: list[str]) -> None"),
        ],
        "src/notes/config.py": [
            ("settings", "def settings(path: str = 'settings.ini') -> dict[str, str]"),
            ("width", "def width() -> int"),
        ],
        "src/notes/book.py": [
            ("Book", "class Book"),
            ("Book.notes", "def notes(self) -> list[Note]"),
            ("Book.add", "def add(self, note: Note) -> None"),
            ("Book.by_title", "def by_title(self, title: str) -> Note | None"),
            ("Book.export", "async def export(self) -> str"),
            ("titles", "def titles(book: Book) -> list[str]"),
        ],
        "src/notes/render.py": [
            ("render", "def render(book: Book) -> str"),
            ("save", "async def save(book: Book) -> int"),
        ],
    },
    purpose={
        "settings.ini": "The settings width and mark.",
        "src/notes/book.py": "The notes of a storage. add raises NoteError for a title that is too long.",
        "src/notes/model.py": "Notes and how they are written.",
    },
)
_SRC = "src/notes/"
MODEL, BASE, MEMORY, CONFIG, BOOK, RENDER = (
    f"{_SRC}{name}.py" for name in ("model", "storage/base", "storage/memory", "config", "book", "render")
)
NOTES_INIT, SETTINGS, RENDER_TEST = f"{_SRC}__init__.py", "settings.ini", "tests/test_render.py"
_RENDER = "from notes.book import Book\nfrom notes.render import render\nfrom notes.storage.memory import Memory\n\n"
_RENDER += "def test_render():\n    assert render(Book(Memory(['2024-01-02 milk']))) == '* milk'\n"
_SAVE = "import asyncio\nfrom notes.book import Book\nfrom notes.render import save\nfrom notes.storage.memory import Memory\n\n"
_SAVE += "def test_save():\n    assert asyncio.run(save(Book(Memory(['2024-01-02 milk'])))) == 15\n"
_BOOK = "from datetime import date\nfrom notes.book import Book\nfrom notes.model import Note\n\ndef test_add():\n"
_BOOK += (
    "    book = Book()\n    book.add(Note('milk', date(2024, 1, 2)))\n    assert book.by_title('milk').day.day == 2\n"
)


def _note(
    name: str, target: str, at_fault: str | None, edits: dict[str, tuple[str, str]], *more: Any, **named: Any
) -> Case:
    return Case(name, target, at_fault, edits, *more, **named, project=NOTES)


CASES += [
    _note(
        "a class method that became a method",
        BOOK,
        MODEL,
        {MODEL: ("    @classmethod\n    def parse(cls", "    def parse(cls")},
        _BOOK,
        True,
    ),
    _note("an abstract method is not written", BOOK, MEMORY, {MEMORY: ("def write", "def put")}, _BOOK, True),
    _note(
        "an inherited method is missing in the base",
        BASE,
        BASE,
        {BASE: ("def size", "def length")},
        "from notes.storage.memory import Memory\n\ndef test_size():\n    assert Memory(['a']).size() == 1\n",
        True,
    ),
    _note("a call is not awaited", RENDER, RENDER, {RENDER: ("await book.export()", "book.export()")}, _SAVE),
    _note(
        "a promised coroutine is a plain function",
        RENDER,
        BOOK,
        {BOOK: ("async def export", "def export")},
        _SAVE,
        True,
    ),
    _note(
        "a module of the tree is asked for what it lacks",
        BOOK,
        BOOK,
        {BOOK: ("config.width():", "config.limit():")},
        _BOOK,
    ),
    _note("a module lacks what it promised", BOOK, CONFIG, {CONFIG: ("def width", "def get_width")}, _BOOK, True),
    _note("a setting is missing", RENDER, SETTINGS, {SETTINGS: ("mark", "sign")}, _RENDER, True),
    _note("a setting has no section", RENDER, SETTINGS, {SETTINGS: ("[notes]\n", "")}, _RENDER, True),
    _note(
        "a promised list is None", RENDER, MEMORY, {MEMORY: ("return list(self.lines)", "list(self.lines)")}, _RENDER
    ),
    _note(
        "a promised list of text holds numbers",
        RENDER,
        BOOK,
        {BOOK: ("[one.title for one in book.notes()]", "len(book.notes())")},
        _RENDER,
    ),
    _note(
        "what may be None is used at once",
        RENDER,
        RENDER,
        {RENDER: ("for title in titles(book))", "for title in [book.by_title('x').title])")},
        _RENDER,
    ),
    _note(
        "a frozen note is changed by another",
        BOOK,
        BOOK,
        {BOOK: ("        if len(", "        note.title = note.title.strip()\n        if len(")},
        _BOOK,
    ),
    _note(
        "an enum's member is missing",
        MODEL,
        MODEL,
        {MODEL: ("    HIGH = 2\n", "")},
        "from notes.model import Level\n\ndef test_level():\n    assert Level.HIGH.value == 2\n",
        True,
    ),
    _note(
        "an enum's member that nobody promised",
        RENDER,
        RENDER,
        {RENDER: ("    mark =", "    from notes.model import Level\n\n    print(Level.MIDDLE)\n    mark =")},
        _RENDER,
    ),
    _note(
        "a dependency misreads a right line",
        RENDER,
        MODEL,
        {MODEL: ('line.partition(" ")', 'line.partition("-")')},
        _RENDER,
    ),
    _note(
        "a date that the caller garbles",
        RENDER,
        MODEL,
        {MODEL: ("date.fromisoformat(day)", "date.fromisoformat(title)")},
        _RENDER,
    ),
    _note("an argument of another type", BOOK, BOOK, {BOOK: ("Note.parse(line)", "Note.parse(line.split())")}, _BOOK),
    _note(
        "an announced refusal of what the caller gives",
        RENDER,
        RENDER,
        {
            RENDER: (
                "    mark =",
                "    from datetime import date\n\n    from notes.model import Note\n\n    book.add(Note('x' * 99, date(2024, 1, 1)))\n    mark =",
            )
        },
        _RENDER,
    ),
    _note(
        "a package's own export is missing",
        RENDER_TEST,
        NOTES_INIT,
        {NOTES_INIT: ("from .model import Note\n\n__all__ = ['Book', 'Note']", "\n__all__ = ['Book']")},
        "",
        True,
    ),
    _note(
        "a ring through the package itself",
        RENDER,
        CONFIG,
        {CONFIG: ("import configparser\n", "import configparser\nfrom notes.book import Book\n")},
        _RENDER,
    ),
    _note(
        "the repository's test expects what is wrong", RENDER_TEST, RENDER_TEST, {RENDER_TEST: ('"* milk"', '"- milk"')}
    ),
    _note(
        "the repository's test calls what nobody promised",
        RENDER_TEST,
        RENDER_TEST,
        {RENDER_TEST: ("book.add(", "book.insert(")},
    ),
    _note(
        "a file that is read is not there",
        RENDER,
        CONFIG,
        {CONFIG: ('path: str = "settings.ini"', 'path: str = "config/settings.ini"')},
        _RENDER,
        True,
    ),
    _note(
        "a wrong value two files down, whose test fails",
        RENDER,
        MODEL,
        {MODEL: ("title, date.from", "title.upper(), date.from")},
        _RENDER,
        False,
        (MODEL,),
    ),
    _note(
        "a star import of a missing module",
        BOOK,
        BOOK,
        {BOOK: ("from . import config\n", "from . import config\nfrom .helpers import *\n")},
        _BOOK,
    ),
]
