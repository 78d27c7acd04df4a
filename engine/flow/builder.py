"""Makes a Flow of a document whose structure is right: compiles expressions, reads schemas, settles values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.flow import units
from engine.flow.expressions import Compiled, ExpressionFault, Names, Reference, Template, compile_value, item_shape
from engine.flow.faults import Faults
from engine.flow.layers import Layers
from engine.flow.model import Edge, Expression, Flow, Input, Map, Node, Retry, StateKey
from engine.flow.schemas import Bundler, SchemaFault
from engine.flow.settings import BUDGET, SANDBOX, Settings
from engine.flow.shapes import Shape, group, shape_of_schema, shape_of_value
from engine.flow.source import Keys
from engine.flow.structure import context

_INPUT_KINDS = {"file": "string", "string": "string", "integer": "int", "number": "double", "boolean": "bool"}
_SINGLE = ("bool", "dyn")


@dataclass
class Builder:
    """Builds the flow of `document`; what is wrong goes to `faults`, and a part that is wrong is left out."""

    layers: Layers
    document: Mapping[str, Any]
    faults: Faults
    used: list[Reference] = field(default_factory=list)
    schema_files: tuple[str, ...] = ()

    def build(self) -> Flow:
        """The flow, to be used only if there are no faults."""
        inputs = {name: _input(name, given) for name, given in self._section("inputs").items()}
        params = self._section("params")
        state = self._state()
        self.names = Names(
            {
                "inputs": group({name: Shape(_INPUT_KINDS.get(one.type, "dyn")) for name, one in inputs.items()}),
                "params": _closed(shape_of_value(params)),
                "state": group({name: shape_of_schema(one.schema) for name, one in state.items()}),
            }
        )
        self.settings = Settings(params, Names({"params": self.names.roots["params"]}), self.faults, self.used)
        nodes = {name: self._node(name, given) for name, given in self._section("nodes").items()}
        models = self._section("models")
        return Flow(
            name=self.document.get("name", ""),
            summary=self.document.get("summary", ""),
            inputs=inputs,
            params=params,
            state=state,
            nodes=nodes,
            start=self.document.get("start") or next(iter(nodes), ""),
            finish=self.document.get("finish"),
            model=self.settings.section(("model",), self._section("model"), {}),
            models={role: self.settings.section(("models", role), one, {}) for role, one in models.items()},
            budget=self.settings.section(("budget",), self._section("budget"), BUDGET),
            sandbox=self.settings.section(("sandbox",), self._section("sandbox"), SANDBOX),
            document=self._resolved(state),
            files=(*self.layers.files, *self.schema_files),
        )

    def _section(self, name: str) -> Mapping[str, Any]:
        section = self.document.get(name, {})
        assert isinstance(section, Mapping)
        return section

    def _state(self) -> dict[str, StateKey]:
        bundler = Bundler()
        state = {}
        for name, given in self._section("state").items():
            path = ("state", name, "schema")
            try:
                schema = self._schema(bundler, path, given["schema"])
            except SchemaFault as fault:
                self.faults.add(path, f"{context(path)}{fault.message}")
                self.faults.found += [fault.diagnostic] if fault.diagnostic else []
                schema = {}
            state[name] = StateKey(name, schema, given.get("reduce", "replace"))
        self.schema_files = tuple(str(one) for one in bundler.files)
        return state

    def _schema(self, bundler: Bundler, path: Keys, given: Any) -> dict[str, Any]:
        if isinstance(given, str):
            return bundler.from_file(self.layers.folder(path) / given)
        return bundler.inline(given, lambda inside: self.layers.folder((*path, *inside)))

    def _node(self, name: str, given: Mapping[str, Any]) -> Node:
        path: Keys = ("nodes", name)
        retry = given.get("retry", {})
        flow = given.get("flow")
        timeout = self._settled(path, given, "timeout", units.seconds)
        return Node(
            name=name,
            call=given.get("call", ""),
            next=self._edges((*path, "next"), given.get("next", "END")),
            place=self.layers.place(path),
            when=self._guard((*path, "when"), given.get("when"), self.names),
            map=self._map((*path, "map"), given["map"]) if "map" in given else None,
            retry=Retry(
                attempts=self._settled((*path, "retry"), retry, "attempts", int) or Retry().attempts,
                delay=self._settled((*path, "retry"), retry, "delay", units.seconds, Retry().delay),
            ),
            timeout=timeout,
            on_item_error=given.get("on_item_error", "fail"),
            max_visits=self._settled(path, given, "max_visits", int),
            on_exhausted=given.get("on_exhausted", "fail"),
            approve=given.get("approve", False),
            flow=flow.get("name") if isinstance(flow, Mapping) else flow,
        )

    def _settled(
        self, path: Keys, given: Mapping[str, Any], key: str, convert: Callable[[Any], Any], default: Any = None
    ) -> Any:
        value = self.settings.value((*path, key), given.get(key))
        return default if value is None else convert(value)

    def _edges(self, path: Keys, given: str | list[Mapping[str, Any]]) -> tuple[Edge, ...]:
        if isinstance(given, str):
            return (Edge(given),)
        return tuple(
            Edge(one["to"], self._guard((*path, number, "when"), one.get("when"), self.names))
            for number, one in enumerate(given)
        )

    def _map(self, path: Keys, given: Mapping[str, Any]) -> Map | None:
        over = self._expression((*path, "over"), given["over"], self.names, ("list", "dyn"), "a list")
        name = given["as"]
        if name in self.names.roots:
            self.faults.add(
                (*path, "as"), f"{context(path)}the item cannot be called '{name}', which means something else"
            )
            return None
        if over is None:
            return None
        names = self.names.with_item(name, item_shape(over, self.names))
        one = ("string", "int", "dyn")

        def part(key: str, kinds: tuple[str, ...], what: str) -> Expression | None:
            return self._expression((*path, key), given[key], names, kinds, what) if key in given else None

        return Map(
            over=over,
            name=name,
            key=part("key", one, "a string or a whole number"),
            after=part("after", ("list", "dyn"), "a list of keys"),
            lane=part("lane", (*one, "null"), "a string or a whole number"),
            priority=part("priority", ("int", "double", "list", "dyn"), "a number or a list of numbers"),
            max_parallel=self._settled(path, given, "max_parallel", int),
        )

    def _guard(self, path: Keys, given: bool | str | None, names: Names) -> Expression | None:
        if given is None:
            return None
        text = given if isinstance(given, str) else f"${{{str(given).lower()}}}"
        return self._expression(path, text, names, _SINGLE, "true or false")

    def _expression(
        self, path: Keys, text: str, names: Names, kinds: tuple[str, ...], what: str
    ) -> Compiled | Template | None:
        source, spot = self.layers.origin(path)
        try:
            found = compile_value(text, names, source.place(spot.line, spot.column))
        except ExpressionFault as fault:
            self.faults.add_expression(path, text, fault)
            return None
        self.used += found.references
        if found.kind.split("<")[0] not in kinds:
            self.faults.add(path, f"{context(path)}expected {what}, but the expression gives {_worded(found.kind)}")
        return found

    def _resolved(self, state: Mapping[str, StateKey]) -> dict[str, Any]:
        document = dict(self.document)
        if state:
            given = self._section("state")
            document["state"] = {name: {**given[name], "schema": dict(one.schema)} for name, one in state.items()}
        return document


def _input(name: str, given: Mapping[str, Any]) -> Input:
    required = given.get("required", True) and "default" not in given
    return Input(name, given["type"], given.get("help", ""), required, given.get("default"))


def _closed(shape: Shape) -> Shape:
    return Shape(shape.kind, shape.names, False, shape.inside)


def _worded(kind: str) -> str:
    words = {"int": "a whole number", "double": "a number", "string": "text", "bool": "true or false", "null": "null"}
    return words.get(kind) or ("a list" if kind.startswith("list") else "a map" if kind.startswith("map") else kind)
