"""A small valid sketch for tests."""

from __future__ import annotations

from typing import Any

GOOD: dict[str, Any] = {
    "tech_stack": {"language": "Python", "framework": "none", "test": "pytest"},
    "repo_tree": ["shop/__init__.py", "shop/price.py", "shop/cart.py", "README.md"],
    "dependencies": [],
    "developer_plan": {"num_developers": 2, "owners": [{"id": 0, "focus": "prices"}, {"id": 1, "focus": "carts"}]},
    "files": [
        {
            "path": "shop/__init__.py",
            "purpose": "marks the package",
            "public_api": [],
            "depends_on": [],
            "owner": 0,
            "implements": [],
            "lines": 1,
        },
        {
            "path": "shop/price.py",
            "purpose": "prices with tax",
            "public_api": ["def with_tax(cents: int) -> int"],
            "depends_on": [],
            "owner": 0,
            "implements": ["tax", "nowhere"],
            "lines": 10,
        },
        {
            "path": "shop/cart.py",
            "purpose": "what a customer wants",
            "public_api": ["class Cart", "def Cart.add(self, cents: int) -> None"],
            "depends_on": ["shop/price.py::with_tax"],
            "owner": 1,
            "implements": ["tax"],
            "lines": 20,
        },
        {
            "path": "README.md",
            "purpose": "how to use it",
            "public_api": [],
            "depends_on": [],
            "owner": 0,
            "implements": [],
            "lines": 20,
        },
    ],
}


def entry(sketch: dict[str, Any], path: str) -> dict[str, Any]:
    """A file's entry."""
    found: dict[str, Any] = next(one for one in sketch["files"] if one["path"] == path)
    return found
