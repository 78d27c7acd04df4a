"""The package plan of a large project: its checks, the checks of one package's files, and the sketch that they make.

A sketch of over a hundred files does not fit into one answer. So the packages come first, with what each promises the
others; then the files of each, side by side. A package may use what others promised and nothing else, and the packages
form no ring, so that what fits the plan fits together.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

from engine import paths
from engine.mapper import find_cycle
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.sketch import loosened, sketch_schema
from nodes.sketch_checks import MOST_FILES, Check, check_sketch, declared_symbols
from nodes.sketch_checks import canonical as canonical_path

ROOT = "."
MOST_PACKAGES = 60
_PER_FILE = 12  # declarations in a file, about
_PATH = re.compile(r"[\w./-]++")
_BRANCH = re.compile(r"^[ \t│|]{0,60}[├└|`+\\][^\w\n]{0,60}\w[\w-]{0,100}\.pyi?\b", re.MULTILINE)
_DECLARATION = re.compile(r"^[ \t]*(?:async[ \t]+def|def|class)[ \t]+\w+[ \t]*[(:]", re.MULTILINE)


def expected_files(document: Mapping[str, Any]) -> int:
    """How many files the requirements ask for, as far as they say: Python files named, or declarations to hold."""
    text = str(document["text"])
    named = {one.rstrip(".").removeprefix("./") for one in _PATH.findall(text)}
    named = {one for one in named if one.endswith((".py", ".pyi"))}
    return max(len(named), len(_BRANCH.findall(text)), len(_DECLARATION.findall(text)) // _PER_FILE)


class Packages:
    """A plan that has the right shape (schemas/packages.schema.json)."""

    def __init__(self, plan: Mapping[str, Any], requirements: str = "") -> None:
        self.plan, self.requirements = plan, requirements
        self.entries: Sequence[Mapping[str, Any]] = plan["packages"]
        self._needs = {one["name"]: list(one["depends_on"]) for one in self.entries}
        self._folders = {_folder(folder): one["name"] for one in self.entries for folder in one["folders"]}

    @property
    def files(self) -> int:
        """How many files the plan expects."""
        return sum(max(0, one["files"]) for one in self.entries)

    def package_of(self, path: str) -> str | None:
        """The package that a path belongs to: the one with the longest folder above it."""
        parts = canonical_path(path).split("/")
        above = ("/".join(parts[:end]) for end in range(len(parts) - 1, 0, -1))
        return next((self._folders[one] for one in above if one in self._folders), self._folders.get(ROOT))

    def reachable(self, name: str) -> set[str]:
        """The packages that a package depends on, directly or not."""
        found: set[str] = set()
        waiting = list(self._needs[name])
        while waiting:
            if (one := waiting.pop()) not in found:
                found.add(one)
                waiting += self._needs[one]
        return found

    @cached_property
    def faults(self) -> list[Check]:
        """Every failed check of the plan."""
        return list(self._faults())

    def _faults(self) -> Iterator[Check]:
        if not self.entries:
            yield Check("no_packages", "packages", "the plan has no packages")
            return
        if len(self.entries) > MOST_PACKAGES:
            message = f"{len(self.entries)} packages; at most {MOST_PACKAGES} are allowed"
            yield Check("too_many_packages", "packages", message)
            return
        if self.files > MOST_FILES:
            yield Check("too_many_files", "packages", f"{self.files} files; at most {MOST_FILES} are allowed")
        for name, count in Counter(one["name"] for one in self.entries).items():
            if count > 1 or not name.strip():
                yield Check("duplicate_package", "packages", f"the name {name[:100]!r} is empty or given {count} times")
        yield from self._folder_faults()
        yield from self._order_faults()
        yield from self._promise_faults()

    def _folder_faults(self) -> Iterator[Check]:
        spelled: dict[str, str] = {}
        for index, one in enumerate(self.entries):
            if not one["folders"]:
                yield Check("no_folder", f"packages[{index}].folders", f"package '{one['name'][:100]}' has no folder")
            for number, folder in enumerate(map(_folder, one["folders"])):
                place = f"packages[{index}].folders[{number}]"
                if folder != ROOT and (found := paths.fault(folder)):
                    yield Check("bad_path", place, f"'{folder[:100]}': {found}")
                key = unicodedata.normalize("NFKC", folder).casefold()
                other = spelled.setdefault(key, one["name"])
                if other != one["name"]:
                    message = f"'{folder[:100]}' is a folder of '{other[:100]}' too; each belongs to one package"
                    yield Check("shared_folder", place, message)
        if ROOT not in spelled:
            yield Check("no_root", "packages", "no package has the folder '.', to which pyproject.toml belongs")

    def _order_faults(self) -> Iterator[Check]:
        for index, one in enumerate(self.entries):
            for number, needed in enumerate(one["depends_on"]):
                if needed not in self._needs:
                    place = f"packages[{index}].depends_on[{number}]"
                    yield Check("unknown_package", place, f"there is no package '{needed[:100]}'")
        known = {name: [one for one in needs if one in self._needs] for name, needs in self._needs.items()}
        if ring := find_cycle(known):
            yield Check("cycle", "packages", f"packages depend on one another in a ring: {' -> '.join(ring)[:300]}")

    def _promise_faults(self) -> Iterator[Check]:
        places = [
            f"packages[{index}].interface[{number}]"
            for index, one in enumerate(self.entries)
            for number in range(len(one["interface"]))
        ]
        promised = [(one["name"], file) for one in self.entries for file in one["interface"]]
        for place, (name, file) in zip(places, promised, strict=True):
            if self.package_of(file["path"]) != name:
                message = f"'{file['path'][:100]}' is in no folder of '{name[:100]}'"
                yield Check("foreign_path", place, message)
        files = [{"path": file["path"], "public_api": file["public_api"]} for _, file in promised]
        files = [{**one, "purpose": "", "owner": 0} for one in files or [{"path": "pyproject.toml"}]]
        for check in check_sketch(self._sketch(files, [{"id": 0}]), self.requirements, given=[]):
            found = re.match(r"files\[(\d+)\](?:\.path)?", check.place)
            place = places[int(found[1])] + check.place[found.end() :] if found else check.place
            yield Check(check.code, place, check.message)

    def _sketch(self, files: Sequence[Mapping[str, Any]], owners: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {
            "tech_stack": self.plan["tech_stack"],
            "repo_tree": [one["path"] for one in files],
            "dependencies": self.plan["dependencies"],
            "developer_plan": {"num_developers": len(owners), "owners": list(owners)},
            "files": list(files),
        }

    def part_faults(self, name: str, part: Mapping[str, Any]) -> Iterator[Check]:
        """Every failed check of one package's files, which have the right shape (`part_schema`)."""
        files = part["files"]
        others = [file for one in self.entries if one["name"] != name for file in one["interface"]]
        sketch = {**self._sketch(files, []), "dependencies": [], "developer_plan": part["developer_plan"]}
        yield from check_sketch(sketch, self.requirements, given=others)
        usable = {name, *self.reachable(name)}
        for index, file in enumerate(files):
            if self.package_of(file["path"]) != name:
                message = f"'{file['path'][:100]}' is in no folder of this package"
                yield Check("foreign_path", f"files[{index}].path", message)
            for number, needed in enumerate(file.get("depends_on", [])):
                owner = self.package_of(needed.partition("::")[0])
                if owner is not None and owner not in usable:
                    message = f"'{needed[:100]}' is of package '{owner}', on which this one does not depend in the plan"
                    yield Check("unplanned_dependency", f"files[{index}].depends_on[{number}]", message)
        yield from self._broken_promises(name, files)

    def _broken_promises(self, name: str, files: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
        declared = {canonical_path(file["path"]): declared_symbols(file) for file in files}
        for promise in next(one for one in self.entries if one["name"] == name)["interface"]:
            path = canonical_path(promise["path"])
            if path not in declared:
                yield Check(
                    "broken_promise", "files", f"'{path}' is promised in the plan and is no file of the package"
                )
                continue
            for symbol in declared_symbols(promise).values():
                found = declared[path].get(symbol.name)
                if found is None or found.signature != symbol.signature:
                    said = f"declared as '{found.signature}'" if found else "missing"
                    message = f"'{path}' promises '{symbol.signature}' as {symbol.name} in the plan; here it is {said}"
                    yield Check("broken_promise", "files", message)

    def joined(self, parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """The sketch that the packages' files make, in the plan's order; developers are numbered through."""
        files: list[dict[str, Any]] = []
        owners: list[dict[str, Any]] = []
        for name in (one["name"] for one in self.entries):
            numbers = {one["id"]: len(owners) + n for n, one in enumerate(parts[name]["developer_plan"]["owners"])}
            for one in parts[name]["developer_plan"]["owners"]:
                owners.append({**one, "id": numbers[one["id"]]})
            files += ({**file, "owner": numbers.get(file["owner"], file["owner"])} for file in parts[name]["files"])
        return self._sketch(files, owners)

    def text(self) -> str:
        """The plan as the architects of its packages read it."""
        lines = [f"dependencies: {', '.join(self.plan['dependencies']) or 'none'}"]
        for one in self.entries:
            lines.append(f"## {one['name']}: {', '.join(one['folders'])} (about {one['files']} files)")
            lines.append(" ".join(one["purpose"].split()))
            for name in ("depends_on", "implements"):
                if one[name]:
                    lines.append(f"{name.replace('_', ' ')}: {', '.join(one[name])}")
            for file in one["interface"]:
                lines += [f"### {file['path']}", *(f"    {declared}" for declared in file["public_api"])]
        return "\n".join(lines)


def plan_faults(data: Any, requirements: str = "") -> list[Check]:
    """The failed checks of any JSON at all as a plan."""
    faults = schema_faults(data, plan_schema())
    return [Check("schema", "", one) for one in faults] if faults else Packages(data, requirements).faults


def part_shape_faults(data: Any) -> list[Check]:
    """What in any JSON at all is not the shape of one package's files."""
    return [Check("schema", "", one) for one in schema_faults(data, loosened(part_schema()))]


@cache
def plan_schema() -> Mapping[str, Any]:
    """The schema of a plan."""
    schema: dict[str, Any] = json.loads(schema_file("packages").read_text(encoding="utf-8"))
    return {name: value for name, value in schema.items() if name not in ("$schema", "description")}


@cache
def part_schema() -> Mapping[str, Any]:
    """The schema of one package's files: the part of a sketch that is not of the whole project."""
    whole = sketch_schema()
    names = ("developer_plan", "files")
    return {**whole, "required": list(names), "properties": {name: whole["properties"][name] for name in names}}


def _folder(folder: str) -> str:
    return canonical_path(folder.rstrip("/")) or ROOT
