"""Where a value in a failing line comes from, and which type the contract promises for it.

A small reading of one function: assignments before the line, loops, parameters, and calls to what the contract
declares. What it cannot follow it does not judge.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from nodes.module_code import Function
from nodes.project_code import ProjectCode
from nodes.sketch_signatures import SignatureFault, parse_signature

_DEEPEST = 12
_MADE = {"int", "str", "float", "len", "list", "dict", "set", "tuple", "bool", "bytes", "sorted"}


@dataclass(frozen=True)
class Origin:
    """What gives a value: the file and name of a declared symbol, or a parameter of the function.

    promised   the type that the contract gives it, or None
    """

    path: str | None
    name: str
    promised: ast.expr | None
    parameter: bool = False


class Place:
    """A line of a file: its statement and the function around it."""

    def __init__(self, project: ProjectCode, path: str, line: int) -> None:
        self.project, self.path, self.line = project, path, line
        code = project.code.get(path)
        self.tree = code.tree if code else ast.Module([], [])
        self.owner, self.function = _enclosing(self.tree, line)
        self.statement = _statement(self.function or self.tree, line)

    def nodes(self) -> list[ast.AST]:
        """Everything in the statement; of a compound one only what stands in its first lines."""
        if self.statement is None:
            return []
        inner = {
            id(one) for name in ("body", "orelse", "finalbody", "handlers") for one in getattr(self.statement, name, ())
        }
        return [one for child in _children(self.statement, inner) for one in ast.walk(child)]

    def origin(self, value: ast.expr, depth: int = 0) -> Origin | None:
        """What gives the value of an expression, as far as it can be followed."""
        if depth > _DEEPEST:
            return None
        match value:
            case ast.Await(value=inner):
                return self.origin(inner, depth + 1)
            case ast.Constant(value=constant):
                return Origin(None, "", ast.Constant(None) if constant is None else ast.Name(type(constant).__name__))
            case ast.Call(func=func):
                return self._result(func, depth)
            case ast.Name(id=name):
                return self._variable(name, depth)
            case ast.Attribute(value=inner, attr=attribute):
                return self._member(inner, attribute, depth)
            case ast.Subscript(value=inner):
                found = self.origin(inner, depth + 1)
                return found and replace(found, promised=_element(found.promised, last=True))
        return None

    def _result(self, func: ast.expr, depth: int) -> Origin | None:
        if isinstance(func, ast.Name) and func.id in _MADE and func.id not in self._bound():
            return Origin(None, func.id, ast.Name("int" if func.id == "len" else func.id))
        found = self._callee(func, depth)
        if found is None:
            return None
        path, name = found
        match _declaration(self.project, path, name):
            case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
                return Origin(path, name, returns)
            case ast.ClassDef():
                return Origin(path, name, ast.Name(name.rpartition(".")[2]))
        return None

    def _callee(self, func: ast.expr, depth: int) -> tuple[str, str] | None:
        """The file and name of what is called, where the contract declares it."""
        match func:
            case ast.Name(id=name):
                return self._home(name)
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (path := self._module(module)) is not None:
                return (path, name) if self.project.promised(path, name) else None
            case ast.Attribute(value=inner, attr=name):
                return self._owner_of(inner, name, depth)
        return None

    def _owner_of(self, value: ast.expr, member: str, depth: int) -> tuple[str, str] | None:
        """Which declared class a member belongs to: the value's own, else the only one that declares such a member."""
        files = self.project.contract.files
        homes = [
            (path, one["name"])
            for path, entry in files.items()
            for one in entry["public_api"]
            if one["name"].rpartition(".")[2] == member and "." in one["name"]
        ]
        found = self.origin(value, depth + 1)
        if found and found.promised is not None:
            kind = ast.unparse(found.promised).strip("'\"").rpartition(".")[2]
            return next((one for one in homes if one[1] == f"{kind}.{member}"), None)
        written = [one for one in homes if len(homes) == 1 or self._is_written(*one)]
        return written[0] if len(written) == 1 else None

    def _is_written(self, path: str, name: str) -> bool:
        """Whether a class itself has a member that is no mere declaration."""
        owner, _, member = name.rpartition(".")
        for home, node in self.project.definitions(path, owner):
            if isinstance(node, ast.ClassDef):
                return any(
                    "abstractmethod" not in ast.unparse(one) for _, one in self.project.member(home, node, member) or ()
                )
        return False

    def _member(self, value: ast.expr, attribute: str, depth: int) -> Origin | None:
        if isinstance(value, ast.Name) and (path := self._module(value.id)) is not None:
            return self._constant(path, attribute)
        found = self._owner_of(value, attribute, depth)
        if found is None:
            return None
        match _declaration(self.project, *found):
            case ast.AnnAssign(annotation=annotation):
                return Origin(*found, annotation)
            case ast.FunctionDef(returns=returns):
                return Origin(*found, returns)
        return None

    def _variable(self, name: str, depth: int) -> Origin | None:
        given, loops = self._assigned(name)
        if given is not None:
            return self.origin(given, depth + 1)
        if loops is not None:
            found = self.origin(loops, depth + 1)
            return found and replace(found, promised=_element(found.promised, last=False))
        if self.function and name in {one.arg for one in _arguments(self.function)}:
            return Origin(self.path, name, self._parameter_type(name), parameter=True)
        home = self._home(name)
        return self._constant(*home) if home else None

    def _assigned(self, name: str) -> tuple[ast.expr | None, ast.expr | None]:
        """The last value that a name got before the line, or what it runs over."""
        given: ast.expr | None = None
        loops: ast.expr | None = None
        for one in sorted(_within(self.function or self.tree), key=lambda node: getattr(node, "lineno", 0)):
            match one:
                case ast.Assign(targets=[ast.Name(id=target)], value=value) if (
                    target == name and one.lineno < self.line
                ):
                    given, loops = value, None
                case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value) if target == name:
                    given, loops = (value, None) if one.lineno < self.line else (given, loops)
                case ast.For(target=ast.Name(id=target), iter=iter_) if target == name and one.lineno < self.line:
                    given, loops = None, iter_
                case ast.comprehension(target=ast.Name(id=target), iter=iter_) if target == name:
                    given, loops = None, iter_
        return given, loops

    def _parameter_type(self, name: str) -> ast.expr | None:
        assert self.function is not None
        owner = f"{self.owner}." if self.owner else ""
        declared = _declaration(self.project, self.path, owner + self.function.name)
        for function in (declared, self.function):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                found = next((one.annotation for one in _arguments(function) if one.arg == name), None)
                if found is not None:
                    return found
        return None

    def _constant(self, path: str, name: str) -> Origin | None:
        declared = _declaration(self.project, path, name)
        return Origin(path, name, declared.annotation) if isinstance(declared, ast.AnnAssign) else None

    def _home(self, name: str) -> tuple[str, str] | None:
        """The file that declares a name that is used here, imports followed to the last file that promises it."""
        code = self.project.code.get(self.path)
        imported = next((one for one in code.imports if one.bound == name and one.name), None) if code else None
        if imported is not None:
            target = self.project.target(self.path, imported)
            if target is None or imported.name is None:
                return None
            defined = [path for path, _ in self.project.definitions(target, imported.name)]
            for path in (*defined, target):
                if path in self.project.contract.files and self.project.promised(path, imported.name):
                    return path, imported.name
            return None
        own = self.path in self.project.contract.files and self.project.promised(self.path, name)
        return (self.path, name) if own else None

    def _module(self, name: str) -> str | None:
        """The file of the tree that a name stands for as a module."""
        code = self.project.code.get(self.path)
        for one in code.imports if code else ():
            dotted = self.project.module_of(self.path, one)
            if one.bound == name and dotted is not None and one.name != "*":
                whole = f"{dotted}.{one.name}" if one.name else dotted
                if whole in self.project.modules and (
                    one.name or one.bound != dotted.partition(".")[0] or "." not in dotted
                ):
                    return self.project.modules[whole]
        return None

    def _bound(self) -> set[str]:
        code = self.project.code.get(self.path)
        return set(code.bound) if code else set()


