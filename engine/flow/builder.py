"""Makes a Flow of a document whose structure is right: reads schemas, compiles expressions, settles values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.flow.expressions import Names
from engine.flow.faults import MOST, Faults
from engine.flow.layers import Layers
from engine.flow.model import Flow, Input, StateKey
from engine.flow.nodes import NodeBuilder
from engine.flow.scanner import Reference
from engine.flow.schemas import Bundler, SchemaFault
from engine.flow.settings import BUDGET, MODEL, SANDBOX, Settings
from engine.flow.shapes import Shape, group, shape_of_schema, shape_of_value
from engine.flow.source import Keys
from engine.flow.structure import context, shown

_KINDS = {"file": "string", "string": "string", "integer": "int", "number": "double", "boolean": "bool"}
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


@dataclass
class Builder:
    """Builds the flow of `document`; what is wrong goes to `faults`, and a part that is wrong is left out.

    used       what expressions name, and the path of each expression
    subflows   the documents of the flows that are nodes here, by node; filled in by the loader
    """

    layers: Layers
    document: Mapping[str, Any]
    faults: Faults
    used: list[tuple[Keys, Reference]] = field(default_factory=list)
    subflows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    schema_files: tuple[str, ...] = ()

    def build(self) -> Flow:
        """The flow, to be used only if there are no faults."""
        inputs = {name: self._input(name, given) for name, given in self._section("inputs").items()}
        params, state = self._section("params"), self._state()
        names = Names(
            {
                "inputs": group({name: Shape(_KINDS.get(one.type, "dyn")) for name, one in inputs.items()}),
                "params": _closed(shape_of_value(params)),
                "state": group({name: shape_of_schema(one.schema) for name, one in state.items()}),
            }
        )
        settings = Settings(params, Names({"params": names.roots["params"]}), self.faults, self.used)
        builder = NodeBuilder(self.layers, names, settings, self.faults, self.used)
        nodes = {
            name: builder.node(name, given, self._flow_name(name, given))
            for name, given in self._section("nodes").items()
        }
        models = self._section("models")
        return Flow(
            name=str(self.document.get("name", "")),
            summary=str(self.document.get("summary", "")),
            inputs=inputs,
            params=params,
            state=state,
            nodes=nodes,
            start=self.document.get("start") or next(iter(nodes)),
            finish=self.document.get("finish"),
            model=settings.section(("model",), self._section("model"), MODEL),
            models={role: settings.section(("models", role), one, MODEL) for role, one in models.items()},
            budget=settings.section(("budget",), self._section("budget"), BUDGET),
            sandbox=settings.section(("sandbox",), self._section("sandbox"), SANDBOX),
            document=self._resolved(state),
            files=(*self.layers.files, *self.schema_files),
        )

    def _section(self, name: str) -> Mapping[str, Any]:
        section = self.document.get(name, {})
        assert isinstance(section, Mapping)
        return section

    def _input(self, name: str, given: Mapping[str, Any]) -> Input:
        path: Keys = ("inputs", name)
        kind, default = given["type"], given.get("default")
        if default is not None and (kind == "file" or type(default) not in _TYPES.get(kind, (type(default),))):
            what = "a file has no default" if kind == "file" else f"{shown(default)} does not fit the type '{kind}'"
            self.faults.add((*path, "default"), f"{context(path)}default: {what}")
        required = given.get("required", True) and default is None
        return Input(name, kind, given.get("help", ""), required, default)

    def _state(self) -> dict[str, StateKey]:
        bundler = Bundler()
        state = {}
        for name, given in self._section("state").items():
            if len(self.faults.found) > MOST:
                break
            state[name] = StateKey(name, self._schema(bundler, name, given["schema"]), given.get("reduce", "replace"))
            self._check_key(state[name])
        self.schema_files = tuple(str(one) for one in bundler.files)
        return state

    def _schema(self, bundler: Bundler, name: str, given: Any) -> dict[str, Any]:
        path: Keys = ("state", name, "schema")
        folder: Callable[[Keys], Any] = lambda inside: self.layers.folder((*path, *inside))  # noqa: E731
        try:
            return bundler.from_file(folder(()) / given) if isinstance(given, str) else bundler.inline(given, folder)
        except SchemaFault as fault:
            self.faults.add(path, f"{context(path)}{fault.message}")
            self.faults.others += [fault.diagnostic] if fault.diagnostic else []
            return {}

    def _check_key(self, key: StateKey) -> None:
        path: Keys = ("state", key.name)
        if key.name in self._section("inputs"):
            self.faults.add(path, f"{context(path)}an input has this name already", key=True)
        needed = {"append": "array", "update": "object"}.get(key.reduce)
        kind = key.schema.get("type", needed)
        if needed and kind != needed:
            what = "a list" if needed == "array" else "an object"
            said = f"{context((*path, 'reduce'))}'{key.reduce}' is for {what}, but the schema says {shown(kind)}"
            self.faults.add((*path, "reduce"), said)

    def _flow_name(self, node: str, given: Mapping[str, Any]) -> str | None:
        if "flow" not in given:
            return None
        return str(self.subflows[node]["name"] if node in self.subflows else given["flow"])

    def _resolved(self, state: Mapping[str, StateKey]) -> dict[str, Any]:
        """The document with schemas and subflows written out, so that it needs no other file."""
        document = dict(self.document)
        document.setdefault("start", next(iter(document["nodes"])))
        if state:
            given = self._section("state")
            document["state"] = {name: {**given[name], "schema": dict(one.schema)} for name, one in state.items()}
        nodes = document["nodes"]
        document["nodes"] = {**nodes, **{name: {**nodes[name], "flow": one} for name, one in self.subflows.items()}}
        return document


def _closed(shape: Shape) -> Shape:
    return Shape(shape.kind, shape.names, False, shape.inside)
