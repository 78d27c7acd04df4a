"""The contract of a node at run time: what goes in and what comes out is checked against the state's JSON Schemas."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.errors import InputError, NodeError
from engine.flow.model import Flow, Node, StateKey
from engine.node import Declaration, NodeFunction, declaration_of


def resolve_call(node: Node) -> tuple[NodeFunction, Declaration]:
    """The callable behind a node's `call`, and what it declares. Raises InputError with the node's place."""
    module, _, name = node.call.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{node.place}: node '{node.name}': cannot import '{node.call}': {error}") from error
    declaration = declaration_of(function)
    if declaration is None:
        raise InputError(
            f"{node.place}: node '{node.name}': '{node.call}' is not a node; decorate it with @engine.node.node(...)"
        )
    return function, declaration


def code_digest(function: NodeFunction) -> str:
    """A digest of the code and the prompts that a node may use: what older ones gave back is not taken for its own.

    They are the files of the node's top-level package, or its own file where it is in none.
    """
    module = sys.modules.get(function.__module__)
    package = sys.modules.get(function.__module__.partition(".")[0])
    folder = next(iter(getattr(package, "__path__", ())), None)
    file = getattr(module, "__file__", None)
    return _digest(Path(folder)) if folder else _digest(Path(file)) if file else ""


@cache
def _digest(place: Path) -> str:
    files = [place] if place.is_file() else sorted(place.rglob("*.py")) + sorted(place.rglob("prompts/*.md"))
    found = hashlib.sha256()
    for file in files:
        found.update(f"{file.relative_to(place)}\0".encode("utf-8", "surrogateescape"))
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def declaration_for(flow: Flow, node: Node) -> Declaration:
    """What a node declares. One that is a flow itself reads its inputs and writes the state keys that both have."""
    inside = flow.subflows.get(node.name)
    if inside is None:
        return resolve_call(node)[1]
    required = tuple(one.name for one in inside.inputs.values() if one.required)
    optional = tuple(one.name for one in inside.inputs.values() if not one.required)
    return Declaration(required, optional, tuple(key for key in inside.state if key in flow.state))


def declared_roles(flow: Flow) -> set[str]:
    """The roles that a flow's nodes have, those of the flows among them too."""
    own = {declaration_for(flow, node).role for name, node in flow.nodes.items() if name not in flow.subflows}
    return own.union(*(declared_roles(inside) for inside in flow.subflows.values()))


def visible_params(params: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The part of the parameters that a node declared, nested as they are."""
    visible: dict[str, Any] = {}
    for name in names:
        *groups, leaf = name.split(".")
        source, target = params, visible
        for group in groups:
            source, target = source[group], target.setdefault(group, {})
        target[leaf] = source[leaf]
    return visible


def select_inputs(
    node: Node, declaration: Declaration, given: Mapping[str, Any], state: Mapping[str, Any], flow: Flow
) -> dict[str, Any]:
    """What a node reads, checked. Raises NodeError for what is missing or does not fit."""
    inputs: dict[str, Any] = {}
    for name in (*declaration.reads, *declaration.optional):
        if name in given:
            inputs[name] = given[name]
        elif name in state:
            check_value(node.name, flow.state[name], state[name], "reads")
            inputs[name] = state[name]
        elif name in declaration.reads:
            raise NodeError(f"reads '{name}', which nothing before it wrote", node=node.name)
    return inputs


def check_output(node: Node, declaration: Declaration, output: object, item: str | None) -> dict[str, Any]:
    """A node's output as a dict with declared keys only. Raises NodeError."""
    if not isinstance(output, dict):
        raise NodeError(f"returned {type(output).__name__}, not a dict", node=node.name, item=item)
    unknown = sorted(str(name) for name in output if name not in declaration.writes)
    if unknown:
        raise NodeError(f"wrote {', '.join(unknown)}, which it does not declare", node=node.name, item=item)
    return output


def check_value(node: str, key: StateKey, value: Any, verb: str) -> None:
    """Raise NodeError if a state value does not satisfy its schema."""
    error = next(iter(_validator(json.dumps(key.schema)).iter_errors(value)), None)
    if error is not None:
        raise NodeError(f"{verb} '{key.name}' with a wrong shape: {error.json_path}: {error.message[:300]}", node=node)


def collect_outputs(key: StateKey, contributions: list[Any]) -> Any:
    """What the items of a map say for one key: elements of a list, or parts of one object."""
    if key.schema.get("type") == "object":
        return {name: value for part in contributions for name, value in part.items()}
    return contributions


def reduce_value(key: StateKey, old: Any, new: Any) -> Any:
    """A state key's next value."""
    if old is None or key.reduce == "replace":
        return new
    return [*old, *new] if key.reduce == "append" else {**old, **new}


@cache
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema))
