"""Questions to the contract, the normalised sketch: who depends on whom, in what order, with what priority."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from graphlib import TopologicalSorter
from pathlib import PurePosixPath
from typing import Any

FileEntry = Mapping[str, Any]


class Contract:
    """A view of the contract as schemas/contract.schema.json has it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.files: dict[str, FileEntry] = {entry["path"]: entry for entry in data["files"]}

    @cached_property
    def dependents(self) -> dict[str, list[str]]:
        """The files that depend directly on each file, in the sketch's order."""
        found: dict[str, list[str]] = {path: [] for path in self.files}
        for path, entry in self.files.items():
            for needed in entry["depends_on"]:
                found[needed].append(path)
        return found

    @cached_property
    def order(self) -> list[str]:
        """All paths, each after what it depends on; among equals the sketch's order."""
        sorter = TopologicalSorter({path: entry["depends_on"] for path, entry in self.files.items()})
        sorter.prepare()
        ordered: list[str] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready(), key=lambda path: self.files[path]["order"])
            ordered += ready
            sorter.done(*ready)
        return ordered

    @cached_property
    def depth(self) -> dict[str, int]:
        """The length of the longest chain of dependents below each file."""
        depth: dict[str, int] = {}
        for path in reversed(self.order):
            depth[path] = max((depth[one] + 1 for one in self.dependents[path]), default=0)
        return depth

    def priority(self, path: str) -> list[int]:
        """`(depth, fanout, -order)`, the greatest first (CodeTeam, Algorithm 1)."""
        return [self.depth[path], len(self.dependents[path]), -self.files[path]["order"]]

    def sorted(self, paths: Iterable[str]) -> list[str]:
        """Paths in dependency order."""
        place = {path: index for index, path in enumerate(self.order)}
        return sorted(paths, key=lambda path: place[path])

    def is_testable(self, path: str) -> bool:
        """Whether QA writes tests of a file: it is source and exports something."""
        return is_source(path) and bool(self.files[path]["public_api"])

    def relies_on(self, path: str, others: Collection[str]) -> bool:
        """Whether a file is, or needs, directly or not, one of `others`."""
        seen, open_ = set(), [path]
        while open_:
            one = open_.pop()
            if one in others:
                return True
            if one not in seen:
                seen.add(one)
                open_ += self.files[one]["depends_on"]
        return False

    def modules(self) -> dict[str, str]:
        """Importable dotted names of the tree's Python files, `src/` layouts included, with their paths."""
        names: dict[str, str] = {}
        for path in self.files:
            if path.endswith(".py"):
                names.setdefault(module_name(path), path)
        return names


def module_name(path: str) -> str:
    """The dotted name under which a path of the tree is imported."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[0] == "src" and len(parts) > 1:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)


def is_test(path: str) -> bool:
    """Whether a path is one of the repository's own tests or belongs to them."""
    name = PurePosixPath(path).name
    return "tests" in PurePosixPath(path).parts[:-1] or name.startswith("test_") or name == "conftest.py"


def is_source(path: str) -> bool:
    """Whether a path is Python that is not a test."""
    return path.endswith(".py") and not is_test(path)
