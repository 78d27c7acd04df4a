"""Makes Nodes of their documents: edges, maps, guards, retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.flow import units
from engine.flow.expressions import (
    BOOLEAN,
    KEY,
    KEY_OR_NULL,
    LIST,
    RANK,
    Compiled,
    Names,
    Template,
    Wanted,
    compile_value,
    item_shape,
    worded,
)
from engine.flow.faults import Faults
from engine.flow.layers import Layers
from engine.flow.model import Edge, Expression, Map, Node, Retry
from engine.flow.scanner import ExpressionFault, Reference
from engine.flow.settings import Settings
from engine.flow.source import Keys
from engine.flow.structure import context

PLACEHOLDER = "engine.placeholder:unwritten"


@dataclass
class NodeBuilder:
    """Builds the nodes of one flow. `used` gathers what their expressions name, with the path of each."""

    layers: Layers
    names: Names
    settings: Settings
    faults: Faults
    used: list[tuple[Keys, Reference]]

    def node(self, name: str, given: Mapping[str, Any], flow: str | None) -> Node:
        """One node; `flow` is the name of the flow that it stands for, if it does."""
        path: Keys = ("nodes", name)
        call = given.get("call", "")
        return Node(
            name=name,
            call=PLACEHOLDER if call == "placeholder" else call,
            next=self._edges((*path, "next"), given.get("next", "END")),
            place=self.layers.place(path),
            when=self._guard((*path, "when"), given.get("when")),
            map=self._map((*path, "map"), given["map"]) if "map" in given else None,
            retry=self._retry((*path, "retry"), given.get("retry", {})),
            timeout=self._settled(path, given, "timeout", units.seconds),
            on_item_error=given.get("on_item_error", "fail"),
            max_visits=self._settled(path, given, "max_visits", int),
            on_exhausted=given.get("on_exhausted", "fail"),
            approve=given.get("approve", False),
            flow=flow,
        )

    def _edges(self, path: Keys, given: str | list[Mapping[str, Any]]) -> tuple[Edge, ...]:
        if isinstance(given, str):
            return (Edge(given),)
        return tuple(
            Edge(one["to"], self._guard((*path, number, "when"), one.get("when"))) for number, one in enumerate(given)
        )

    def _map(self, path: Keys, given: Mapping[str, Any]) -> Map | None:
        over = self._expression((*path, "over"), given["over"], self.names, LIST)
        name = given["as"]
        if name in self.names.roots:
            self.faults.add((*path, "as"), f"{context(path)}as: '{name}' is a name that every expression has already")
            return None
        if over is None:
            return None
        names = self.names.with_item(name, item_shape(over, self.names))

        def part(key: str, wanted: Wanted) -> Expression | None:
            return self._expression((*path, key), given[key], names, wanted) if key in given else None

        return Map(
            over=over,
            name=name,
            key=part("key", KEY),
            after=part("after", LIST),
            lane=part("lane", KEY_OR_NULL),
            priority=part("priority", RANK),
            max_parallel=self._settled(path, given, "max_parallel", int),
        )

    def _retry(self, path: Keys, given: Mapping[str, Any]) -> Retry:
        return Retry(
            attempts=self._settled(path, given, "attempts", int, Retry().attempts),
            delay=self._settled(path, given, "delay", units.seconds, Retry().delay),
        )

    def _settled(
        self, path: Keys, given: Mapping[str, Any], key: str, convert: Callable[[Any], Any], default: Any = None
    ) -> Any:
        value = self.settings.value((*path, key), given.get(key))
        return default if value is None else convert(value)

    def _guard(self, path: Keys, given: bool | str | None) -> Expression | None:
        if given is None:
            return None
        text = given if isinstance(given, str) else f"${{{str(given).lower()}}}"
        return self._expression(path, text, self.names, BOOLEAN) or Compiled(text, "dyn")

    def _expression(self, path: Keys, text: str, names: Names, wanted: Wanted) -> Compiled | Template | None:
        source, spot = self.layers.origin(path)
        try:
            found = compile_value(text, names, source.place(spot.line, spot.column), wanted)
        except ExpressionFault as fault:
            self.faults.add_expression(path, fault)
            return None
        self.used += [(path, one) for one in found.references]
        if not wanted.allows(found.kind):
            message = f"{context(path)}expected {wanted.words}, but the expression gives {worded(found.kind)}"
            self.faults.add(path, message)
        return found
