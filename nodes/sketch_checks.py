"""The hard checks of a software design sketch (CodeTeam, 3.2.2): a sketch that fails one is recorded and excluded.

Each failed check is named by a code, a place in the sketch and a sentence that says what to change. The codes:

    schema                  a mandatory field is missing or has the wrong type
    language                another language than Python
    no_files, too_many_files
    bad_path, path_clash, path_collision, module_collision, duplicate_path
    not_in_tree, missing_entry
    unknown_owner, duplicate_owner, idle_developer, developer_count
    bad_signature, name_mismatch, conflicting_symbol
    unknown_dependency, unknown_symbol, cycle
    bad_requirement, stdlib_requirement, own_requirement, lookalike_requirement, conflicting_requirement
    layout                  packaging file, package folder, tests or README missing
    echoed_example          the example of the prompt handed back
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import Any

from engine import paths
from engine.mapper import find_cycle
from nodes.contract import module_name
from nodes.sketch_requirements import requirement_faults
from nodes.sketch_signatures import SignatureFault, Symbol, parse_public_api

MOST_FILES = 1000
_MOST_HINTS = 20  # looking for what was meant takes time; nobody reads more
EXAMPLE_PACKAGE = "tidewatch"


@dataclass(frozen=True)
class Check:
    """A failed check. `place` is where in the sketch: "files[3].owner"."""

    code: str
    place: str
    message: str

    def to_json(self) -> dict[str, str]:
        """The check as schemas/candidates.schema.json has it."""
        return asdict(self)


def canonical(path: str) -> str:
    """One spelling per path: NFC, single slashes, no `./` in front. What it cannot mend the path checks refuse."""
    parts = unicodedata.normalize("NFC", path).split("/")
    lead = [""] if path.startswith("/") else []
    return "/".join([*lead, *(part for part in parts if part not in ("", "."))])


def path_fault(path: str) -> str | None:
    """Why a path may not be in a sketch, or None: what may not be written anywhere, or would be read as an option or
    a home folder by a program that it is handed to.
    """
    if found := paths.fault(path) or paths.fault(unicodedata.normalize("NFKC", path)):
        return found
    odd = next((name for name in path.split("/") if name.startswith(("-", "~"))), None)
    return None if odd is None else f"{odd[:100]!r} begins with '{odd[0]}'"


def is_folder(path: str) -> bool:
    """Whether an entry of the tree is a folder, which needs no entry of its own."""
    return path.endswith("/")


def check_sketch(
    sketch: Mapping[str, Any], requirements: str = "", *, given: Sequence[Mapping[str, Any]] | None = None
) -> list[Check]:
    """Every failed check of a sketch that has the right shape (`nodes.sketch.check_json` sees to that).

    requirements  the text of the document, to tell an echo of the example from a task about the same thing
    given         of a part of a project: files of the other parts (path, public_api), which it may depend on
    """
    return list(_Checks(sketch, requirements, given).all())


class _Checks:
    def __init__(self, sketch: Mapping[str, Any], requirements: str, given: Sequence[Mapping[str, Any]] | None) -> None:
        self.sketch, self.requirements, self.part = sketch, requirements, given is not None
        self.files: Sequence[Mapping[str, Any]] = sketch["files"]
        self.paths = [canonical(one["path"]) for one in self.files]
        self.tree = [canonical(one) for one in sketch["repo_tree"] if not is_folder(one)]
        self.given = {canonical(one["path"]): declared_symbols(one) for one in given or ()}
        self.hints = _MOST_HINTS
        self.api: dict[str, dict[str, Symbol]] = dict(self.given)

    def all(self) -> Iterator[Check]:
        language = str(self.sketch["tech_stack"]["language"])
        if not language.strip().lower().startswith("python"):
            yield Check(
                "language", "tech_stack.language", f"'{language[:40]}': only Python projects can be made for now"
            )
        if not self.files:
            yield Check("no_files", "files", "the sketch has no files")
            return
        if max(len(self.files), len(self.sketch["repo_tree"])) > MOST_FILES:
            yield Check("too_many_files", "files", f"{len(self.files)} files; at most {MOST_FILES} are allowed")
            return
        yield from self._paths()
        yield from self._tree()
        yield from self._owners()
        yield from self._interfaces()
        yield from self._dependencies()
        for index, code, message in requirement_faults(self.sketch.get("dependencies", []), _packages(self.paths)):
            yield Check(code, f"dependencies[{index}]", message)
        if not self.part:
            yield from self._layout()
        yield from self._echo()

    def _paths(self) -> Iterator[Check]:
        places = [(f"files[{i}].path", path) for i, path in enumerate(self.paths)]
        listed = set(self.paths)
        raw = [(f"repo_tree[{i}]", canonical(one)) for i, one in enumerate(self.sketch["repo_tree"])]
        for place, path in [*places, *(one for one in raw if one[1] not in listed)]:
            if found := path_fault(path):
                yield Check("bad_path", place, f"'{path[:100]}': {found}")
        if found := paths.clash({*self.paths, *self.tree, *self.given}):
            yield Check("path_clash", "repo_tree", f"'{found}' is a file and the folder of another file")
        yield from self._collisions()

    def _collisions(self) -> Iterator[Check]:
        for path, count in Counter(self.paths).items():
            if count > 1:
                yield Check("duplicate_path", f"files[{self.paths.index(path)}]", f"'{path}' has {count} entries")
        spelled: dict[str, str] = {}
        listed = dict.fromkeys([*self.given, *self.paths, *self.tree])
        for path in dict.fromkeys(part for one in listed for part in (*_folders(one), one)):
            other = spelled.setdefault(unicodedata.normalize("NFKC", path).casefold(), path)
            if other != path and path.rpartition("/")[0] == other.rpartition("/")[0]:
                message = f"'{path[:200]}' and '{other[:200]}' are one file or folder on some systems"
                yield Check("path_collision", "repo_tree", message)
        modules: dict[str, str] = {}
        for path in dict.fromkeys([*self.given, *self.paths]):
            if path.endswith(".py") and not paths.fault(path):
                other = modules.setdefault(module_name(path), path)
                if other != path:
                    yield Check("module_collision", "files", f"'{path}' and '{other}' are imported by one name")

    def _tree(self) -> Iterator[Check]:
        listed, tree = set(self.paths), set(self.tree)
        for index, path in enumerate(self.paths):
            if path not in tree:
                yield Check(
                    "not_in_tree", f"files[{index}].path", f"'{path[:100]}' is not in repo_tree{self._hint(path, tree)}"
                )
        for path in dict.fromkeys(self.tree):
            if path not in listed:
                yield Check("missing_entry", "repo_tree", f"'{path[:100]}' has no entry in files, so nobody owns it")

    def _owners(self) -> Iterator[Check]:
        plan = self.sketch["developer_plan"]
        ids = [one["id"] for one in plan["owners"]]
        for one, count in Counter(ids).items():
            if count > 1:
                yield Check("duplicate_owner", "developer_plan.owners", f"developer {one!r} is listed {count} times")
        if plan["num_developers"] != len(set(ids)):
            message = f"num_developers is {plan['num_developers']}, but {len(set(ids))} developers are listed"
            yield Check("developer_count", "developer_plan.num_developers", message)
        for index, file in enumerate(self.files):
            if file["owner"] not in ids:
                message = f"'{self.paths[index][:100]}' is owned by {file['owner']!r}, who is not in developer_plan"
                yield Check("unknown_owner", f"files[{index}].owner", message)
        owning = {file["owner"] for file in self.files}
        for one in dict.fromkeys(ids):
            if one not in owning:
                yield Check("idle_developer", "developer_plan.owners", f"developer {one!r} owns no file")

    def _interfaces(self) -> Iterator[Check]:
        for index, file in enumerate(self.files):
            symbols = self.api.setdefault(self.paths[index], {})
            for place, found in parse_public_api(file.get("public_api", [])):
                where = f"files[{index}].public_api[{place}]"
                if isinstance(found, SignatureFault):
                    yield Check(found.code, where, str(found))
                    continue
                other = symbols.setdefault(found.name, found)
                if other.signature != found.signature:
                    message = f"'{found.name}' is declared as '{other.signature}' and as '{found.signature}'"
                    yield Check("conflicting_symbol", where, message)

    def _dependencies(self) -> Iterator[Check]:
        graph: dict[str, list[str]] = {path: [] for path in (*self.given, *self.paths)}
        for index, file in enumerate(self.files):
            for number, dependency in enumerate(file.get("depends_on", [])):
                path, _, symbol = dependency.partition("::")
                path = canonical(path)
                where = f"files[{index}].depends_on[{number}]"
                if path not in graph:
                    message = f"'{path[:100]}' is no file of the sketch{self._hint(path, graph)}"
                    yield Check("unknown_dependency", where, message)
                    continue
                if symbol and symbol.strip() not in self.api[path]:
                    message = f"'{path}' exports no '{symbol[:100]}'{self._hint(symbol, self.api[path])}"
                    yield Check("unknown_symbol", where, message)
                if path != self.paths[index]:
                    graph[self.paths[index]].append(path)
        if ring := find_cycle(graph):
            yield Check("cycle", "files", f"files depend on one another in a ring: {' -> '.join(ring)[:300]}")

    def _hint(self, name: str, known: Mapping[str, Any] | set[str]) -> str:
        self.hints -= 1
        close = get_close_matches(name[:200], list(known)[:MOST_FILES], n=1, cutoff=0.75) if self.hints >= 0 else []
        return f"; did you mean '{close[0]}'?" if close else ""

    def _layout(self) -> Iterator[Check]:
        names = set(self.paths)
        packages = [one for one in names if one.endswith("/__init__.py") and not one.startswith(("tests/", "test/"))]
        wanted = {
            "a packaging file at the root: pyproject.toml": bool(names & {"pyproject.toml", "setup.py", "setup.cfg"}),
            "a package: a folder with an __init__.py": bool(packages),
            "tests: a file such as tests/test_core.py": any("test" in one.rpartition("/")[2] for one in names),
            "a README.md at the root": any(one.lower().startswith("readme") for one in names),
        }
        for what, there in wanted.items():
            if not there:
                yield Check("layout", "files", f"the project lacks {what}")

    def _echo(self) -> Iterator[Check]:
        prefix = f"{EXAMPLE_PACKAGE}/"
        if EXAMPLE_PACKAGE in self.requirements.lower():
            return
        if any(path.removeprefix("src/").startswith(prefix) for path in self.paths):
            yield Check(
                "echoed_example", "files", "this is the example of the form; design the project of the requirements"
            )


def declared_symbols(file: Mapping[str, Any]) -> dict[str, Symbol]:
    """What a file's `public_api` declares, by name; unusable declarations are left out."""
    found = (one for _, one in parse_public_api(file.get("public_api", [])))
    return {one.name: one for one in found if isinstance(one, Symbol)}


def _packages(listed: Sequence[str]) -> set[str]:
    """The names that the project's own code is imported by."""
    inner = (path.removeprefix("src/").split("/") for path in listed if path.endswith("/__init__.py"))
    return {parts[0] for parts in inner if len(parts) == 2} - {"tests", "test"}


def _folders(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))
