"""The public interface of a Python file, read from its code, never believed from the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

Interface = dict[str, str]
_MATTER = ("staticmethod", "classmethod", "property", "cached_property")  # decorators that change a function's use


def public_interface(source: str) -> Interface:
    """Exported names and how each is declared: functions, classes, methods, module constants, `__all__`.

    Names that begin with an underscore do not count, unless `__all__` lists them; re-exported imports count when it
    does. Raises SyntaxError for code that does not parse.
    """
    return interface_of(ast.parse(source))


def interface_of(tree: ast.Module) -> Interface:
    """The public interface of a file that is parsed already."""
    listed = _listed(tree)
    found: Interface = {}
    for name, declaration in _declarations(tree.body):
        top = name.partition(".")[0]
        if (top in listed) if listed is not None else not top.startswith("_"):
            found[name] = declaration
    if listed is not None:
        for name in sorted(listed - {name.partition(".")[0] for name in found}):
            found[name] = f"{name}  # re-exported"
    return found


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """What is different: `+name`, `~name`, `-name`, sorted by name."""
    marks = dict.fromkeys(new.keys() - old.keys(), "+") | dict.fromkeys(old.keys() - new.keys(), "-")
    marks |= {name: "~" for name in old.keys() & new.keys() if old[name] != new[name]}
    return [marks[name] + name for name in sorted(marks)]


def compatibility(old: Mapping[str, str] | None, symbols: list[str]) -> str:
    """Whether those who use the file must change: "new", "unchanged", "compatible" (only additions) or "breaking"."""
    if old is None:
        return "new"
    if not symbols:
        return "unchanged"
    return "compatible" if all(one.startswith("+") for one in symbols) else "breaking"


def _declarations(body: list[ast.stmt], prefix: str = "") -> Iterator[tuple[str, str]]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if not prefix or not _private(statement.name):
                    yield prefix + statement.name, signature(statement)
            case ast.ClassDef():
                bases = ", ".join(ast.unparse(one) for one in [*statement.bases, *statement.keywords])
                decorators = "".join(f"@{ast.unparse(one)} " for one in statement.decorator_list)
                yield prefix + statement.name, f"{decorators}class {statement.name}" + (f"({bases})" if bases else "")
                yield from _declarations(statement.body, f"{prefix}{statement.name}.")
            case ast.AnnAssign(target=ast.Name(id=name)) if not (prefix and _private(name)):
                yield prefix + name, f"{name}: {ast.unparse(statement.annotation)}"
            case ast.Assign(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name) and target.id != "__all__" and not _private(target.id):
                        yield prefix + target.id, f"{target.id} = {_short(statement.value)}"
            case ast.If() | ast.Try():
                yield from _declarations(_branches(statement), prefix)


def _branches(statement: ast.If | ast.Try) -> list[ast.stmt]:
    if isinstance(statement, ast.If):
        return [*statement.body, *statement.orelse]
    return [*statement.body, *(one for handler in statement.handlers for one in handler.body), *statement.orelse]


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """`def name(arguments) -> type` as one line, decorators that change its use in front."""
    decorators = "".join(
        f"@{ast.unparse(one)} " for one in function.decorator_list if ast.unparse(one).rpartition(".")[2] in _MATTER
    )
    word = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"{decorators}{word} {function.name}({ast.unparse(function.args)}){returns}"


def _listed(tree: ast.Module) -> set[str] | None:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in statement.targets
        ):
            try:
                return {str(name) for name in ast.literal_eval(statement.value)}
            except (ValueError, TypeError):
                return None
    return None


def _private(name: str) -> bool:
    return name.startswith("_") and name != "__init__"


def _short(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= 60 else text[:57] + "..."
