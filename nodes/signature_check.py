"""Whether a definition keeps a declared signature: every use that the contract allows must work as it says.

More optional parameters, a wider parameter, a property in place of an attribute keep it. A type that the code leaves
out is no breach; another type is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nodes.annotations import Names, fits
from nodes.module_code import Function

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_KEEPING = {  # decorators that leave a function's parameters as they are
    "staticmethod", "classmethod", "property", "cached_property", "abstractmethod", "cache", "lru_cache", "override",
    "final", "contextmanager", "asynccontextmanager", "total_ordering", "deprecated", "no_type_check",
}  # fmt: skip
_PROPERTIES = {"property", "cached_property", "abstractproperty"}
_CONTEXTS = {"contextmanager", "asynccontextmanager"}

Place = Literal["first", "either", "keyword", "rest", "options"]


@dataclass(frozen=True)
class Parameter:
    """One parameter: how it is given, its default and its type, as far as they are written."""

    name: str
    place: Place
    default: ast.expr | None
    annotation: ast.expr | None


def function_breach(declared: Function, found: Function, names: Names, *, member: bool) -> str | None:
    """What a function does otherwise than declared, or None."""
    decorators = decorator_names(found)
    if member and (breach := _binding_breach(declared, found)):
        return breach
    if not decorators <= _KEEPING:
        return None
    if _awaited(declared) != _awaited(found) and not _awaitable(found):
        return "is not async" if _awaited(declared) else "is async"
    wanted, got = list(_parameters(declared)), list(_parameters(found))
    if member:
        wanted, got = _without_receiver(wanted, declared), _without_receiver(got, found)
    breach = next(_parameter_breaches(wanted, got, names), None)
    if breach or decorators & _CONTEXTS or decorator_names(declared) & _CONTEXTS:
        return breach
    return _result_breach(declared, found, names)


def value_breach(declared: ast.AnnAssign | ast.Assign, found: ast.AST, names: Names) -> str | None:
    """What a constant or an attribute is otherwise than declared, or None."""
    promised = declared.annotation if isinstance(declared, ast.AnnAssign) else None
    match found:
        case ast.FunctionDef(returns=returns) | ast.AsyncFunctionDef(returns=returns):
            if not decorator_names(found) & _PROPERTIES and "Callable" not in (
                ast.unparse(promised) if promised else ""
            ):
                return "is a function" if decorator_names(found) <= _KEEPING else None
            if promised and returns and not fits(promised, returns, names, given=False):
                return f"has the type {ast.unparse(returns)}"
        case ast.ClassDef() if promised is None or "type" not in ast.unparse(promised).lower():
            return "is a class"
        case ast.AnnAssign(annotation=annotation):
            if promised and not fits(promised, annotation, names, given=False):
                return f"has the type {ast.unparse(annotation)}"
            return _value_breach(declared, found)
        case ast.Assign(targets=[ast.Name()]):
            return _value_breach(declared, found)
    return None


def decorator_names(function: Function | ast.ClassDef) -> set[str]:
    """The last names of a definition's decorators."""
    calls = (one.func if isinstance(one, ast.Call) else one for one in function.decorator_list)
    return {one.attr if isinstance(one, ast.Attribute) else ast.unparse(one) for one in calls}


def required_fields_breach(declared: list[ast.AnnAssign], found: ast.ClassDef) -> str | None:
    """Whether a class can be called with the declared fields, in their order."""
    if inits := [one for one in found.body if isinstance(one, _FUNCTIONS) and one.name == "__init__"]:
        got = _without_receiver(list(_parameters(inits[-1])), inits[-1])
    elif decorator_names(found) & {"dataclass"} or any("NamedTuple" in ast.unparse(one) for one in found.bases):
        if any(ast.unparse(one) not in ("object", "NamedTuple", "ABC") for one in found.bases):
            return None
        got = [_field(one) for one in found.body if _is_field(one)]  # type: ignore[arg-type]
    elif found.bases or found.decorator_list or found.keywords:
        return None
    else:
        got = []
    wanted = [_field(one) for one in declared if _is_field(one)]
    return next(_parameter_breaches(wanted, got, None), None)


