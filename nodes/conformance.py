"""Whether a file keeps the contract, before any test runs: it parses and declares what it promised."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from nodes.contract import is_test


def violations(entry: Mapping[str, Any], source: str) -> Iterator[tuple[str, str]]:
    """Each violation as `(category, message)`. `entry` is the file's part of the contract."""
    if not entry["path"].endswith(".py"):
        if not source.strip() and entry["purpose"]:
            yield "placeholder", f"{entry['path']} is empty, but it is to hold: {entry['purpose']}"
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        yield "syntax", f"{entry['path']}:{getattr(error, 'lineno', 0) or 0}: {getattr(error, 'msg', None) or error}"
        return
    defined = dict(_defined(tree.body))
    for symbol in entry["public_api"]:
        if symbol["name"] not in defined:
            if not _inherited(symbol["name"], defined):
                yield "interface", f"{entry['path']} declares no '{symbol['name']}'; contract: {symbol['signature']}"
        else:
            yield from _signature_violations(entry["path"], symbol, defined[symbol["name"]])
    if is_test(entry["path"]) and entry["path"].rpartition("/")[2].startswith("test_") and not _tests(tree):
        yield "no_tests", f"{entry['path']} holds no test function"


def _defined(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name, statement
            case ast.ClassDef(name=name):
                yield prefix + name, statement
                yield from _defined(statement.body, f"{prefix}{name}.")
                yield from _attributes(statement, f"{prefix}{name}.")
            case ast.Assign(targets=targets):
                yield from ((prefix + one.id, statement) for one in targets if isinstance(one, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name, statement
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((prefix + (one.asname or one.name), statement) for one in names)
            case ast.If() | ast.Try():
                yield from _defined([*statement.body, *statement.orelse], prefix)


def _attributes(declared: ast.ClassDef, prefix: str) -> Iterator[tuple[str, ast.stmt]]:
    for statement in ast.walk(declared):
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                assert isinstance(statement, ast.stmt)
                yield prefix + target.attr, statement


def _inherited(name: str, defined: Mapping[str, ast.stmt]) -> bool:
    owner = defined.get(name.rpartition(".")[0])
    return isinstance(owner, ast.ClassDef) and bool(owner.bases or owner.decorator_list)


def _signature_violations(path: str, symbol: Mapping[str, Any], found: ast.stmt) -> Iterator[tuple[str, str]]:
    declared = _parse(symbol["signature"])
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(declared, functions) and isinstance(found, functions):
        wanted, got = _arguments(declared.args), _arguments(found.args)
        is_async = isinstance(declared, ast.AsyncFunctionDef) != isinstance(found, ast.AsyncFunctionDef)
        if got[: len(wanted)] != wanted or _required(found.args) - set(wanted) or is_async:
            shown = ast.unparse(found.args)
            yield "interface", f"{path}: '{symbol['name']}({shown})' does not fit the contract: {symbol['signature']}"
    elif isinstance(declared, ast.ClassDef) and isinstance(found, functions):
        yield "interface", f"{path}: '{symbol['name']}' is a function; contract: {symbol['signature']}"


def _parse(signature: str) -> ast.stmt | None:
    text = signature.strip().rstrip(":").removesuffix("...").rstrip().rstrip(":")
    for suffix in ("", ": ..."):
        try:
            return ast.parse(text + suffix).body[0]
        except (SyntaxError, IndexError):
            continue
    return None


def _arguments(arguments: ast.arguments) -> list[str]:
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _required(arguments: ast.arguments) -> set[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = {one.arg for one in positional[: len(positional) - len(arguments.defaults)]}
    return needed | {
        one.arg for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if default is None
    }


def _tests(tree: ast.Module) -> bool:
    return any(
        isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name.startswith("test")
        for one in ast.walk(tree)
    )
