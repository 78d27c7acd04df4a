"""The code of a repository as one whole: what a module's name stands for, what a file exports, how classes derive."""

from __future__ import annotations

import ast
import builtins
import enum
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from nodes.annotations import Names
from nodes.contract import Contract, is_test, module_name
from nodes.module_code import Import, ModuleCode, Unparsable, members

_MOST_STEPS = 20  # re-exports and base classes that are followed


class ProjectCode:
    """The written files of a contract's tree. Files that do not parse are in `unparsable`."""

    def __init__(self, contract: Contract, files: Mapping[str, str]) -> None:
        self.contract, self.files = contract, files
        self.modules = contract.modules()
        self.packages = {name.rsplit(".", n)[0] for name in self.modules for n in range(1, name.count(".") + 1)}
        self.tops = {name.partition(".")[0] for name in self.modules}
        self.code: dict[str, ModuleCode] = {}
        self.unparsable: dict[str, Unparsable] = {}
        self._names: dict[str, Names] = {}
        self._members: dict[ast.ClassDef, dict[str, list[ast.AST]]] = {}
        for path, source in files.items():
            if path.endswith(".py"):
                try:
                    self.code[path] = ModuleCode.parse(path, source)
                except Unparsable as fault:
                    self.unparsable[path] = fault

    def module_of(self, path: str, imported: Import) -> str | None:
        """The dotted name of the module that an import in `path` reads from; None beyond the tree's top."""
        if not imported.level:
            return imported.module
        parts = module_name(path).split(".")
        if PurePosixPath(path).name != "__init__.py":
            parts = parts[:-1]
        parts = parts[: len(parts) - imported.level + 1]
        if not parts or imported.level > len(module_name(path).split(".")):
            return None
        return ".".join([*parts, imported.module] if imported.module else parts)

    def is_module(self, dotted: str) -> bool:
        """Whether a dotted name is a module or a package of the tree."""
        return dotted in self.modules or dotted in self.packages

    def beside(self, path: str, dotted: str) -> str | None:
        """The file beside a test that pytest lets it import by its bare name."""
        folder = PurePosixPath(path).parent
        if not is_test(path) or str(folder / "__init__.py") in self.contract.files:
            return None
        return next((one for one in self._spellings(folder, dotted) if one in self.contract.files), None)

    def target(self, path: str, imported: Import) -> str | None:
        """The file of the tree that an import in `path` reads from, if it is one."""
        dotted = self.module_of(path, imported)
        if dotted is None:
            return None
        return self.modules.get(dotted) or self.beside(path, dotted)

    def exports(self, path: str, name: str, steps: int = 0) -> bool:
        """Whether `name` can be imported from a file, or read as an attribute of its module, as it is written."""
        code = self.code.get(path)
        if code is None or code.dynamic or steps > _MOST_STEPS:
            return True
        if name in code.bound or self.is_module(f"{module_name(path)}.{name}"):
            return True
        if name in ("__name__", "__file__", "__doc__", "__path__", "__spec__", "__dict__", "__package__", "__loader__"):
            return True
        for star in code.stars:
            target = self.target(path, star)
            if target is None or (not name.startswith("_") and self.exports(target, name, steps + 1)):
                return True
        return False

    def promised(self, path: str, name: str) -> bool:
        """Whether the contract says that a file exports `name`."""
        return any(one["name"] == name for one in self.contract.files[path]["public_api"])

    def definitions(self, path: str, name: str, steps: int = 0) -> list[tuple[str, ast.AST]]:
        """The nodes that define a name of a module, imports followed, each with its file.

        An import that leads out of the tree is itself the definition.
        """
        code = self.code.get(path)
        if code is None or steps > _MOST_STEPS:
            return []
        found: list[tuple[str, ast.AST]] = []
        for node in code.bound.get(name, ()):
            further = self._imported(path, name, steps) if isinstance(node, ast.ImportFrom) else []
            found += further or [(path, node)]
        if not found:
            for star in code.stars:
                target = self.target(path, star)
                found += self.definitions(target, name, steps + 1) if target else []
        return found

    def member(self, path: str, declared: ast.ClassDef, name: str) -> list[tuple[str, ast.AST]] | None:
        """What defines a class's member, bases followed; None when a foreign base or decorator may define it."""
        found: list[tuple[str, ast.AST]] = []
        unsure = False
        for home, one in self.lineage(path, declared):
            if one is None:
                unsure = True
                continue
            inner = self._members_of(one)
            found = found or [(home, node) for node in inner.get(name, ()) if one is declared or not _abstract(node)]
            unsure = unsure or "__getattr__" in inner or (one is declared and _made_by_decorator(one, name))
        return found or (None if unsure else [])

    def _members_of(self, declared: ast.ClassDef) -> dict[str, list[ast.AST]]:
        if declared not in self._members:
            self._members[declared] = members(declared)
        return self._members[declared]

    def lineage(self, path: str, declared: ast.ClassDef) -> Iterator[tuple[str, ast.ClassDef | None]]:
        """A class and its bases in the tree, each with its file; None for a foreign one."""
        open_: list[tuple[str, ast.ClassDef]] = [(path, declared)]
        seen: set[int] = set()
        while open_ and len(seen) < 200:
            home, one = open_.pop(0)
            if id(one) in seen:
                continue
            seen.add(id(one))
            yield home, one
            for base in one.bases:
                name = _last_name(base)
                nodes = [found for found in self.definitions(home, name) if isinstance(found[1], ast.ClassDef)]
                open_ += nodes  # type: ignore[arg-type]
                if not nodes and name not in ("object", "ABC", "Generic", "Protocol"):
                    yield home, None

    def derives(self, path: str, declared: ast.ClassDef, base: str) -> bool:
        """Whether a class has a base of that name, near or far; true when a foreign base may have it."""
        for home, one in self.lineage(path, declared):
            if one is None:
                continue
            if one is not declared and one.name == base:
                return True
            for text in one.bases:
                name = _last_name(text)
                if name == base or (base == "Generic" and name == "Protocol") or _subclass(name, base):
                    return True
                if not _standard(name) and not self._is_own(home, name):
                    return True
            if base in ("ABC", "Generic") and (one.keywords or getattr(one, "type_params", None)):
                return True
        return False

    def names(self, path: str) -> Names:
        """What the names in a file's annotations stand for."""
        if path not in self._names:
            self._names[path] = self._names_of(self.code[path])
        return self._names[path]

    def _names_of(self, code: ModuleCode) -> Names:
        aliases: dict[str, ast.expr | None] = {}
        for name, nodes in code.bound.items():
            match nodes[0]:
                case ast.Assign(value=ast.Name() | ast.Attribute() | ast.Subscript() | ast.BinOp() as value):
                    aliases[name] = value
                case ast.Assign() | ast.AnnAssign():
                    aliases[name] = getattr(nodes[0], "value", None) if _is_alias(nodes[0]) else None
        for one in code.imports:
            if one.name and one.bound != one.name:
                aliases[one.bound] = ast.Name(one.name)
        return Names({name: value for name, value in aliases.items() if not _names_itself(name, value)}, self._related)

    def _related(self, a: str, b: str) -> bool | None:
        if a not in self._classes or b not in self._classes:
            plain = {a, b} <= self._classes.keys() | set(dir(builtins)) | {"NoneType"}
            return False if plain and {a, b} & self._classes.keys() and not self._foreign({a, b}) else None
        return any(self.derives(*self._classes[one], other) for one, other in ((a, b), (b, a)))

    def _foreign(self, names: set[str]) -> bool:
        """Whether one of the classes may derive from something outside of the tree."""
        own = [self._classes[one] for one in names if one in self._classes]
        return any(one.bases or one.keywords for _, one in own)

    @cached_property
    def _classes(self) -> dict[str, tuple[str, ast.ClassDef]]:
        found = ((path, one) for path, code in self.code.items() for one in code.tree.body)
        return {one.name: (path, one) for path, one in found if isinstance(one, ast.ClassDef)}

    def _is_own(self, path: str, name: str) -> bool:
        return any(isinstance(node, ast.ClassDef) for _, node in self.definitions(path, name))

    def _imported(self, path: str, name: str, steps: int) -> list[tuple[str, ast.AST]]:
        for one in self.code[path].imports:
            if one.bound == name and one.name and (target := self.target(path, one)):
                return self.definitions(target, one.name, steps + 1)
        return []

    @staticmethod
    def _spellings(folder: PurePosixPath, dotted: str) -> list[str]:
        inner = folder.joinpath(*dotted.split("."))
        return [f"{inner}.py", str(inner / "__init__.py")]


def _abstract(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", ())
    return any(_last_name(one) == "abstractmethod" for one in decorators)


def _last_name(expression: ast.expr) -> str:
    match expression:
        case ast.Subscript(value=value):
            return _last_name(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _standard(name: str) -> bool:
    return hasattr(builtins, name) or hasattr(enum, name) or name in ("ABC", "Generic", "Protocol", "NamedTuple")


def _subclass(name: str, base: str) -> bool:
    found = [getattr(builtins, one, None) or getattr(enum, one, None) for one in (name, base)]
    return all(isinstance(one, type) for one in found) and issubclass(*found)  # type: ignore[arg-type]


def _made_by_decorator(declared: ast.ClassDef, name: str) -> bool:
    """Whether a decorator of the class may make the member: a dataclass makes special methods only."""
    for one in declared.decorator_list:
        word = _last_name(one.func if isinstance(one, ast.Call) else one)
        if word != "dataclass" or (name.startswith("__") and name.endswith("__")):
            return word not in ("final", "runtime_checkable", "unique")
    return False


def _is_alias(node: ast.AST) -> bool:
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


def _names_itself(name: str, value: ast.expr | None) -> bool:
    return isinstance(value, ast.Name) and value.id == name