def _is_field(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
        return False
    hidden = statement.value is not None and "init=False" in ast.unparse(statement.value).replace(" ", "")
    return not hidden and "ClassVar" not in ast.unparse(statement.annotation)


def _field(statement: ast.AnnAssign) -> Parameter:
    value = statement.value
    if isinstance(value, ast.Call) and not any(one.arg in ("default", "default_factory") for one in value.keywords):
        value = None if ast.unparse(value.func).endswith("field") else value
    assert isinstance(statement.target, ast.Name)
    return Parameter(statement.target.id, "either", value, None)


def _binding_breach(declared: Function, found: Function) -> str | None:
    """Whether a member is reached as declared: as a value, on the class, or on an instance."""
    wanted, got = decorator_names(declared), decorator_names(found)
    if bool(wanted & _PROPERTIES) != bool(got & _PROPERTIES):
        return "is a property" if got & _PROPERTIES else "is no property"
    if wanted & {"staticmethod", "classmethod"} and not got & {"staticmethod", "classmethod"}:
        return f"is no {min(wanted & {'staticmethod', 'classmethod'})}"
    return None


def _parameters(function: Function) -> Iterator[Parameter]:
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    for index, (one, default) in enumerate(zip(positional, defaults, strict=True)):
        place: Place = "first" if index < len(given.posonlyargs) else "either"
        yield Parameter(one.arg, place, default, one.annotation)
    if given.vararg:
        yield Parameter(given.vararg.arg, "rest", None, given.vararg.annotation)
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield Parameter(one.arg, "keyword", default, one.annotation)
    if given.kwarg:
        yield Parameter(given.kwarg.arg, "options", None, given.kwarg.annotation)


def _without_receiver(parameters: list[Parameter], function: Function) -> list[Parameter]:
    if "staticmethod" in decorator_names(function) or not parameters or parameters[0].place == "rest":
        return parameters
    named = parameters[0].name in ("self", "cls", "mcs", "_", "_self", "_cls")
    return parameters[1:] if named or "classmethod" in decorator_names(function) else parameters


def _parameter_breaches(wanted: list[Parameter], got: list[Parameter], names: Names | None) -> Iterator[str]:
    positional = [one for one in got if one.place in ("first", "either")]
    keywords = {one.name: one for one in got if one.place in ("either", "keyword")}
    rest, options = (any(one.place == place for one in got) for place in ("rest", "options"))
    met = set()
    for index, one in enumerate(wanted):
        match one.place:
            case "rest" | "options":
                if not (rest if one.place == "rest" else options):
                    yield f"takes no {'*' if one.place == 'rest' else '**'}{one.name}"
                continue
            case "keyword":
                other = keywords.get(one.name)
                missing = other is None and not options
            case _:
                other = positional[index] if index < len(positional) else None
                if other is None or (one.place == "either" and (other.name != one.name or other.place == "first")):
                    missing = not (other is None and rest and (options or one.place == "first"))
                    other = None
                else:
                    missing = False
        if missing:
            yield f"takes no parameter '{one.name}'" + (f" at place {index + 1}" if one.name in keywords else "")
        elif other is not None:
            met.add(other.name)
            yield from _pair_breaches(one, other, names)
    for other in got:
        if other.name not in met and other.default is None and other.place not in ("rest", "options"):
            yield f"also requires '{other.name}'"


def _pair_breaches(wanted: Parameter, got: Parameter, names: Names | None) -> Iterator[str]:
    if wanted.default is not None:
        if got.default is None:
            yield f"requires '{got.name}', which is to default to {ast.unparse(wanted.default)}"
        elif _differ(wanted.default, got.default):
            yield f"has the default {got.name}={ast.unparse(got.default)}"
    annotated = wanted.annotation is not None and got.annotation is not None
    if names and annotated and not fits(wanted.annotation, got.annotation, names, given=True):  # type: ignore[arg-type]
        yield f"takes {got.name}: {ast.unparse(got.annotation)}"  # type: ignore[arg-type]


def _result_breach(declared: Function, found: Function, names: Names) -> str | None:
    if declared.returns is None or found.returns is None or fits(declared.returns, found.returns, names, given=False):
        return None
    return f"returns {ast.unparse(found.returns)}"


def _value_breach(declared: ast.AnnAssign | ast.Assign, found: ast.AnnAssign | ast.Assign) -> str | None:
    if declared.value is None or found.value is None or not _differ(declared.value, found.value):
        return None
    return f"is {ast.unparse(found.value)[:80]}"


def _differ(promised: ast.expr, found: ast.expr) -> bool:
    """Whether two values are certainly different; what is computed is not judged, nor is a place for a new list."""
    try:
        first, second = ast.literal_eval(promised), ast.literal_eval(found)
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return False
    if first is Ellipsis or (second is None and isinstance(first, list | dict | set)):
        return False
    return bool(first != second)


def _awaited(function: Function) -> bool:
    """Whether a call must be awaited. An asynchronous generator is not awaited, and may be declared either way."""
    if not isinstance(function, ast.AsyncFunctionDef):
        return False
    returned = ast.unparse(function.returns) if function.returns else ""
    return not returned.rpartition(".")[2].startswith(("AsyncIterator", "AsyncGenerator", "AsyncIterable"))


def _awaitable(function: Function) -> bool:
    text = ast.unparse(function.returns) if function.returns else ""
    generator = isinstance(function, ast.AsyncFunctionDef) and any(
        isinstance(one, ast.Yield) for one in ast.walk(function)
    )
    return generator or any(word in text for word in ("Awaitable", "Coroutine", "Future", "Task"))
