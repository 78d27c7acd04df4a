"""A sketch that passes every check, for tests to bend."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

_FILES: list[dict[str, Any]] = [
    {"path": "pyproject.toml", "purpose": "Packaging.", "owner": 0, "lines": 20},
    {"path": "README.md", "purpose": "How to use it.", "owner": 1, "lines": 30},
    {"path": "shop/__init__.py", "purpose": "The package.", "owner": 0, "lines": 2},
    {
        "path": "shop/items.py",
        "purpose": "Items and where they are kept.",
        "public_api": [
            "@dataclass class Item: name: str; price: float = 0.0",
            "class Inventory",
            "def Inventory.add(self, item: Item) -> None",
            "def Inventory.total(self) -> float",
        ],
        "owner": 0,
        "implements": ["items"],
        "lines": 60,
    },
    {
        "path": "shop/cli.py",
        "purpose": "The command.",
        "public_api": ["def main(argv: list[str] | None = None) -> int"],
        "depends_on": ["shop/items.py::Inventory", "shop/items.py::Item"],
        "owner": 1,
        "implements": ["command"],
        "lines": 50,
    },
    {
        "path": "tests/test_items.py",
        "purpose": "Tests the inventory.",
        "depends_on": ["shop/items.py::Inventory.add"],
        "owner": 1,
        "lines": 40,
    },
]


def make_sketch(**changes: Any) -> dict[str, Any]:
    """A valid sketch of a small shop, its top-level fields replaced by `changes`."""
    sketch: dict[str, Any] = {
        "tech_stack": {"language": "Python", "framework": "none", "test": "pytest"},
        "repo_tree": [file["path"] for file in _FILES],
        "dependencies": ["rich>=13"],
        "developer_plan": {
            "num_developers": 2,
            "owners": [{"id": 0, "focus": "items"}, {"id": 1, "focus": "command and tests"}],
        },
        "files": [{"public_api": [], "depends_on": [], "implements": [], **copy.deepcopy(file)} for file in _FILES],
    }
    return {**sketch, **changes}


def with_file(path: str, /, sketch: Mapping[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A valid sketch whose file `path` is changed, or added if it is new (to the tree as well)."""
    changed = copy.deepcopy(dict(sketch or make_sketch()))
    for file in changed["files"]:
        if file["path"] == path:
            file.update(changes)
            return changed
    new = {
        "path": path,
        "purpose": "New.",
        "public_api": [],
        "depends_on": [],
        "implements": [],
        "owner": 0,
        "lines": 1,
    }
    changed["files"].append({**new, **changes})
    changed["repo_tree"].append(path)
    return changed


def make_document(*headings: str) -> dict[str, Any]:
    """A document with one section per heading."""
    sections = [{"marker": "shop", "heading": "Shop", "level": 1, "text": "# Shop {#shop}\n\nSells things."}]
    for heading in headings or ("Items", "Command"):
        marker = heading.lower()
        text = f"## {heading} {{#{marker}}}\n\nIt must work."
        sections.append({"marker": marker, "heading": heading, "level": 2, "text": text})
    return {
        "title": "Shop",
        "text": "\n\n".join(str(one["text"]) for one in sections) + "\n",
        "sections": sections,
        "dropped": [],
        "states_requirements": True,
    }
