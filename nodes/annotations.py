"""Whether a type written in code can stand for the one that the contract writes.

Spelling does not count: `Optional[int]` is `int | None`, `"Item"` is `Item`, `typing.List` is `list`. What cannot be
judged (a foreign class, a type variable, `Any`) is taken to fit.
"""

from __future__ import annotations

import ast
import builtins
import collections
import collections.abc
import contextlib
import datetime
import decimal
import enum
import fractions
import io
import os
import pathlib
import re
import types
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

_WRAPPERS = {"Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar", "Awaitable"}
_UNKNOWN = {"Any", "Literal", "Self", "Unpack", "TypeGuard", "TypeIs", "LiteralString", "Never", "NoReturn", "object"}
_OLD = {"List": "list", "Dict": "dict", "FrozenSet": "frozenset", "Tuple": "tuple", "Type": "type", "Text": "str"}
_OLD |= {"DefaultDict": "defaultdict", "ContextManager": "AbstractContextManager"}
_TOWER = {("float", "int"), ("complex", "int"), ("complex", "float")}


@dataclass(frozen=True)
class Kind:
    """A type's last name and what stands in its brackets."""

    name: str
    arguments: tuple[Kinds | None, ...] = ()


Kinds = frozenset[Kind]  # the members of a union; None in place of one is a type that cannot be judged


@dataclass(frozen=True)
class Names:
    """What a file's names stand for.

    aliases   a name -> the expression that it is short for, or None when it cannot be judged
    related   whether one class of the tree derives from the other, in either direction; None for a foreign one
    """

    aliases: Mapping[str, ast.expr | None]
    related: Callable[[str, str], bool | None]


def fits(promised: ast.expr, found: ast.expr, names: Names, *, given: bool) -> bool:
    """Whether `found` can be written where the contract promises `promised`.

    A parameter (`given`) must take each type that the contract lets a caller give; a result must be none that the
    contract does not name.
    """
    wide, narrow = _kinds(promised, names, 0), _kinds(found, names, 0)
    return _covers(narrow, wide, names) if given else _covers(wide, narrow, names)


def _covers(wide: Kinds | None, narrow: Kinds | None, names: Names) -> bool:
    if wide is None or narrow is None:
        return True
    return all(any(_related(one, other, names) for one in wide) for other in narrow)


def _related(a: Kind, b: Kind, names: Names) -> bool:
    """Whether one of two types is the other's kind: an iterator an iterable, a list a sequence."""
    if a.name == b.name:
        pairs = zip(a.arguments, b.arguments, strict=True) if len(a.arguments) == len(b.arguments) else ()
        return all(_covers(one, other, names) for one, other in pairs)
    own = names.related(a.name, b.name)
    if own is not None:
        return own
    known = _known()
    if a.name not in known or b.name not in known:
        return True
    first, second = known[a.name], known[b.name]
    return issubclass(first, second) or issubclass(second, first) or bool(_TOWER & {(a.name, b.name), (b.name, a.name)})


def _kinds(expression: ast.expr, names: Names, depth: int) -> Kinds | None:
    """A type expression as a union, or None when it cannot be judged."""
    if depth > 20:
        return None
    match expression:
        case ast.Constant(value=None):
            return frozenset({Kind("NoneType")})
        case ast.Constant(value=str(text)):
            try:
                return _kinds(ast.parse(text, mode="eval").body, names, depth + 1)
            except (SyntaxError, ValueError, RecursionError):
                return None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union([left, right], names, depth)
        case ast.Attribute(attr=name):
            return _named(name, (), names, depth)
        case ast.Name(id=name):
            return _named(name, (), names, depth)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name), slice=inner):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return _named(name, parts, names, depth)
    return None


def _named(name: str, parts: Sequence[ast.expr], names: Names, depth: int) -> Kinds | None:
    if name in names.aliases:
        meant = names.aliases[name]
        return None if meant is None else _kinds(meant, names, depth + 1)
    if name == "None":
        return frozenset({Kind("NoneType")})
    if name == "Optional" and parts:
        return _union([*parts, ast.Constant(None)], names, depth)
    if name == "Union":
        return _union(parts, names, depth)
    if name in _WRAPPERS:
        return _kinds(parts[0], names, depth + 1) if parts else None
    if name in _UNKNOWN:
        return None
    return frozenset({Kind(_OLD.get(name, name), tuple(_kinds(one, names, depth + 1) for one in parts))})


def _union(parts: Sequence[ast.expr], names: Names, depth: int) -> Kinds | None:
    found = [_kinds(one, names, depth + 1) for one in parts]
    return None if any(one is None for one in found) else frozenset(kind for one in found if one for kind in one)


@cache
def _known() -> dict[str, type]:
    """Classes that may be imported without harm, by name."""
    sources = (builtins, collections.abc, collections, contextlib, datetime, decimal, enum, fractions, io, os, pathlib)
    found: dict[str, type] = {"NoneType": type(None), "Pattern": re.Pattern, "Match": re.Match}
    for module in (*sources, types, uuid):
        for name, value in vars(module).items():
            if isinstance(value, type) and not name.startswith("_"):
                found.setdefault(name, value)
    return found
