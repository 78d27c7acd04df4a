"""Expressions `${...}`: CEL, compiled and type-checked when a flow is loaded.

An expression may name inputs, params, state keys and the item of a map. Each name it uses is declared to CEL as one
variable with its dotted name and its type, so a misspelt name and a wrong type are found before a run.
https://github.com/google/cel-spec
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from engine.errors import FlowrunError
from engine.flow.model import Expression, Place
from engine.flow.scanner import ExpressionFault, Piece, Reference, references, split
from engine.flow.shapes import ANY, MAP, Shape
from engine.flow.suggestion import Hint

LONGEST_RANGE = 100_000

_ERROR = re.compile(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)")  # -1:-1 for the whole
_CODE = re.compile(r"^[A-Z_]+: | \[[A-Z_]+\]$")
_UNDECLARED = re.compile(r"undeclared reference to '([^']+)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']+)' applied to '\((.*)\)'")
_FUNCTIONS = ("size", "range", "has", "string", "int", "double", "matches", "startsWith", "endsWith", "contains")


@dataclass(frozen=True)
class Wanted:
    """What the value of an expression has to be: the outer kinds that are allowed, and the same in words."""

    kinds: tuple[str, ...]
    words: str

    def allows(self, kind: str) -> bool:
        """Whether a value of this kind can do; what is not known before a run is looked at when it is there."""
        return kind == "dyn" or kind.split("<")[0] in self.kinds

    def fits(self, value: Any) -> bool:
        """Whether a value does."""
        return _kind(value) in self.kinds


BOOLEAN = Wanted(("bool",), "true or false")
LIST = Wanted(("list",), "a list")
KEY = Wanted(("string", "int"), "a string or a whole number")
KEY_OR_NULL = Wanted(("string", "int", "null"), "a string or a whole number")
RANK = Wanted(("int", "double", "list"), "a number or a list of numbers")


@dataclass(frozen=True)
class Compiled:
    """A compiled expression. `kind` is the type of its value, as CEL writes it in small letters.

    The offsets of `references` count from the beginning of the string in the flow file.
    """

    text: str
    kind: str
    references: tuple[Reference, ...] = ()
    place: Place | None = field(default=None, compare=False)
    wanted: Wanted | None = None
    variables: Mapping[str, Shape] = field(default_factory=dict, compare=False, repr=False)
    program: Any = field(default=None, compare=False, repr=False)

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Its value.

        Raises FlowrunError when a name has no value, when the value is not what is wanted, or for a fault such as a
        division by zero.
        """
        data = {name: _converted(self._value(name, scope), shape.kind) for name, shape in self.variables.items()}
        try:
            result = self.program.eval(data=data)
        except (RuntimeError, OverflowError, TypeError, ValueError) as error:
            raise self._failed(str(error)) from None
        if result.type().name() == "ERROR":
            raise self._failed(str(result.value()))
        value = result.plain_value()
        if self.wanted and not self.wanted.fits(value):
            raise self._failed(f"expected {self.wanted.words}, but its value is {worded(_kind(value))}")
        return value

    def _value(self, name: str, scope: Mapping[str, Any]) -> Any:
        value: Any = scope
        for step in name.split("."):
            if not isinstance(value, Mapping) or step not in value:
                raise self._failed(f"'{name}' has no value")
            value = value[step]
        return value

    def _failed(self, message: str) -> FlowrunError:
        where = f"{self.place}: " if self.place else ""
        return FlowrunError(f"{where}${{{self.text}}}: {_CODE.sub('', message)}")


@dataclass(frozen=True)
class Template:
    """Text with expressions in it; its value is text."""

    text: str
    parts: tuple[str | Compiled, ...]
    kind: str = "string"

    @property
    def references(self) -> tuple[Reference, ...]:
        """What its expressions name."""
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
                known = f". '{'.'.join(path)}' has {', '.join(shape.names[:20]) or 'no names'}"
                message = f"unknown name '{'.'.join((*path, step))}'"
                raise ExpressionFault(message, reference.offset, Hint(step, shape.names, known))
        return ".".join(path), shape


