"""The software design sketch (SDS): read from a model's answer, and checked (CodeTeam, 3.2.2).

A sketch that does not load as JSON, or fails a check, is excluded and recorded; it is never mended.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine import paths
from engine.mapper import find_cycle
from engine.models.conversation import parse_json
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.contract import is_source
from nodes.requirement_names import dependency_fault
from nodes.signatures import Symbol, read_signature

MOST_FILES = 1000
EXAMPLE_PATHS = frozenset({"pyproject.toml", "README.md", "tides/__init__.py", "tides/table.py", "tests/test_table.py"})


@dataclass(frozen=True)
class Check:
    """A failed check: its code, the place in the sketch (`files[3].owner`) and a sentence."""

    code: str
    place: str
    message: str


Sketch = Mapping[str, Any]


@cache
def sketch_schema() -> dict[str, Any]:
    """The JSON Schema that a sketch satisfies, as a model is shown it."""
    schema: dict[str, Any] = json.loads(schema_file("sketch").read_text(encoding="utf-8"))
    del schema["$schema"]
    return schema


def read_sketch(text: str) -> tuple[Sketch | None, list[Check]]:
    """The sketch in an answer and its failed checks; None if it does not load as JSON (C1a)."""
    try:
        data = parse_json(text)
    except ValueError as error:
        return None, [Check("not_json", "", f"the answer does not load as JSON: {error}")]
    if not isinstance(data, dict):
        return None, [Check("not_json", "", "the answer is no JSON object")]
    return data, check_sketch(data)


def check_sketch(data: Mapping[str, Any]) -> list[Check]:
    """Every failed check of a sketch (C1b); empty if it is valid. Any plain data may be given."""
    faults = schema_faults(data, sketch_schema())
    if faults:
        return [Check("shape", fault.partition(":")[0].removeprefix("$."), fault) for fault in faults]
    found = [*_stack(data), *_paths(data), *_entries(data), *_owners(data), *_symbols(data), *_dependencies(data)]
    return found or [*_uses(data), *_graph(data)]


def symbols_of(entry: Mapping[str, Any]) -> list[Symbol]:
    """The symbols that a file entry exports. Raises ValueError for a signature that does not parse."""
    return [read_signature(text) for text in entry["public_api"]]


def path_of(dependency: str) -> str:
    """The path of a `depends_on` value, which is `path` or `path::Symbol`."""
    return dependency.partition("::")[0]


def _stack(data: Sketch) -> Iterator[Check]:
    language = data["tech_stack"]["language"]
    if not language.strip().lower().startswith("python"):
        yield Check("language", "tech_stack.language", f"only Python projects can be built so far, not '{language}'")


def _paths(data: Sketch) -> Iterator[Check]:
    tree: Sequence[str] = data["repo_tree"]
    if len(tree) > MOST_FILES:
        yield Check("too_many_files", "repo_tree", f"{len(tree)} files are more than the {MOST_FILES} that are allowed")
        return
    seen: dict[str, str] = {}
    for index, path in enumerate(tree):
        place = f"repo_tree[{index}]"
        if why := paths.fault(path):
            yield Check("bad_path", place, f"'{path}': {why}")
        folded = unicodedata.normalize("NFC", path).casefold()
        if seen.setdefault(folded, path) != path:
            yield Check("path_collision", place, f"'{path}' and '{seen[folded]}' are one file on some systems")
        elif list(tree).index(path) != index:
            yield Check("duplicate_path", place, f"'{path}' is listed twice")
    if inside := paths.clash(set(tree)):
        yield Check("path_collision", "repo_tree", f"'{inside}' is both a file and a folder")
    if frozenset(tree) == EXAMPLE_PATHS:
        yield Check("echoed_example", "repo_tree", "this is the example of form, not a design for the document")
    if not any(is_source(path) for path in tree):
        yield Check("no_source", "repo_tree", "there is no Python source file")


def _entries(data: Sketch) -> Iterator[Check]:
    tree, seen = set(data["repo_tree"]), set()
    for index, entry in enumerate(data["files"]):
        if entry["path"] not in tree:
            yield Check("not_in_tree", f"files[{index}].path", f"'{entry['path']}' is not in repo_tree")
        if entry["path"] in seen:
            yield Check("duplicate_entry", f"files[{index}].path", f"'{entry['path']}' has two entries")
        seen.add(entry["path"])
    for path in data["repo_tree"]:
        if path not in seen:
            yield Check("no_entry", "files", f"'{path}' is in repo_tree and has no entry in files")


def _owners(data: Sketch) -> Iterator[Check]:
    plan = data["developer_plan"]
    known = [owner["id"] for owner in plan["owners"]]
    if len(set(known)) != len(known):
        yield Check("duplicate_owner", "developer_plan.owners", "two owners have the same id")
    if plan["num_developers"] != len(known) or not known:
        count = plan["num_developers"]
        yield Check("developer_count", "developer_plan.num_developers", f"it says {count}, owners lists {len(known)}")
    for index, entry in enumerate(data["files"]):
        if entry["owner"] not in known:
            message = f"'{entry['path']}' is owned by {entry['owner']}, who is not in developer_plan"
            yield Check("unknown_owner", f"files[{index}].owner", message)
    for owner in known:
        if all(entry["owner"] != owner for entry in data["files"]):
            yield Check("idle_developer", "developer_plan.owners", f"developer {owner} owns no file")


def _symbols(data: Sketch) -> Iterator[Check]:
    for index, entry in enumerate(data["files"]):
        declared: dict[str, str] = {}
        for number, text in enumerate(entry["public_api"]):
            place = f"files[{index}].public_api[{number}]"
            try:
                symbol = read_signature(text)
            except ValueError as error:
                yield Check("bad_signature", place, str(error))
                continue
            if symbol.name in declared:
                why = "twice" if declared[symbol.name] == symbol.signature else "in two different ways"
                yield Check("duplicate_symbol", place, f"'{entry['path']}' declares '{symbol.name}' {why}")
            declared[symbol.name] = symbol.signature
        for name in declared:
            owner = name.rpartition(".")[0]
            if owner and owner not in declared:
                message = f"'{entry['path']}' declares '{name}' and no class '{owner}'"
                yield Check("no_class", f"files[{index}].public_api", message)


def _dependencies(data: Sketch) -> Iterator[Check]:
    for index, text in enumerate(data["dependencies"]):
        if why := dependency_fault(text, sys.stdlib_module_names):
            yield Check("bad_dependency", f"dependencies[{index}]", f"'{text}': {why}")


def _uses(data: Sketch) -> Iterator[Check]:
    exported = {entry["path"]: {one.name for one in symbols_of(entry)} for entry in data["files"]}
    for index, entry in enumerate(data["files"]):
        for number, needed in enumerate(entry["depends_on"]):
            place = f"files[{index}].depends_on[{number}]"
            path, _, symbol = needed.partition("::")
            if path not in exported:
                yield Check(
                    "unknown_dependency", place, f"'{entry['path']}' depends on '{path}', which is no file here"
                )
            elif symbol and symbol not in exported[path]:
                has = ", ".join(sorted(exported[path])) or "nothing"
                yield Check("unknown_symbol", place, f"'{path}' exports no '{symbol}'; it exports {has}")


def _graph(data: Sketch) -> Iterator[Check]:
    needs = {
        entry["path"]: [path for path in map(path_of, entry["depends_on"]) if path != entry["path"]]
        for entry in data["files"]
    }
    if cycle := find_cycle(needs):
        yield Check("cycle", "files", f"files depend on one another in a circle: {' -> '.join(cycle)}")