def argument(call: ast.Call, function: Function, parameter: str) -> ast.expr | None:
    """The expression that a call gives for a parameter of a function, or None."""
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    place = names.index(parameter) if parameter in names else len(call.args)
    return call.args[place] if place < len(call.args) else None


def names_in(node: ast.AST) -> set[str]:
    """Every name and attribute that code mentions."""
    found = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return found | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def _declaration(project: ProjectCode, path: str, name: str) -> ast.stmt | None:
    symbols = project.contract.files[path]["public_api"] if path in project.contract.files else ()
    signature = next((one["signature"] for one in symbols if one["name"] == name), None)
    return None if signature is None else _parsed(signature)


@cache
def _parsed(signature: str) -> ast.stmt | None:
    try:
        return parse_signature(signature)
    except SignatureFault:
        return None


def _arguments(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _element(promised: ast.expr | None, *, last: bool) -> ast.expr | None:
    """The type of what a container holds: `last` takes a mapping's values, else what a loop gives."""
    match promised:
        case ast.Subscript(slice=ast.Tuple(elts=parts)) if parts:
            return parts[-1] if last else parts[0]
        case ast.Subscript(slice=inner):
            return inner
    return None


def _enclosing(tree: ast.AST, line: int) -> tuple[str, Function | None]:
    """The class and the innermost function that a line stands in."""
    owner, function = "", None
    open_: list[tuple[ast.AST, str]] = [(tree, "")]
    while open_:
        node, inside = open_.pop()
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt) or not child.lineno <= line <= (child.end_lineno or 0):
                continue
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                owner, function = inside, child
            open_.append((child, child.name if isinstance(child, ast.ClassDef) else inside))
    return owner, function


def _statement(tree: ast.AST, line: int) -> ast.stmt | None:
    """The innermost statement that a line stands in."""
    around = [
        one for one in ast.walk(tree) if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or 0)
    ]
    return max(around, key=lambda one: (one.lineno, -(one.end_lineno or 0)), default=None)


def _children(statement: ast.stmt, without: set[int]) -> Iterator[ast.AST]:
    yield from (one for one in ast.iter_child_nodes(statement) if id(one) not in without)


def _within(node: ast.AST) -> Iterator[ast.AST]:
    yield from ast.walk(node)
