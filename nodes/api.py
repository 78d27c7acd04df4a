"""The public interface of a Python file, read from its code, never believed from the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from nodes.module_code import Function, ModuleCode, stored

Interface = dict[str, str]
_MATTER = (  # decorators that change how a function is used
    "staticmethod",
    "classmethod",
    "property",
    "cached_property",
    "abstractmethod",
    "contextmanager",
    "asynccontextmanager",
    "overload",
)


def public_interface(source: str) -> Interface:
    """Exported names and how each is declared: functions, classes, their members, module constants, type aliases.

    Names that begin with an underscore do not count, unless `__all__` lists them; special names such as `__len__` and
    `__version__` do. Imported names count when `__all__` lists them, or when they are imported `as` themselves. A name
    that is defined in several branches is declared as in the first. Raises SyntaxError for code that does not parse.
    """
    return interface_of(ast.parse(source))


def interface_of(tree: ast.Module) -> Interface:
    """The public interface of a file that is parsed already."""
    listed = ModuleCode("", tree).listed
    found: Interface = {}
    for name, declaration in _declarations(tree.body).items():
        top = name.partition(".")[0]
        if (top in listed) if listed is not None else not _private(top):
            found[name] = declaration
    reexported = set(listed) - {name.partition(".")[0] for name in found} if listed is not None else _handed_on(tree)
    return found | {name: f"{name}  # re-exported" for name in sorted(reexported - found.keys())}


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


def _declarations(body: list[ast.stmt], prefix: str = "") -> Interface:
    """What statements declare, by name; what only runs as a script, or is only for type checkers, does not count."""
    found: Interface = {}
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                _add_function(found, prefix, statement)
            case ast.ClassDef(name=name):
                found[prefix + name] = class_signature(statement)
                if not prefix or not _private(name):
                    found |= _declarations(statement.body, f"{prefix}{name}.")
            case ast.AnnAssign(target=ast.Name(id=name)):
                # a field's default is part of its class's signature; a typed constant is known by its type
                default = f" = {_short(statement.value)}" if prefix and statement.value else ""
                found[prefix + name] = f"{name}: {ast.unparse(statement.annotation)}{default}"
            case ast.Assign(targets=targets):
                single = all(isinstance(target, ast.Name) for target in targets)
                value = f" = {_short(statement.value)}" if single else ""
                found |= {prefix + name: f"{name}{value}" for target in targets for name in stored(target)}
            case ast.If(test=test) if "__name__" in ast.unparse(test) or "TYPE_CHECKING" in ast.unparse(test):
                found = _declarations(statement.orelse, prefix) | found
            case _:
                if type(statement).__name__ == "TypeAlias":
                    found[prefix + statement.name.id] = ast.unparse(statement)  # type: ignore[attr-defined]
                for branch in _branches(statement):
                    found = _declarations(branch, prefix) | found
    hidden = {name for name in found if prefix and _private(name.removeprefix(prefix).partition(".")[0])}
    return {name: text for name, text in found.items() if name not in hidden | {"__all__", f"{prefix}__slots__"}}


def _branches(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The branches of a compound statement that is no definition, in their order."""
    for part in (statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield getattr(part, "body", [])
    yield getattr(statement, "orelse", [])
    yield getattr(statement, "finalbody", [])


def _add_function(found: Interface, prefix: str, function: Function) -> None:
    """One more definition of a function: overloads stand together, a property's setter makes it settable."""
    name, text = prefix + function.name, signature(function)
    decorators = [ast.unparse(one) for one in function.decorator_list]
    before = found.get(name, "")
    if f"{function.name}.setter" in decorators:
        found[name] = f"{before}  # settable" if before else text
    elif f"{function.name}.deleter" in decorators or ("@overload" in before and "@overload" not in text):
        return
    else:
        found[name] = f"{before}; {text}" if "@overload" in before else text


def class_signature(statement: ast.ClassDef) -> str:
    """`class Name(bases)` as one line, all decorators in front."""
    bases = ", ".join(ast.unparse(one) for one in [*statement.bases, *statement.keywords])
    decorators = "".join(f"@{ast.unparse(one)} " for one in statement.decorator_list)
    return f"{decorators}class {statement.name}" + (f"({bases})" if bases else "")


def _handed_on(tree: ast.Module) -> set[str]:
    """Names that are imported `as` themselves, the sign for handing them on."""
    imports = (one for one in tree.body if isinstance(one, ast.Import | ast.ImportFrom))
    return {one.name for statement in imports for one in statement.names if one.asname == one.name}


def signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """`def name(arguments) -> type` as one line, decorators that change its use in front."""
    decorators = "".join(
        f"@{ast.unparse(one)} " for one in function.decorator_list if ast.unparse(one).rpartition(".")[2] in _MATTER
    )
    word = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"{decorators}{word} {function.name}({ast.unparse(function.args)}){returns}"


def _private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def _short(value: ast.expr) -> str:
    text = ast.unparse(value)
    return text if len(text) <= 60 else text[:57] + "..."
