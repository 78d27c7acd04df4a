"""Whether the files keep the contract, before any test runs (CodeTeam, 3.2.6: the third criterion, and the first).

A file parses, declares what it promised as it promised it, imports only what is there, and says nothing that ruff's
error rules know to fail. No file is outside of the contract.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nodes.contract import Contract, is_test
from nodes.data_files import data_fault, script_faults
from nodes.import_check import import_breaches
from nodes.import_names import DeclaredImports
from nodes.lint import lint
from nodes.module_code import members
from nodes.project_code import ProjectCode
from nodes.signature_check import decorator_names, function_breach, required_fields_breach, value_breach
from nodes.sketch_signatures import SignatureFault, parse_signature

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Violation:
    """A breach of the contract. `line` counts from 1, 0 for the file as a whole.

    `kind` is a category of schemas/issue.schema.json; `message` names the file.
    """

    path: str
    line: int
    kind: str
    message: str


def conformance(contract: Contract, files: Mapping[str, str]) -> list[Violation]:
    """Every violation in `files`, the files written so far by path, in the contract's order.

    A file that is not written yet must not be among them; others are held against what the contract says of it.
    Raises FlowrunError without ruff.
    """
    project = ProjectCode(contract, {path: text for path, text in files.items() if path in contract.files})
    declared = DeclaredImports(contract.data["dependencies"])
    found = [violation for path in contract.order if path in files for violation in _file(project, path, declared)]
    sound = {path: files[path] for path in contract.order if path in project.code}
    for one in lint(sound):
        if one.code == "F822" and project.code[one.path].dynamic:
            continue
        kind = "syntax" if one.code == "invalid-syntax" or one.code.startswith("F7") else "exception"
        found.append(Violation(one.path, one.line, kind, f"{one.path}:{one.line}: {one.message} ({one.code})"))
    strangers = [path for path in files if path not in contract.files]
    found += [Violation(path, 0, "interface", f"{path} is no file of the contract") for path in sorted(strangers)]
    place = {path: index for index, path in enumerate([*contract.order, *sorted(strangers)])}
    return sorted(found, key=lambda one: (place[one.path], one.line))


def violations(entry: Mapping[str, Any], source: str) -> Iterator[tuple[str, str]]:
    """Violations of one file for itself as `(category, message)`. `entry` is its part of the contract."""
    alone = Contract({"files": [{**entry, "depends_on": []}], "dependencies": []})
    for one in _own(ProjectCode(alone, {entry["path"]: source}), entry["path"]):
        yield one.kind, one.message


def _file(project: ProjectCode, path: str, declared: DeclaredImports) -> Iterator[Violation]:
    yield from _own(project, path)
    if path in project.code:
        for line, message in import_breaches(project, path, declared):
            yield Violation(path, line, "import", f"{path}:{line}: {message}")


def _own(project: ProjectCode, path: str) -> Iterator[Violation]:
    """What is wrong with a file by itself."""
    entry = project.contract.files[path]
    if fault := project.unparsable.get(path):
        yield Violation(path, fault.line, "syntax", f"{path}:{fault.line}: {fault}")
        return
    if path not in project.code:
        if not project.files[path].strip() and entry["purpose"]:
            yield Violation(path, 0, "placeholder", f"{path} is empty, but it is to hold: {entry['purpose']}")
        yield from _data(project, path)
        return
    yield from (violation for _, violation in symbol_breaches(project, path))
    if is_test(path) and path.rpartition("/")[2].startswith("test_") and not _tests(project.code[path].tree):
        yield Violation(path, 0, "no_tests", f"{path} holds no test function")


def _data(project: ProjectCode, path: str) -> Iterator[Violation]:
    """What is wrong with a file that is no Python: it cannot be read, or names a function that is not there."""
    text = project.files[path]
    if fault := data_fault(path, text):
        yield Violation(path, fault[0], "syntax", f"{path}:{fault[0]}: {fault[1]}")
    for _, message in script_faults(project, text) if path == "pyproject.toml" else ():
        yield Violation(path, 0, "interface", f"{path}: {message}")


def symbol_breaches(project: ProjectCode, path: str) -> Iterator[tuple[str, Violation]]:
    """The declared symbols of a parsed file that are missing or are otherwise than declared."""
    for symbol in project.contract.files[path]["public_api"] if path in project.code else ():
        found = _found(project, path, symbol["name"])
        if found is None:
            continue
        if not found:
            message = f"{path} declares no '{symbol['name']}'; contract: {symbol['signature']}"
            yield symbol["name"], Violation(path, 0, "interface", message)
        elif said := _difference(project, symbol, found):
            home, node = found[-1]
            line = getattr(node, "lineno", 0) if home == path else 0
            message = f"{path}{f':{line}' if line else ''}: '{symbol['name']}' {said}; contract: {symbol['signature']}"
            yield symbol["name"], Violation(path, line, "interface", message)


def _difference(project: ProjectCode, symbol: Mapping[str, Any], found: list[tuple[str, ast.AST]]) -> str | None:
    """What every definition of a symbol does otherwise than declared; one that keeps it is enough."""
    try:
        declared = parse_signature(symbol["signature"])
    except SignatureFault:
        return None
    breaches = [_breach(project, symbol, declared, home, node) for home, node in found]
    return breaches[-1] if all(breaches) else None


def _found(project: ProjectCode, path: str, name: str) -> list[tuple[str, ast.AST]] | None:
    """What defines a declared symbol; empty if nothing does, None where it cannot be known."""
    owner, _, member = name.rpartition(".")
    code = project.code[path]
    if not owner:
        return project.definitions(path, name) or (None if project.exports(path, name) else [])
    found: list[tuple[str, ast.AST]] = []
    for home, node in _found(project, path, owner) or []:
        if not isinstance(node, ast.ClassDef):
            return None
        inner = project.member(home, node, member)
        if inner is None:
            return None
        found += inner
    return found or (None if code.dynamic or not _found(project, path, owner) else [])


def _breach(
    project: ProjectCode, symbol: Mapping[str, Any], declared: ast.stmt, home: str, node: ast.AST
) -> str | None:
    names = project.names(home)
    member = "." in symbol["name"]
    match declared, node:
        case (ast.FunctionDef() | ast.AsyncFunctionDef(), ast.FunctionDef() | ast.AsyncFunctionDef()):
            return function_breach(declared, node, names, member=member)
        case (ast.FunctionDef() | ast.AsyncFunctionDef(), ast.ClassDef()):
            return "is a class" if member else None  # a class can be called as a function is
        case (ast.FunctionDef() | ast.AsyncFunctionDef(), ast.Assign() | ast.AnnAssign()):
            constant = isinstance(node.value, ast.Constant | ast.List | ast.Dict | ast.Set | ast.Tuple)
            return "is no function" if constant and "property" not in decorator_names(declared) else None
        case (ast.ClassDef(), ast.ClassDef()):
            return _class_breach(project, symbol["name"], declared, home, node)
        case (ast.ClassDef(), ast.FunctionDef() | ast.AsyncFunctionDef()):
            return "is a function"
        case (ast.AnnAssign() | ast.Assign(), _):
            return value_breach(declared, node, names)
    return None


def _class_breach(
    project: ProjectCode, name: str, declared: ast.ClassDef, home: str, found: ast.ClassDef
) -> str | None:
    for base in declared.bases:
        word = ast.unparse(base.value if isinstance(base, ast.Subscript) else base).rpartition(".")[2]
        if word != "object" and not project.derives(home, found, word):
            return f"does not derive from {word}"
    if "dataclass" not in decorator_names(declared) or project.promised(home, f"{name}.__init__"):
        return None
    if _frozen(declared) and "dataclass" in decorator_names(found) and not _frozen(found):
        return "is not frozen"
    return required_fields_breach(_fields(project, home, name), found)


def _fields(project: ProjectCode, path: str, owner: str) -> list[ast.AnnAssign]:
    """The fields of a data class that the contract declares, in their order."""
    found = []
    for one in project.contract.files[path]["public_api"]:
        if one["name"].rpartition(".")[0] == owner and one["kind"] == "constant":
            statement = parse_signature(one["signature"])
            found += [statement] if isinstance(statement, ast.AnnAssign) else []
    return found


def _frozen(declared: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(one).replace(" ", "") for one in declared.decorator_list)


def _tests(tree: ast.Module) -> bool:
    functions = (one for one in ast.walk(tree) if isinstance(one, _FUNCTIONS))
    return any(one.name.startswith("test") for one in functions) or any(
        name.startswith(("test", "run")) for one in tree.body if isinstance(one, ast.ClassDef) for name in members(one)
    )
