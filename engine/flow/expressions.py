"""Expressions `${...}`: CEL, compiled and type-checked when a flow is loaded.

An expression may name inputs, params, state keys and the item of a map. Each name it uses is declared to CEL as one
variable with its dotted name and its type, so a misspelt name and a wrong type are found before a run.
https://github.com/google/cel-spec
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from engine.errors import FlowrunError
from engine.flow.model import Expression, Place
from engine.flow.shapes import ANY, MAP, Shape
from engine.flow.suggestion import suggestion

LONGEST_RANGE = 100_000

_TOKEN = re.compile(
    r"""[rRbB]{0,2}(?P<quote>'''|\"\"\"|'|")"""  # where a string begins
    r"|(?P<name>[A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*)(?P<call>\s*\()?"
    r"|(?P<other>//[^\n]*|\d[\w.]*|\S)"
)
_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_NOT_BOUND = re.compile(r'No value with name "([^"]+)"')
_UNDECLARED = re.compile(r"undeclared reference to '([^']+)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']+)' applied to '\((.*)\)'")


class ExpressionFault(Exception):
    """An expression that cannot be used; `offset` counts characters from the beginning of what was compiled."""

    def __init__(self, message: str, offset: int) -> None:
        self.message, self.offset = message, offset
        super().__init__(message)


@dataclass(frozen=True)
class Reference:
    """A name that an expression uses, such as ("params", "qa", "max_rounds"), and where it stands in the text."""

    path: tuple[str, ...]
    offset: int
    in_has: bool = False


@dataclass(frozen=True)
class Compiled:
    """A compiled expression. `kind` is the type of its value, as CEL writes it in small letters."""

    text: str
    kind: str
    references: tuple[Reference, ...] = ()
    place: Place | None = field(default=None, compare=False)
    variables: Mapping[str, Shape] = field(default_factory=dict, compare=False, repr=False)
    program: Any = field(default=None, compare=False, repr=False)

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Its value. Raises FlowrunError when a name has no value yet, or for a fault such as a division by zero."""
        data = {name: _converted(self._value(name, scope), shape.kind) for name, shape in self.variables.items()}
        try:
            result = self.program.eval(data=data)
        except (RuntimeError, OverflowError, TypeError, ValueError) as error:
            raise self._failed(str(error)) from None
        if result.type().name() == "ERROR":
            raise self._failed(str(result.value()))
        return result.plain_value()

    def _value(self, name: str, scope: Mapping[str, Any]) -> Any:
        value: Any = scope
        for step in name.split("."):
            if not isinstance(value, Mapping) or step not in value:
                raise self._failed(f"'{name}' has no value yet")
            value = value[step]
        return value

    def _failed(self, message: str) -> FlowrunError:
        where = f"{self.place}: " if self.place else ""
        said = message.partition(": ")[2] if message.split(":")[0].isupper() else message
        return FlowrunError(f"{where}${{{self.text}}}: {said}")


@dataclass(frozen=True)
class Template:
    """Text with expressions in it; its value is text."""

    text: str
    parts: tuple[str | Compiled, ...]
    kind: str = "string"

    @property
    def references(self) -> tuple[Reference, ...]:
        """What its expressions name; offsets are of no use."""
        return tuple(one for part in self.parts if isinstance(part, Compiled) for one in part.references)

    def evaluate(self, scope: Mapping[str, Any]) -> str:
        """The text with the values put in. Raises FlowrunError."""
        return "".join(part if isinstance(part, str) else _text(part.evaluate(scope)) for part in self.parts)


@dataclass(frozen=True)
class Names:
    """What expressions may name: shapes of `inputs`, `params`, `state`, and in a map of the item."""

    roots: Mapping[str, Shape]

    def with_item(self, name: str, shape: Shape) -> Names:
        """These and a map's item."""
        return Names({**self.roots, name: shape})

    def find(self, reference: Reference) -> tuple[str, Shape]:
        """The dotted name that is declared for a reference, and its shape. Raises ExpressionFault."""
        path, shape = reference.path[:1], self.roots[reference.path[0]]
        for step in reference.path[1:]:
            if step in shape.names:
                path, shape = (*path, step), shape.inside(step)
            elif shape.open:
                break
            else:
                raise ExpressionFault(
                    f"unknown name '{'.'.join((*path, step))}'.{_hint(step, path, shape)}", reference.offset
                )
        return ".".join(path), shape


def compile_value(text: str, names: Names, place: Place | None = None) -> Compiled | Template:
    """A string of a flow file that holds `${...}`. A string that is one expression keeps the expression's type.

    Raises ExpressionFault; its offset counts from the beginning of the string.
    """
    parts = list(split(text))
    if len(parts) == 1 and parts[0][2]:
        return _compiled(parts[0], names, place)
    compiled: list[str | Compiled] = []
    for part in parts:
        if part[2]:
            one = _compiled(part, names, place)
            if one.kind.startswith(("list", "map")):
                raise ExpressionFault(f"a {one.kind} inside text; only single values can be put into text", part[1])
            compiled.append(one)
        else:
            compiled.append(part[0])
    return Template(text, tuple(compiled))


def compile_text(text: str, names: Names, place: Place | None = None) -> Compiled:
    """One expression, without `${` and `}`. Raises ExpressionFault."""
    references = tuple(_references(text, names))
    parents = {one.path[:-1] for one in references if one.in_has}
    variables: dict[str, Shape] = {}
    for one in references:
        name, shape = names.find(one)
        held = next((up for up in sorted(parents, key=len) if one.path[: len(up)] == up), None)
        if held:  # has(a.b) wants the map a; then a must be the declared name everywhere in this expression
            name, shape = ".".join(held), Shape(MAP)
        variables[name] = shape
    try:
        program = _environment(tuple((name, shape.kind) for name, shape in variables.items())).compile(text)
    except RuntimeError as error:
        raise _fault(text, str(error), names) from None
    kind = program.return_type().name().lower()
    return Compiled(text, kind, references, place, variables, program)


def item_shape(expression: Expression, names: Names) -> Shape:
    """The shape of the items of what a map goes over."""
    if not isinstance(expression, Compiled):
        return ANY
    if len(expression.references) == 1 and expression.text.strip() == ".".join(expression.references[0].path):
        shape = names.find(expression.references[0])[1]
        if shape.kind.startswith("list"):
            return shape.item
    inner = re.fullmatch(r"list<(.*)>", expression.kind)
    return Shape(inner[1]) if inner else ANY


def split(text: str) -> Iterator[tuple[str, int, bool]]:
    """Pieces of a string: what it says, where that begins, whether it is an expression. Raises ExpressionFault."""
    position = 0
    while position < len(text):
        start = text.find("${", position)
        if start < 0:
            yield text[position:], position, False
            return
        if start > position:
            yield text[position:start], position, False
        end = _end(text, start + 2)
        yield text[start + 2 : end], start + 2, True
        position = end + 1


def _end(text: str, start: int) -> int:
    """Where the `}` of an expression stands."""
    depth = 0
    for kind, sign, at in _tokens(text, start):
        if kind != "other":
            continue
        if sign == "}" and not depth:
            return at
        depth += (sign == "{") - (sign == "}")
    raise ExpressionFault("an expression '${' without its '}'", start - 2)


def _tokens(text: str, start: int = 0) -> Iterator[tuple[str, str, int]]:
    """Strings, dotted names and other signs of CEL; a name that is called ends in "("."""
    position = start
    while found := _TOKEN.search(text, position):
        position = found.end()
        if found["quote"]:
            raw = "r" in found[0].lower()
            position = _after_string(text, position, found["quote"], raw)
            yield "string", text[found.start() : position], found.start()
        elif found["name"]:
            yield "name", found["name"] + ("(" if found["call"] else ""), found.start()
        else:
            yield "other", found["other"], found.start()


def _after_string(text: str, position: int, quote: str, raw: bool) -> int:
    while position < len(text):
        if text.startswith(quote, position):
            return position + len(quote)
        position += 2 if text[position] == "\\" and not raw else 1
    return len(text)


def _references(text: str, names: Names) -> Iterator[Reference]:
    before = ""
    for kind, token, at in _tokens(text):
        if kind == "name" and before != ".":
            path = tuple(part.strip() for part in token.rstrip("(").split("."))
            if token.endswith("("):
                path = path[:-1]  # the last part is a function: state.tasks.exists(...)
            if path and path[0] in names.roots:
                yield Reference(path, at, in_has=before == "has(" and len(path) > 1)
        before = token


@lru_cache(maxsize=1000)
def _environment(variables: tuple[tuple[str, str], ...]) -> Any:
    from cel_expr_python import cel

    numbers = cel.Type.List(cel.Type.INT)
    overload = cel.Overload("range_int", numbers, [cel.Type.INT], False, _range)
    return cel.NewEnv(
        variables={name: cel.Type(kind) for name, kind in variables},
        functions=[cel.FunctionDecl("range", [overload])],
    )


def _range(end: int) -> list[int]:
    if end > LONGEST_RANGE:
        raise ValueError(f"range({end}) is longer than {LONGEST_RANGE}")
    return list(range(end))


def _compiled(part: tuple[str, int, bool], names: Names, place: Place | None) -> Compiled:
    text, start, _ = part
    try:
        return compile_text(text, names, place)
    except ExpressionFault as fault:
        raise ExpressionFault(fault.message, fault.offset + start) from None


def _fault(text: str, report: str, names: Names) -> ExpressionFault:
    """The first error of CEL's report, in our words."""
    found = _ERROR.search(report)
    if not found:
        return ExpressionFault(report.partition("\n")[0], 0)
    line, column, message = int(found[1]), int(found[2]), found[3]
    offset = sum(len(one) + 1 for one in text.split("\n")[: line - 1]) + column - 1
    message = message.removesuffix(" [INVALID_ARGUMENT]")
    if unknown := _UNDECLARED.match(message):
        name = unknown[1].split(".")[0]
        offset = max(text.rfind(name, 0, offset + 1), 0)  # the report points behind a dotted or called name
        known = [*names.roots, "size", "range", "has"]
        hint = suggestion(name, known) or f" Known here: {', '.join(names.roots)}"
        return ExpressionFault(f"unknown name '{name}'.{hint}", offset)
    if wrong := _OVERLOAD.match(message):
        function = wrong[1].strip("_").replace("_", "") or wrong[1]
        mixed = "double" in wrong[2] and "int" in wrong[2] and not function.isalpha() and function != "?:"
        hint = "; write 2.0 for 2, or double(...)" if mixed else ""
        return ExpressionFault(f"'{function}' does not take ({wrong[2]}){hint}", offset)
    return ExpressionFault(re.sub(r" expecting \{.*", "", message), offset)


def _hint(step: str, path: tuple[str, ...], shape: Shape) -> str:
    close = suggestion(step, shape.names)
    return close or f" '{'.'.join(path)}' has {', '.join(shape.names[:20]) or 'no names'}"


def _converted(value: Any, kind: str) -> Any:
    """JSON does not tell 2 from 2.0; CEL does."""
    if kind == "double" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in ("list<double>", "list<int>") and isinstance(value, list):
        return [_converted(one, kind[5:-1]) for one in value]
    return value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
