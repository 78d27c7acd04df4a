"""What can be measured of a sketch, beyond the hard checks: for the CTO's computed criteria, ties and diagnostics."""

from __future__ import annotations

import builtins
import collections.abc
import sys
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from packaging.utils import canonicalize_name

from nodes.contract import is_source, is_test
from nodes.sketch_checks import canonical
from nodes.sketch_requirements import known_packages, package_name
from nodes.sketch_signatures import Symbol, annotation_names, parse_public_api, untyped

_COMMON_TYPES = {
    "ABC", "ArgumentParser", "BytesIO", "ChainMap", "Connection", "Counter", "Cursor", "Decimal", "Element", "Enum",
    "EnumMeta", "Event", "Flag", "Fraction", "Future", "HTTPServer", "IPv4Address", "IntEnum", "IntFlag", "Lock",
    "Logger", "Message", "ModuleType", "Namespace", "OrderedDict", "Path", "Pattern", "Popen", "PurePath",
    "PurePosixPath", "Queue", "RLock", "Random", "Response", "Row", "Semaphore", "SimpleNamespace", "StrEnum",
    "StringIO", "Task", "TestCase", "Thread", "TracebackType", "UUID", "UserDict", "UserList", "ZoneInfo", "date",
    "datetime", "defaultdict", "deque", "time", "timedelta", "timezone", "tzinfo",
}  # fmt: skip
_BUILT_IN = frozenset({*dir(builtins), *typing.__all__, *collections.abc.__all__, *_COMMON_TYPES})
_NO_PACKAGE_NEEDED = ("scripts/", "docs/", "doc/", "examples/", "tests/", "test/", "benchmarks/", "tools/")


@dataclass(frozen=True)
class Measures:
    """Measures of a sketch that passed the hard checks."""

    sketch: Mapping[str, Any]

    @cached_property
    def api(self) -> dict[str, list[Symbol]]:
        """The exported symbols by path."""
        return {
            canonical(file["path"]): [
                one for _, one in parse_public_api(file.get("public_api", [])) if isinstance(one, Symbol)
            ]
            for file in self.sketch["files"]
        }

    @cached_property
    def needs(self) -> dict[str, set[str]]:
        """The other files that each file depends on."""
        return {
            canonical(file["path"]): {canonical(one.partition("::")[0]) for one in file.get("depends_on", [])}
            - {canonical(file["path"])}
            for file in self.sketch["files"]
        }

    @cached_property
    def sources(self) -> list[str]:
        """The Python files that are not tests."""
        return [path for path in self.needs if is_source(path)]

    @property
    def fan_out(self) -> float:
        """Mean number of other source files that a source file depends on."""
        edges = sum(is_source(one) for path in self.sources for one in self.needs[path])
        return round(edges / len(self.sources), 3) if self.sources else 0.0

    @cached_property
    def structure_faults(self) -> tuple[str, ...]:
        """What is allowed, and yet no good structure."""
        return tuple(self._structure_faults())

    @cached_property
    def interface_faults(self) -> tuple[str, ...]:
        """Signatures without types, and types taken from files that are not depended on."""
        return tuple(self._interface_faults())

    @cached_property
    def assumptions(self) -> tuple[str, ...]:
        """What the sketch relies on and declares nowhere: types, a framework that is no dependency."""
        return tuple(dict.fromkeys(self._assumptions()))

    def _structure_faults(self) -> Iterator[str]:
        needed = {one for found in self.needs.values() for one in found}
        for path, found in self.needs.items():
            name = path.rpartition("/")[2]
            if is_test(path) and name.startswith("test_") and not any(is_source(one) for one in found):
                yield f"{path} tests no file"
            if not is_source(path) or name in ("__init__.py", "__main__.py", "setup.py"):
                continue
            if not self.api[path]:
                yield f"{path} exports nothing"
            if len(self.sources) > 2 and path not in needed and not any(is_source(one) for one in found):
                yield f"{path} has nothing to do with any other file"
        folders = {path.rpartition("/")[0] for path in self.sources if not path.startswith(_NO_PACKAGE_NEEDED)}
        for folder in sorted(folders - {"", "src"}):
            if f"{folder}/__init__.py" not in self.needs:
                yield f"{folder}/ has no __init__.py"

    def _interface_faults(self) -> Iterator[str]:
        declared = self._declaring_files()
        for path, symbols in self.api.items():
            own = {one.name.partition(".")[0] for one in symbols}
            for symbol in symbols:
                if untyped(symbol):
                    yield f"{path}: {symbol.name} is not fully typed"
                for name in sorted(annotation_names(symbol.signature) - own - _BUILT_IN):
                    files = declared.get(name, set())
                    if files and not files & self.needs[path]:
                        yield f"{path}: {symbol.name} uses {name} of {min(files)} without depending on it"

    def _assumptions(self) -> Iterator[str]:
        declared = self._declaring_files()
        packages = {package_name(one) for one in self.sketch.get("dependencies", [])}
        for path, symbols in self.api.items():
            for symbol in symbols:
                for name in sorted(annotation_names(symbol.signature) - _BUILT_IN):
                    root = name.partition(".")[0]
                    if not (root in declared or len(root) == 1 or root in sys.stdlib_module_names or "." in name):
                        yield f"{name}, a type of {path}, is declared nowhere"
        framework = canonicalize_name(str(self.sketch["tech_stack"].get("framework", "")).strip().partition(" ")[0])
        if framework in known_packages() and framework not in packages:
            yield f"the framework {framework} is no dependency"

    def _declaring_files(self) -> dict[str, set[str]]:
        declared: dict[str, set[str]] = {}
        for path, symbols in self.api.items():
            for symbol in symbols:
                declared.setdefault(symbol.name, set()).add(path)
        return declared

    @property
    def symbols(self) -> int:
        """How many symbols are exported."""
        return sum(len(one) for one in self.api.values())


def points(faults: Sequence[str], of: int) -> int:
    """Points of a computed criterion: 2 without a fault, 1 when at most a quarter is at fault, else 0."""
    return 2 if not faults else 1 if len(faults) * 4 <= of else 0


def team_points(files: int, developers: int) -> int:
    """How well the size of a team fits: 2 for three to ten files each (or one developer for few), 1 near that."""
    share = files / developers
    if 3 <= share <= 10 or (developers == 1 and files <= 10):
        return 2
    return 1 if 2 <= share <= 15 else 0


def diversity(sets: Sequence[set[str]]) -> float | None:
    """Mean pairwise Jaccard distance, 0 to 1; None for fewer than two sets (CodeTeam, 3.4)."""
    pairs = list(combinations(sets, 2))
    distances = [1 - len(a & b) / len(a | b) if a | b else 0.0 for a, b in pairs]
    return round(sum(distances) / len(pairs), 4) if pairs else None
