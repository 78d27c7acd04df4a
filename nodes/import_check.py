"""Whether a file's imports resolve: in the tree, to a declared dependency, or in the standard library."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import PurePosixPath

from nodes.contract import is_test
from nodes.import_names import DeclaredImports
from nodes.module_code import Import, ModuleCode, stored
from nodes.project_code import ProjectCode


def import_breaches(project: ProjectCode, path: str, declared: DeclaredImports) -> Iterator[tuple[int, str]]:
    """Each import of a file that cannot work, and each name that is read from a module which has none such."""
    code = project.code[path]
    for one in code.imports:
        if found := _breach(project, path, one, declared):
            yield one.line, found
    yield from _attribute_breaches(project, path, code)


def _breach(project: ProjectCode, path: str, one: Import, declared: DeclaredImports) -> str | None:
    dotted = project.module_of(path, one)
    shown = _shown(one)
    if one.level and (dotted is None or _alone(project, path)):
        return f"'{shown}' leads out of the package that the file is in"
    assert dotted is not None
    target = project.target(path, one)
    if target is None and not project.is_module(dotted):
        return _outside(project, one, dotted, declared)
    if one.name is None or one.name == "*":
        return None
    if target is None:
        missing = not project.is_module(f"{dotted}.{one.name}")
        return f"'{shown}': the folder of '{dotted}' holds no module '{one.name}'" if missing else None
    return _name_breach(project, path, one, target)


def _name_breach(project: ProjectCode, path: str, one: Import, target: str) -> str | None:
    assert one.name is not None
    shown = _shown(one)
    if target not in project.files:
        known = project.promised(target, one.name) or project.is_module(f"{project.module_of(path, one)}.{one.name}")
        return None if known else f"'{shown}': the contract promises no '{one.name}' of {target}"
    if project.promised(target, one.name):  # where it is missing, that is the other file's breach
        return _ring_breach(project, path, one, target)
    if not project.exports(target, one.name):
        return f"'{shown}': {target} has no '{one.name}'{_hint(project, target, one.name)}"
    return _ring_breach(project, path, one, target)


def _ring_breach(project: ProjectCode, path: str, one: Import, target: str) -> str | None:
    """An import against the contract's direction: the other file, which needs this one, is not loaded yet."""
    code = project.code.get(target)
    if one.late or code is None or target == path or not _needs(project, target, path):
        return None
    first = min((other.line for other in code.imports if _of_tree(project, target, other)), default=0)
    if one.name not in code.bound or code.line_of(one.name) < first or not first:
        return None
    return f"'{_shown(one)}' makes a ring: {target} itself needs {path}"


def _of_tree(project: ProjectCode, path: str, one: Import) -> bool:
    return not one.late and project.target(path, one) is not None


def _needs(project: ProjectCode, path: str, other: str) -> bool:
    """Whether a file depends on another by the contract, directly or not."""
    open_, seen = [path], {path}
    while open_:
        for needed in project.contract.files[open_.pop()]["depends_on"]:
            if needed == other:
                return True
            if needed not in seen:
                seen.add(needed)
                open_.append(needed)
    return False


def _outside(project: ProjectCode, one: Import, dotted: str, declared: DeclaredImports) -> str | None:
    top = dotted.partition(".")[0]
    if not one.level and (top in sys.stdlib_module_names or top == "__future__" or declared.provides(dotted)):
        return None
    if one.guarded:
        return None
    if one.level or top in project.tops:
        whole = f"{dotted}.{one.name}" if one.name and not one.module else dotted
        close = get_close_matches(whole, [*project.modules], 1)
        return f"'{_shown(one)}': the tree has no module '{whole}'" + (f"; did you mean '{close[0]}'?" if close else "")
    if top == "src":
        return f"'{_shown(one)}': 'src' is a folder and no package; write '{dotted.removeprefix('src.')}'"
    return f"'{_shown(one)}': '{top}' is neither in the tree, nor a declared dependency, nor in the standard library"


def _alone(project: ProjectCode, path: str) -> bool:
    """Whether a file is loaded as a module of its own, without a package: pytest does so beside no `__init__.py`."""
    folder = PurePosixPath(path).parent
    if is_test(path):
        return str(folder / "__init__.py") not in project.contract.files
    return str(folder) in (".", "src")


def _attribute_breaches(project: ProjectCode, path: str, code: ModuleCode) -> Iterator[tuple[int, str]]:
    """`store.load` where `store` is a module of the tree that has no `load`."""
    modules = _bound_modules(project, path, code)
    if not modules:
        return
    for node in ast.walk(code.tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute, ctx=ast.Load()) if name in modules:
                target = modules[name]
                known = project.promised(target, attribute) or project.exports(target, attribute)
                if not known:
                    hint = _hint(project, target, attribute)
                    yield node.lineno, f"'{name}.{attribute}': {target} has no '{attribute}'{hint}"


def _bound_modules(project: ProjectCode, path: str, code: ModuleCode) -> dict[str, str]:
    """Names that stand for a module of the tree wherever they are read in the file."""
    others = {name for node in ast.walk(code.tree) for name in _rebound(node)}
    found: dict[str, str] = {}
    for one in code.imports:
        dotted = project.module_of(path, one)
        if (
            dotted is None
            or one.name == "*"
            or (one.name is None and "." in dotted and one.bound == dotted.split(".")[0])
        ):
            continue
        target = project.modules.get(f"{dotted}.{one.name}" if one.name else dotted)
        parent = project.target(path, one) if one.name else None
        hidden = parent in project.code and one.name in project.code[parent].bound
        if target in project.files and one.bound not in others and not hidden:
            found[one.bound] = str(target)
    return found


def _rebound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.ExceptHandler(name=str(name)):
            yield name
        case ast.Name(ctx=ast.Store()):
            yield from stored(node)


def _hint(project: ProjectCode, target: str, name: str) -> str:
    close = get_close_matches(name, list(project.code[target].bound) if target in project.code else [], 1)
    return f"; did you mean '{close[0]}'?" if close else ""


def _shown(one: Import) -> str:
    module = "." * one.level + one.module
    return f"import {module}" if one.name is None else f"from {module} import {one.name}"
