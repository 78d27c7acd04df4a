"""Imports what nodes call and checks it against the flow."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

from engine.flow.faults import Faults
from engine.flow.model import Flow, Node
from engine.flow.source import Keys
from engine.flow.structure import context
from engine.flow.suggestion import Hint
from engine.node import Declaration, declaration_of


class TargetFault(Exception):
    """A `call` that cannot be used, and perhaps what was meant."""

    def __init__(self, message: str, hint: Hint | None = None) -> None:
        self.message, self.hint = message, hint
        super().__init__(message)


def check_targets(flow: Flow, faults: Faults) -> dict[str, Declaration]:
    """What each node declares, by node; a node whose code is at fault is reported and left out. Imports code."""
    declarations = {}
    for name, node in flow.nodes.items():
        if node.flow is not None:
            continue
        path: Keys = ("nodes", name, "call")
        try:
            declarations[name] = import_target(node.call)
        except TargetFault as fault:
            faults.add(path, f"{context(path)}{fault.message}", hint=fault.hint)
            continue
        for message, hint in _misfits(flow, node, declarations[name]):
            faults.add(path, f"node '{name}': {message}", hint=hint)
    return declarations


def import_target(call: str) -> Declaration:
    """What the callable at an import path declares. Raises TargetFault when it is none, or no node."""
    module_name, _, name = call.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise _missing(module_name, error) from None
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}".split("\n")[0]
        raise TargetFault(f"cannot import '{module_name}': {said}") from None
    function = getattr(module, name, None)
    if function is None:
        nodes = [one for one, value in vars(module).items() if declaration_of(value)]
        raise TargetFault(f"'{module_name}' has no '{name}'", Hint(name, nodes, _nodes_known(nodes)))
    declaration = declaration_of(function)
    if declaration is None:
        raise TargetFault(f"'{call}' is not a node; decorate it with @engine.node.node(...)")
    if not inspect.iscoroutinefunction(function):
        raise TargetFault(f"'{call}' is not async; a node is `async def {name}(inputs, ctx)`")
    if not _takes_two(function):
        raise TargetFault(f"'{call}' takes {inspect.signature(function)}; a node takes (inputs, ctx)")
    return declaration


def has_param(params: Mapping[str, Any], name: str) -> bool:
    """Whether a dotted name is a parameter or a group of them."""
    value: Any = params
    for step in name.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return False
        value = value[step]
    return True


def _misfits(flow: Flow, node: Node, declared: Declaration) -> Iterator[tuple[str, Hint | None]]:
    known = (*flow.inputs, *flow.state)
    for key in declared.reads:
        if key not in known:
            yield f"'{node.call}' reads '{key}', which is no input and no state key", Hint(key, known)
    for key in declared.writes:
        if key in flow.inputs:
            yield f"'{node.call}' writes '{key}', which is an input", None
        elif key not in flow.state:
            yield f"'{node.call}' writes '{key}', which is no state key", Hint(key, flow.state)
        elif node.map and flow.state[key].schema.get("type") not in ("array", "object"):
            kind = flow.state[key].schema.get("type", "any type")
            said = f"the items of its map write '{key}' in parallel, which its schema ({kind}) cannot hold together"
            yield f"{said}; make it an array or an object", None
    for param in declared.params:
        if not has_param(flow.params, param):
            yield (
                f"'{node.call}' uses the parameter '{param}', which the flow does not have",
                Hint(param, _dotted(flow.params)),
            )
    if node.map and node.map.name in (*declared.reads, *declared.optional):
        yield f"the item of its map is called '{node.map.name}', which '{node.call}' reads already", None


def _dotted(params: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in params.items():
        yield above + name
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{above}{name}.")


def _takes_two(function: Any) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True


def _missing(module_name: str, error: ModuleNotFoundError) -> TargetFault:
    """The part of a dotted name that is missing, or what a module that is there fails to import."""
    name = error.name or module_name
    if name != module_name and not module_name.startswith(f"{name}."):
        return TargetFault(f"cannot import '{module_name}': it imports '{name}', which is not installed")
    package, _, last = name.rpartition(".")
    near: list[str] = []
    if package:
        paths = getattr(importlib.import_module(package), "__path__", [])
        near = [one.name for one in pkgutil.iter_modules(paths)]
        return TargetFault(f"cannot import '{module_name}': '{package}' has no module '{last}'", Hint(last, near))
    return TargetFault(f"cannot import '{module_name}': no module '{name}' is installed or in the working directory")


def _nodes_known(nodes: list[str]) -> str:
    return f". Its nodes: {', '.join(nodes)}" if nodes else ". It has no nodes"
