"""A value of a type that was not promised: which expressions of a failing line may have it, and which file gave it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nodes.annotations import fits
from nodes.error_text import missing_member, operand_types, seen_type
from nodes.evidence import Evidence
from nodes.value_flow import Origin, Place, argument


def giver(evidence: Evidence, index: int, place: Place, expression: ast.expr, seen: str) -> str | None:
    """The file that gave a value of the type `seen` though it promised another; parameters are followed outwards."""
    origin = place.origin(expression)
    if origin is None or origin.promised is None or keeps_promise(evidence, origin, place, seen):
        return None
    if not origin.parameter:
        return origin.path if origin.path != place.path else None
    source = given(evidence, index, place, origin.name)
    return giver(evidence, index + 1, *source, seen) if source else None


def given(evidence: Evidence, index: int, place: Place, parameter: str) -> tuple[Place, ast.expr] | None:
    """The line that called the place's function, and the expression that it gave for a parameter."""
    if index + 1 >= len(evidence.places) or place.function is None:
        return None
    caller = evidence.places[index + 1]
    for node in caller.nodes():
        if isinstance(node, ast.Call) and _last(node.func) in (place.function.name, place.owner):
            value = argument(node, place.function, parameter)
            if value is not None:
                return caller, value
    return None


def keeps_promise(evidence: Evidence, origin: Origin, place: Place, seen: str) -> bool:
    """Whether a value of the type `seen` is what its origin promised, or may be."""
    home = origin.path if origin.path in evidence.project.code else place.path
    if origin.promised is None or home not in evidence.project.code:
        return True
    shown: ast.expr = ast.Constant(None) if seen == "NoneType" else ast.Name(seen)
    return fits(origin.promised, shown, evidence.project.names(home), given=False)


def suspicious(place: Place, text: str) -> Iterator[list[tuple[ast.expr, str]]]:
    """The expressions of a failing line whose values may have the types that the error names, by operation."""
    nodes = place.nodes()
    if pair := operand_types(text):
        first, second = pair
        for node in nodes:
            match node:
                case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                    yield [*((one, first) for one in _parts(left)), *((one, second) for one in _parts(right))]
        return
    seen = seen_type(text)
    if seen is None:
        return
    _, member = missing_member(text) or ("", None)
    for node in nodes:
        yield from ([(value, seen)] for value in _operands(node, member))


def _operands(node: ast.AST, member: str | None) -> list[ast.expr]:
    """What an operation works on: a member of it is read, it is looked up in, run over, unpacked or handed on."""
    match node:
        case ast.Attribute(value=value, attr=attribute) if member in (None, attribute):
            return [value]
        case ast.Subscript(value=value) if member is None:
            return [value]
        case ast.Call(args=values) if member is None:
            return list(values)
        case ast.For(iter=value) | ast.comprehension(iter=value) | ast.Starred(value=value) if member is None:
            return [value]
        case ast.Assign(targets=[ast.Tuple() | ast.List()], value=value):
            return [value]
    return []


def _parts(operand: ast.expr) -> Iterator[ast.expr]:
    """An operand, and the operands that it is computed of, which have its type."""
    yield operand
    if isinstance(operand, ast.BinOp):
        yield from _parts(operand.left)
        yield from _parts(operand.right)


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