def compile_value(
    text: str, names: Names, place: Place | None = None, wanted: Wanted | None = None
) -> Compiled | Template:
    """A string of a flow file that holds `${...}`. A string that is one expression keeps the expression's type.

    Raises ExpressionFault; its offset counts from the beginning of the string.
    """
    pieces = list(split(text))
    if len(pieces) == 1 and pieces[0].is_expression:
        return _compile_piece(pieces[0], names, place, wanted)
    return Template(text, tuple(_compile_inside(piece, names, place) for piece in pieces))


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


def worded(kind: str) -> str:
    """A kind in words."""
    words = {"int": "a whole number", "double": "a number", "string": "text", "bool": "true or false", "null": "null"}
    return words.get(kind) or {"list": "a list", "map": "a map"}.get(kind.split("<")[0], kind)


def _compile_piece(piece: Piece, names: Names, place: Place | None, wanted: Wanted | None = None) -> Compiled:
    try:
        compiled = _compile(piece.text, names, place, wanted)
    except ExpressionFault as fault:
        raise fault.moved(piece.start) from None
    moved = tuple(replace(one, offset=one.offset + piece.start) for one in compiled.references)
    return replace(compiled, references=moved)


def _compile_inside(piece: Piece, names: Names, place: Place | None) -> str | Compiled:
    if not piece.is_expression:
        return piece.text
    compiled = _compile_piece(piece, names, place)
    if compiled.kind.startswith(("list", "map")):
        raise ExpressionFault(f"{worded(compiled.kind)} cannot be put into text", piece.start)
    return compiled


def _compile(text: str, names: Names, place: Place | None, wanted: Wanted | None) -> Compiled:
    used = tuple(references(text, names.roots))
    # has(a.b) wants the map a, which then is the declared name everywhere in this expression
    tested = sorted((one.path[:-1] for one in used if one.in_has), key=len)
    variables: dict[str, Shape] = {}
    for one in used:
        name, shape = names.find(one)
        above = next((path for path in tested if one.path[: len(path)] == path), None)
        if above:
            name, shape = ".".join(above), Shape(MAP)
        variables[name] = shape
    try:
        program = _environment(tuple((name, shape.kind) for name, shape in variables.items())).compile(text)
    except RuntimeError as error:
        raise _fault(text, str(error), names) from None
    return Compiled(text, program.return_type().name().lower(), used, place, wanted, variables, program)


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


def _fault(text: str, report: str, names: Names) -> ExpressionFault:
    """The first error of CEL's report, in our words."""
    found = _ERROR.search(report)
    if not found:
        return ExpressionFault(_CODE.sub("", report.partition("\n")[0]), 0)
    line, column, message = int(found[1]), int(found[2]), _CODE.sub("", found[3])
    offset = max(sum(len(one) + 1 for one in text.split("\n")[: max(line - 1, 0)]) + column - 1, 0)
    if unknown := _UNDECLARED.match(message):
        name = unknown[1].split(".")[0]
        start = max(text.rfind(name, 0, offset + 1), 0)  # the report points behind a dotted or called name
        hint = Hint(name, (*names.roots, *_FUNCTIONS), f". Known here: {', '.join(names.roots)}")
        return ExpressionFault(f"unknown name '{name}'", start, hint)
    if wrong := _OVERLOAD.match(message):
        function = wrong[1].strip("_").replace("_", "") or wrong[1]
        mixed = "double" in wrong[2] and "int" in wrong[2] and not function.isalpha() and function != "?:"
        hint_text = "; write 2.0 for 2, or double(...)" if mixed else ""
        return ExpressionFault(f"'{function}' does not take ({wrong[2]}){hint_text}", offset)
    message = re.sub(r" expecting .*", "", message).replace("Syntax error", "syntax error")
    return ExpressionFault(message.replace("mismatched input '<EOF>'", "the expression ends too early"), offset)


def _converted(value: Any, kind: str) -> Any:
    """JSON does not tell 2 from 2.0; CEL does."""
    if kind == "double" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in ("list<double>", "list<int>") and isinstance(value, list):
        return [_converted(one, kind[5:-1]) for one in value]
    return value


def _kind(value: Any) -> str:
    kinds = ((bool, "bool"), (int, "int"), (float, "double"), (str, "string"), (list, "list"), (Mapping, "map"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null" if value is None else "dyn")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
