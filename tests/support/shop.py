"""A small project, its contract, and a scripted model that writes it with one mistake which QA finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.models.base import Request
from engine.node import node
from engine.places import read_place
from tests.support.contracts import make_contract

CONTRACT = make_contract(
    {
        "shop/__init__.py": [],
        "shop/price.py": [],
        "shop/cart.py": ["shop/price.py"],
        "tests/test_cart.py": ["shop/cart.py"],
        "README.md": [],
    },
    {
        "shop/price.py": [("with_tax", "def with_tax(cents: int) -> int")],
        "shop/cart.py": [
            ("Cart", "class Cart: ..."),
            ("Cart.add", "def add(self, cents: int) -> None"),
            ("Cart.total", "def total(self) -> int"),
        ],
    },
    {"shop/cart.py": "dev-1", "tests/test_cart.py": "dev-1"},
)
WRONG_PRICE = "def with_tax(cents: int) -> int:\n    return cents * 2\n"
RIGHT_PRICE = "def with_tax(cents: int) -> int:\n    return cents + cents // 5\n"
CART = """\
from shop.price import with_tax


class Cart:
    def __init__(self) -> None:
        self.items: list[int] = []

    def add(self, cents: int) -> None:
        self.items.append(cents)

    def total(self) -> int:
        return with_tax(sum(self.items))
"""
TEST_CART = """\
from shop.cart import Cart


def test_total():
    cart = Cart()
    cart.add(100)
    assert cart.total() == 120
"""
FILES = {
    "shop/__init__.py": "",
    "shop/price.py": WRONG_PRICE,
    "shop/cart.py": CART,
    "tests/test_cart.py": TEST_CART,
    "README.md": "# Shop\n\nUse it like this:\n\n```python\nCart()\n```\n",
}
QA_TESTS = {
    "shop/price.py": "from shop.price import with_tax\n\n\ndef test_tax():\n    assert with_tax(100) == 120\n",
    "shop/cart.py": "from shop.cart import Cart\n\n\ndef test_empty():\n    assert Cart().total() == 0\n",
}


@node(writes=("contract", "document"))
async def given_contract(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The contract and the document, as planning would have left them."""
    section = {"marker": "tax", "heading": "Tax", "level": 1, "text": "# Tax\n\n20 percent {on} top of ${price}."}
    document = {
        "title": "Shop",
        "text": section["text"],
        "sections": [section],
        "dropped": [],
        "states_requirements": True,
    }
    return {"contract": CONTRACT, "document": document}


def answer(request: Request) -> str:
    """What a model would say: wrong about the tax at first, right after QA's finding."""
    place = read_place(request.place)
    assert place.item is not None
    kind, _, tested = place.item.partition(":")
    if kind == "test":
        return f"```python\n{QA_TESTS[tested]}```"
    mended = place.item == "shop/price.py" and "What QA found" in request.messages[-1].content
    content = RIGHT_PRICE if mended else FILES[place.item]
    fence = "````" if place.item.endswith(".md") else "```"
    return f"Here is the file.\n\n{fence}\n{content}{fence}\n"
