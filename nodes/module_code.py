"""What a Python file binds and imports, read from its code: names of the module, members of its classes, imports."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Unparsable(ValueError):
    """Code that is no Python; `line` counts from 1, 0 where it is not known."""

    def __init__(self, message: str, line: int) -> None:
        self.line = line
        super().__init__(message)


@dataclass(frozen=True)
class Import:
    """One imported name.

    module    as written, without dots in front; `level` is their number
    name      what is taken from the module; None for `import module`, "*" for all of it
    bound     the name that it gets
    guarded   it may fail, or is not made, in some places: in `try`, under TYPE_CHECKING, a version or a platform
    late      it is made when a function runs, not when the module is loaded, or for type checkers only
    """

    module: str
    level: int
    name: str | None
    bound: str
    line: int
    guarded: bool
    late: bool


@dataclass(frozen=True)
class ModuleCode:
    """A parsed file. Raises Unparsable through `parse`."""

    path: str
    tree: ast.Module
    bound: dict[str, list[ast.AST]] = field(default_factory=dict)

    @staticmethod
    def parse(path: str, source: str) -> ModuleCode:
        """The file's code; raises Unparsable. Nobody may change the tree: the same text gives the same object."""
        return _parsed(path, source)

    @cached_property
    def imports(self) -> list[Import]:
        """Every import of the file, wherever it stands."""
        return list(_imports(self.tree, guarded=False, late=False))

    @cached_property
    def stars(self) -> list[Import]:
        """The imports of everything of a module."""
        return [one for one in self.imports if one.name == "*"]

    @cached_property
    def listed(self) -> list[str] | None:
        """What `__all__` lists, or None where there is none, or none that can be read."""
        names: list[str] = []
        found = False
        for statement in self.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                    names, found = [], True
                case ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.expr() as value):
                    names, found = [], True
                case ast.AugAssign(target=ast.Name(id="__all__"), value=value):
                    pass
                case _:
                    continue
            try:
                names += [str(one) for one in ast.literal_eval(value)]
            except (ValueError, TypeError, SyntaxError, RecursionError):
                return None
        return names if found else None

    @cached_property
    def dynamic(self) -> bool:
        """Whether names may come into being that cannot be read from the code."""
        if "__getattr__" in self.bound:
            return True
        calls = (one.func for one in ast.walk(self.tree) if isinstance(one, ast.Call))
        return any(isinstance(one, ast.Name) and one.id in ("globals", "exec") for one in calls)

    def line_of(self, name: str) -> int:
        """The line that first binds a name; 0 if none does."""
        return min((getattr(one, "lineno", 0) for one in self.bound.get(name, ())), default=0)


@lru_cache(maxsize=1024)
def _parsed(path: str, source: str) -> ModuleCode:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(source)
    except SyntaxError as error:
        raise Unparsable(error.msg, error.lineno or 0) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise Unparsable(str(error) or "it is nested too deep", 0) from error
    return ModuleCode(path, tree, _grouped(bindings(tree.body)))


def members(declared: ast.ClassDef) -> dict[str, list[ast.AST]]:
    """What a class binds: in its body, in `__slots__`, and on `self` or `cls` in its methods."""
    found = _grouped(bindings(declared.body, in_class=True))
    for statement in ast.walk(declared):
        match statement:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                found.setdefault(name, []).append(statement)
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=ast.Tuple(elts=names) | ast.List(elts=names)):
                for one in names:
                    if isinstance(one, ast.Constant):
                        found.setdefault(str(one.value), []).append(statement)
    return found


def bindings(body: Sequence[ast.stmt], *, in_class: bool = False) -> Iterator[tuple[str, ast.AST]]:
    """The names that statements bind where they stand, those in branches included, each with the node that does."""
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, statement
            case ast.Import(names=names):
                yield from ((one.asname or one.name.partition(".")[0], statement) for one in names)
            case ast.ImportFrom(names=names):
                yield from ((one.asname or one.name, statement) for one in names if one.name != "*")
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                if in_class or value is not None:
                    yield name, statement
            case ast.Assign(targets=targets):
                yield from ((name, statement) for one in targets for name in stored(one))
            case _:
                if type(statement).__name__ == "TypeAlias":
                    yield from ((name, statement) for name in stored(statement.name))  # type: ignore[attr-defined]
                for target in _targets(statement):
                    yield from ((name, statement) for name in stored(target))
                yield from bindings(list(inner_statements(statement)), in_class=in_class)


def stored(target: ast.AST) -> Iterator[str]:
    """The names that an assignment to a target binds."""
    for one in ast.walk(target):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id


def inner_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements in the branches of a compound statement that is no definition."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, ())
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield from part.body


def _targets(statement: ast.stmt) -> Iterator[ast.AST]:
    match statement:
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield target
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from (one.optional_vars for one in items if one.optional_vars is not None)


def _grouped(found: Iterator[tuple[str, ast.AST]]) -> dict[str, list[ast.AST]]:
    grouped: dict[str, list[ast.AST]] = {}
    for name, node in found:
        grouped.setdefault(name, []).append(node)
    return grouped


def _imports(node: ast.AST, *, guarded: bool, late: bool) -> Iterator[Import]:
    match node:
        case ast.Import(names=names):
            for one in names:
                bound = one.asname or one.name.partition(".")[0]
                yield Import(one.name, 0, None, bound, node.lineno, guarded, late)
        case ast.ImportFrom(module=module, names=names, level=level):
            for one in names:
                bound = one.asname or one.name
                yield Import(module or "", level, one.name, bound, node.lineno, guarded, late)
        case ast.Try() | ast.TryStar():
            caught = {ast.unparse(one.type) if one.type else "Exception" for one in node.handlers}
            fails = any(word in text for text in caught for word in ("ImportError", "ModuleNotFoundError", "Exception"))
            for child in ast.iter_child_nodes(node):
                yield from _imports(child, guarded=guarded or fails, late=late)
        case ast.If(test=test):
            text = ast.unparse(test)
            unsure = any(word in text for word in ("TYPE_CHECKING", "version", "platform", "os.name"))
            for child in ast.iter_child_nodes(node):
                yield from _imports(child, guarded=guarded or unsure, late=late or "TYPE_CHECKING" in text)
        case _:
            inside = isinstance(node, (*_FUNCTIONS, ast.Lambda))
            for child in ast.iter_child_nodes(node):
                yield from _imports(child, guarded=guarded, late=late or inside)
