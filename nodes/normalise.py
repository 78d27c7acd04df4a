"""From an adopted sketch to the contract: canonical, without conflicts, with owners and file graph (CodeTeam, 3.2.4).

What is changed is noted in the contract. Normalising a contract's own sketch again changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from nodes.sketch import check_sketch, path_of, symbols_of


class NormalisationError(ValueError):
    """A sketch that cannot become a contract."""


def normalise(sketch: Mapping[str, Any], markers: Collection[str]) -> dict[str, Any]:
    """The contract of a valid sketch. `markers` are the document's sections. Raises NormalisationError."""
    notes: list[str] = []
    renamed = _renamed(sketch, notes)
    failed = check_sketch(renamed)
    if failed:
        raise NormalisationError("; ".join(one.message for one in failed))
    developers = {owner["id"]: f"dev-{number}" for number, owner in enumerate(_by_id(renamed))}
    files = [
        _file(entry, order, developers, markers, notes) for order, entry in enumerate(_in_tree_order(renamed, notes))
    ]
    return {
        "tech_stack": dict(renamed["tech_stack"]),
        "repo_tree": [entry["path"] for entry in files],
        "dependencies": _unique(renamed["dependencies"], "dependency", notes),
        "developers": list(developers.values()),
        "files": files,
        "notes": notes,
    }


def canonical_path(path: str) -> str:
    """A path without `./` and doubled slashes."""
    return str(PurePosixPath(path))


def _renamed(sketch: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """The sketch with canonical paths and unique symbols."""

    def canonical(path: str) -> str:
        clean = canonical_path(path)
        if clean != path:
            notes.append(f"path '{path}' is written '{clean}'")
        return clean

    def needs(dependency: str) -> str:
        path, colons, symbol = dependency.partition("::")
        return canonical_path(path) + colons + symbol

    files = [
        {
            **entry,
            "path": canonical_path(entry["path"]),
            "public_api": _unique(entry["public_api"], f"symbol of {entry['path']}", notes),
            "depends_on": list(dict.fromkeys(needs(one) for one in entry["depends_on"])),
        }
        for entry in sketch["files"]
    ]
    return {**sketch, "repo_tree": list(dict.fromkeys(map(canonical, sketch["repo_tree"]))), "files": files}


def _file(
    entry: Mapping[str, Any], order: int, developers: Mapping[int, str], markers: Collection[str], notes: list[str]
) -> dict[str, Any]:
    path = entry["path"]
    others = [one for one in entry["depends_on"] if path_of(one) != path]
    if len(others) < len(entry["depends_on"]):
        notes.append(f"'{path}' does not depend on itself")
    unknown = [one for one in entry["implements"] if one not in markers]
    notes += [f"'{path}' implements '{one}', which is no section of the document" for one in unknown]
    return {
        "path": path,
        "purpose": entry["purpose"],
        "public_api": [{"name": one.name, "kind": one.kind, "signature": one.signature} for one in symbols_of(entry)],
        "depends_on": list(dict.fromkeys(path_of(one) for one in others)),
        "uses": [one for one in others if "::" in one],
        "owner": developers[entry["owner"]],
        "requirements": list(dict.fromkeys(one for one in entry["implements"] if one in markers)),
        "order": order,
        "lines": max(entry["lines"], 0),
    }


def _in_tree_order(sketch: Mapping[str, Any], notes: list[str]) -> list[Mapping[str, Any]]:
    entries = {entry["path"]: entry for entry in sketch["files"]}
    ordered = [entries[path] for path in sketch["repo_tree"]]
    if ordered != list(sketch["files"]):
        notes.append("files stand in the order of the tree")
    return ordered


def _by_id(sketch: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return sorted(sketch["developer_plan"]["owners"], key=lambda owner: owner["id"])


def _unique(values: list[str], what: str, notes: list[str]) -> list[str]:
    kept = list(dict.fromkeys(" ".join(value.split()) for value in values))
    if len(kept) < len(values):
        notes.append(f"{what}: {len(values) - len(kept)} doubled and written once")
    return kept
