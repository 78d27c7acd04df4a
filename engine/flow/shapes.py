"""What is known of a value before a run: its type in expressions, and the fields it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_DEEPEST = 20
_KINDS = {"integer": "int", "number": "double", "string": "string", "boolean": "bool", "null": "null"}


@dataclass(frozen=True)
class Shape:
    """A type, as CEL writes it: "int", "list<string>", "map<string, dyn>", "dyn".

    names   the known fields of a map; `open` says whether it may have others
    inside  the shape of a field by name, or of a list's items by None; worked out when asked for, since a schema
            may contain itself
    """

    kind: str = "dyn"
    names: tuple[str, ...] = ()
    open: bool = True
    inside: Callable[[str | None], Shape] = lambda _: Shape()

    @property
    def item(self) -> Shape:
        """The shape of a list's items."""
        return self.inside(None)


ANY = Shape()
MAP = "map<string, dyn>"


def group(fields: Mapping[str, Shape]) -> Shape:
    """A map with just these fields."""
    return Shape(MAP, tuple(fields), False, lambda name: fields[str(name)])


def list_of(item: Shape) -> Shape:
    """A list of such items."""
    return Shape(f"list<{item.kind}>", inside=lambda _: item)


def shape_of_value(value: Any) -> Shape:
    """The shape of plain data. An empty map may get any field."""
    if isinstance(value, bool):
        return Shape("bool")
    if isinstance(value, int):
        return Shape("int")
    if isinstance(value, float):
        return Shape("double")
    if isinstance(value, str):
        return Shape("string")
    if isinstance(value, Mapping):
        return Shape(MAP, tuple(value), not value, lambda name: shape_of_value(value[name]))
    if isinstance(value, list):
        items = [shape_of_value(one) for one in value]
        return list_of(items[0] if items and all(one.kind == items[0].kind != MAP for one in items) else ANY)
    return ANY


def shape_of_schema(schema: Any, root: Any = None, depth: int = 0) -> Shape:
    """The shape of what a JSON Schema allows; `dyn` where it allows several types. `root` is what `$ref` is about."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return ANY
    root = schema if root is None else root
    if isinstance(schema.get("$ref"), str):
        return shape_of_schema(pointed(root, schema["$ref"]), root, depth + 1)
    kind = schema.get("type")
    if kind == "object":
        return _object(schema, root, depth)
    if kind == "array":
        return list_of(shape_of_schema(schema.get("items"), root, depth + 1))
    if isinstance(kind, str) and kind in _KINDS:
        return Shape(_KINDS[kind])
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if kind is None and isinstance(values, list):
        item = shape_of_value(values).item
        return item if item.kind in _KINDS.values() else ANY
    return ANY


def pointed(root: Any, reference: str) -> Any:
    """What "#/a/b" points to, or None."""
    if not reference.startswith("#"):
        return None
    value = root
    for part in reference[1:].split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _object(schema: Mapping[str, Any], root: Any, depth: int) -> Shape:
    properties = schema.get("properties")
    fields = properties if isinstance(properties, Mapping) else {}
    others = schema.get("additionalProperties", True)
    if not fields and isinstance(others, Mapping):
        item = shape_of_schema(others, root, depth + 1)
        return Shape(f"map<string, {item.kind}>", inside=lambda _: item)
    is_open = others is not False or "patternProperties" in schema
    return Shape(MAP, tuple(fields), is_open, lambda name: shape_of_schema(fields[name], root))
