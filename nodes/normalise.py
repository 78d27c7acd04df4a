"""A valid sketch made into the contract (CodeTeam, 3.2.4): canonical paths, each symbol once, owners and dependencies
as maps that later steps can follow, and a note for each thing that was changed.

It never adds or removes a dependency between files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from engine.mapper import find_cycle
from nodes.requirement_markers import Markers
from nodes.sketch_checks import canonical, is_folder
from nodes.sketch_signatures import SignatureFault, Symbol, parse_public_api


class NormalisationError(ValueError):
    """A sketch that passed the checks and still makes no contract; says why."""


def normalise(sketch: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """The contract of a sketch, as schemas/contract.schema.json has it. `document` gives the markers that exist.

    Raises NormalisationError.
    """
    return _Normalisation(sketch, document).contract()


class _Normalisation:
    def __init__(self, sketch: Mapping[str, Any], document: Mapping[str, Any]) -> None:
        self.sketch, self.markers = sketch, Markers(document)
        self.notes: list[str] = []
        self.paths = [self._path(file["path"]) for file in sketch["files"]]

    def contract(self) -> dict[str, Any]:
        developers = {one["id"]: f"dev-{n}" for n, one in enumerate(self.sketch["developer_plan"]["owners"])}
        for old, new in developers.items():
            if new != f"dev-{old}":
                self.notes.append(f"developer {old!r} is called {new}")
        tree = self._tree()
        needs = {path: self._needs(path, file) for path, file in self._files()}
        self._check_order({path: found[0] for path, found in needs.items()})
        api = {path: self._api(path, file) for path, file in self._files()}
        self._settle_conflicts(api, needs)
        files = [
            {
                "path": path,
                "purpose": " ".join(file["purpose"].split()),
                "public_api": [{"name": one.name, "kind": one.kind, "signature": one.signature} for one in api[path]],
                "depends_on": needs[path][0],
                "uses": needs[path][1],
                "owner": self._owner(file, developers),
                "requirements": self._markers(path, file),
                "order": order,
                "lines": max(0, file.get("lines", 0)),
            }
            for order, (path, file) in enumerate(self._files())
        ]
        return {
            "tech_stack": {name: str(value) for name, value in self.sketch["tech_stack"].items()},
            "repo_tree": tree,
            "dependencies": self._requirements(),
            "developers": list(developers.values()),
            "files": files,
            "notes": self.notes,
        }

    def _files(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        return zip(self.paths, self.sketch["files"], strict=True)

    def _path(self, path: str) -> str:
        found = canonical(path)
        if found != path:
            self.notes.append(f"path '{path}' is written '{found}'")
        return found

    def _tree(self) -> list[str]:
        listed = [one for one in self.sketch["repo_tree"] if not is_folder(one)]
        if len(listed) < len(self.sketch["repo_tree"]):
            self.notes.append("folders are no entries of repo_tree")
        tree = list(dict.fromkeys(canonical(one) for one in listed))
        if len(tree) < len(listed):
            self.notes.append(f"{len(listed) - len(tree)} repeated entries of repo_tree are left out")
        if set(tree) != set(self.paths):
            raise NormalisationError("repo_tree and files do not name the same files")
        return tree

    def _needs(self, path: str, file: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        """The other files that a file depends on, and the symbols of them that it names."""
        files: dict[str, None] = {}
        uses: dict[str, None] = {}
        for dependency in file.get("depends_on", []):
            needed, _, symbol = dependency.partition("::")
            needed = canonical(needed)
            if needed == path:
                self.notes.append(f"'{path}' does not depend on itself")
                continue
            files[needed] = None
            if symbol:
                uses[f"{needed}::{symbol.strip()}"] = None
        return list(files), list(uses)

    def _check_order(self, graph: Mapping[str, list[str]]) -> None:
        unknown = sorted({one for found in graph.values() for one in found} - graph.keys())
        if unknown:
            raise NormalisationError(f"'{unknown[0]}' is depended on and is no file")
        if ring := find_cycle(graph):
            raise NormalisationError(f"files depend on one another in a ring: {' -> '.join(ring)}")

    def _api(self, path: str, file: Mapping[str, Any]) -> list[Symbol]:
        symbols: dict[str, Symbol] = {}
        for _, found in parse_public_api(file.get("public_api", [])):
            if isinstance(found, SignatureFault):
                raise NormalisationError(f"'{path}': {found}")
            if found.name in symbols:
                self.notes.append(f"'{path}': '{found.name}' is declared once")
            owner = found.name.rpartition(".")[0]
            if owner and owner not in symbols:
                symbols[owner] = Symbol(owner, "class", f"class {owner.rpartition('.')[2]}")
                self.notes.append(f"'{path}': 'class {owner}' is declared, since its members are")
            symbols.setdefault(found.name, found)
        return list(symbols.values())

    def _settle_conflicts(self, api: dict[str, list[Symbol]], needs: Mapping[str, tuple[list[str], list[str]]]) -> None:
        """A class that a file declares otherwise than one it depends on is the other's, handed on."""
        for path in TopologicalSorter({path: found[0] for path, found in needs.items()}).static_order():
            given = {one.name: (other, one) for other in reversed(needs[path][0]) for one in api[other]}
            for symbol in list(api[path]):
                other, original = given.get(symbol.name, (path, symbol))
                if symbol.kind != "class" or original.signature == symbol.signature:
                    continue
                if original.kind != "class":
                    raise NormalisationError(
                        f"'{symbol.name}' is a class of '{path}' and none of '{other}', which it uses"
                    )
                members = f"{symbol.name}."
                own = [original if one is symbol else one for one in api[path] if not one.name.startswith(members)]
                api[path] = own
                self.notes.append(f"'{path}' hands '{symbol.name}' of '{other}' on: {original.signature}")

    def _owner(self, file: Mapping[str, Any], developers: Mapping[Any, str]) -> str:
        if file["owner"] not in developers:
            raise NormalisationError(f"'{file['path']}' is owned by {file['owner']!r}, who is no developer")
        return developers[file["owner"]]

    def _markers(self, path: str, file: Mapping[str, Any]) -> list[str]:
        found: dict[str, None] = {}
        for text in file.get("implements", []):
            marker = self.markers.resolve(text)
            if marker is None:
                self.notes.append(f"'{path}': there is no section '{text[:80]}'")
            else:
                found[marker] = None
        return list(found)

    def _requirements(self) -> list[str]:
        found: dict[str, str] = {}
        for text in self.sketch.get("dependencies", []):
            requirement = Requirement(text.strip())
            name = canonicalize_name(requirement.name)
            if name in found:
                self.notes.append(f"dependency '{name}' is listed once")
            requirement.name = name
            found.setdefault(name, str(requirement))
        return list(found.values())
