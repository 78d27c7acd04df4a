from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.sketch_signatures import (
    SignatureFault,
    Symbol,
    annotation_names,
    parse_declaration,
    parse_public_api,
    untyped,
)


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("def load(path: Path) -> Shop", [("load", "function", "def load(path: Path) -> Shop")]),
        ("async def load() -> None:", [("load", "function", "async def load() -> None")]),
        ("def load() -> None: ...", [("load", "function", "def load() -> None")]),
        ("`def load() -> None`", [("load", "function", "def load() -> None")]),
        ("def load() -> int  # how many", [("load", "function", "def load() -> int")]),
        ("load(x: int) -> int", [("load", "function", "def load(x: int) -> int")]),
        ("load: def load() -> None", [("load", "function", "def load() -> None")]),
        ("class Shop(Base)", [("Shop", "class", "class Shop(Base)")]),
        ("class Shop: ...", [("Shop", "class", "class Shop")]),
        ("def Shop.add(self, x: int) -> None", [("Shop.add", "method", "def add(self, x: int) -> None")]),
        ("Shop.add(self, x: int) -> None", [("Shop.add", "method", "def add(self, x: int) -> None")]),
        ("Shop.add: def add(self) -> None", [("Shop.add", "method", "def add(self) -> None")]),
        ("@property def Shop.size(self) -> int", [("Shop.size", "method", "@property def size(self) -> int")]),
        ("@staticmethod\ndef Shop.make() -> Shop", [("Shop.make", "method", "@staticmethod def make() -> Shop")]),
        ("LIMIT: int = 5", [("LIMIT", "constant", "LIMIT: int = 5")]),
        ("Shop.LIMIT: int", [("Shop.LIMIT", "constant", "LIMIT: int")]),
        (
            "@dataclass class Item: name: str; price: float = 0.0",
            [
                ("Item", "class", "@dataclass class Item"),
                ("Item.name", "constant", "name: str"),
                ("Item.price", "constant", "price: float = 0.0"),
            ],
        ),
        (
            "class Item(name: str, price: float = 0)",
            [
                ("Item", "class", "class Item"),
                ("Item.__init__", "method", "def __init__(self, name: str, price: float=0) -> None"),
            ],
        ),
        (
            "class Shop:\n    def add(self, x: int) -> None: ...\n    size: int",
            [
                ("Shop", "class", "class Shop"),
                ("Shop.add", "method", "def add(self, x: int) -> None"),
                ("Shop.size", "constant", "size: int"),
            ],
        ),
    ],
)
def test_declarations_become_symbols(text: str, symbols: list[tuple[str, str, str]]) -> None:
    found = parse_declaration(text)
    assert [(one.name, one.kind, one.signature) for one in found] == symbols


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Shop", "bad_signature"),
        ("", "bad_signature"),
        ("def add(", "bad_signature"),
        ("import os", "bad_signature"),
        ("def f() -> None; def g() -> None", "bad_signature"),
        ("def add(self, x: int) -> None", "bad_signature"),
        ("x" * 5000, "bad_signature"),
        ("def f(x: " + "int|" * 900 + "int) -> None", "bad_signature"),
        ("Shop.add: def remove(self) -> None", "name_mismatch"),
        ("load: def save() -> None", "name_mismatch"),
        ("Item: class Thing", "name_mismatch"),
    ],
)
def test_what_is_no_declaration_is_a_failed_check(text: str, code: str) -> None:
    with pytest.raises(SignatureFault) as caught:
        parse_declaration(text)
    assert caught.value.code == code


def test_a_method_without_its_class_belongs_to_the_class_before_it() -> None:
    found = [one for _, one in parse_public_api(["class Shop", "def add(self, x: int) -> None", "def load() -> Shop"])]
    assert [one.name for one in found if isinstance(one, Symbol)] == ["Shop", "Shop.add", "load"]


def test_annotations_name_the_types_that_a_signature_needs() -> None:
    signature = "def f(a: 'Item', *b: list[pd.DataFrame], c: Literal['x'] | None = None) -> dict[str, Shop]"
    assert annotation_names(signature) == {"Item", "list", "pd.DataFrame", "Literal", "dict", "str", "Shop"}
    assert annotation_names("class A(Base, Generic[T])") == {"Base", "Generic", "T"}


def test_untyped_parameters_and_results_show() -> None:
    assert not untyped(parse_declaration("def A.f(self, x: int) -> None")[0])
    assert not untyped(parse_declaration("class A(x: int)")[1])
    assert untyped(parse_declaration("def f(x) -> None")[0])
    assert untyped(parse_declaration("def f(x: int)")[0])


NAME = st.sampled_from(["alpha", "Beta", "_gamma", "delta2"])
TYPE = st.sampled_from(["int", "list[str]", "dict[str, 'Item']", "Path | None", "Callable[[int], str]"])


@settings(max_examples=150, deadline=None, derandomize=True)
@given(NAME, st.lists(st.tuples(st.sampled_from("abcde"), TYPE), unique_by=lambda one: one[0]), TYPE, st.booleans())
def test_a_signature_survives_the_round_trip(
    name: str, given_: list[tuple[str, str]], result: str, member: bool
) -> None:
    parameters = ", ".join(f"{one}: {kind}" for one, kind in given_)
    text = f"def {'Shop.' if member else ''}{name}({parameters}) -> {result}"
    symbol = parse_declaration(text)[0]
    assert symbol.name == f"{'Shop.' if member else ''}{name}"
    assert ast.dump(ast.parse(symbol.signature + ": ...")) == ast.dump(
        ast.parse(f"def {name}({parameters}) -> {result}: ...")
    )
    again = parse_declaration(f"def {symbol.name}{symbol.signature.removeprefix(f'def {name}')}")[0]
    assert again == symbol


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(st.text(max_size=60), st.text("def classDot.()[]:;=@, \n'\"#selfx1*", max_size=60)))
def test_any_text_is_a_symbol_or_a_failed_check(text: str) -> None:
    try:
        symbols = parse_declaration(text, "Last")
    except SignatureFault as fault:
        assert fault.code in ("bad_signature", "name_mismatch")
        return
    for symbol in symbols:
        untyped(symbol)
        annotation_names(symbol.signature)
