"""Small contracts for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def make_contract(
    depends_on: Mapping[str, Sequence[str]],
    api: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    owners: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A contract from the dependency relation, `(name, signature)` pairs by path, and owners by path."""
    api, owners = api or {}, owners or {}
    files = [
        {
            "path": path,
            "purpose": f"purpose of {path}",
            "public_api": [
                {"name": name, "kind": _kind(signature), "signature": signature}
                for name, signature in api.get(path, ())
            ],
            "depends_on": list(needed),
            "uses": [],
            "owner": owners.get(path, "dev-0"),
            "requirements": [],
            "order": order,
        }
        for order, (path, needed) in enumerate(depends_on.items())
    ]
    return {
        "tech_stack": {"language": "Python"},
        "repo_tree": list(depends_on),
        "dependencies": [],
        "developers": sorted({one["owner"] for one in files}),
        "files": files,
        "notes": [],
    }


def _kind(signature: str) -> str:
    if "class " in signature:
        return "class"
    return "function" if "def " in signature else "constant"
