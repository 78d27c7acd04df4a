"""A flow as the engine sees it: loaded, merged, checked; every expression compiled."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Place:
    """Where something stands in a flow file; `line` and `column` count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Expression(Protocol):
    """A compiled `${...}`."""

    @property
    def text(self) -> str:
        """The expression as written, without `${` and `}`."""

    def evaluate(self, scope: Mapping[str, Any]) -> Any:
        """Its value. `scope` holds `inputs`, `params`, `state`, and in a map the item under its name."""


@dataclass(frozen=True)
class Edge:
    """A way on: to a node or `END`, if its guard holds (None: always)."""

    to: str
    when: Expression | None = None


@dataclass(frozen=True)
class Map:
    """Runs a node once per element of `over`.

    name          the item's name in expressions and in the node's inputs (`as`)
    key           the item's identity (string or integer, unique); without it the index
    after         keys of the items that must be done before this one
    lane          items of one lane run one at a time
    priority      the greatest goes first among the ready ones: a number or a list of numbers
    max_parallel  how many items run at once over all lanes
    """

    over: Expression
    name: str
    key: Expression | None = None
    after: Expression | None = None
    lane: Expression | None = None
    priority: Expression | None = None
    max_parallel: int | None = None


@dataclass(frozen=True)
class Retry:
    """How often a node that raises is tried in all, and the first pause in seconds (it doubles)."""

    attempts: int = 1
    delay: float = 1.0


@dataclass(frozen=True)
class Node:
    """One step of a flow.

    call  an import path `package.module:function`, or "placeholder"; empty for a subflow
    flow  the name of the flow that this node stands for; None for a call
    """

    name: str
    call: str
    next: tuple[Edge, ...]
    place: Place = field(compare=False)
    when: Expression | None = None
    map: Map | None = None
    retry: Retry = Retry()
    timeout: float | None = None
    on_item_error: Literal["fail", "continue"] = "fail"
    max_visits: int | None = None
    on_exhausted: str = "fail"
    approve: bool = False
    flow: str | None = None


@dataclass(frozen=True)
class Input:
    """What the user hands to a run: a file, or a value."""

    name: str
    type: Literal["file", "string", "integer", "number", "boolean"]
    help: str = ""
    required: bool = True
    default: Any = None


@dataclass(frozen=True)
class StateKey:
    """A state key: its JSON Schema and how a new value meets the old one.

    replace  the new value stands
    append   a list is extended
    update   an object is updated key by key
    """

    name: str
    schema: Mapping[str, Any]
    reduce: Literal["replace", "append", "update"] = "replace"


@dataclass(frozen=True)
class Flow:
    """A whole flow. `document` is the resolved file as plain data; loading it again gives the same flow.

    subflows  the flows that are nodes here, by node
    """

    name: str
    summary: str
    inputs: Mapping[str, Input]
    params: Mapping[str, Any]
    state: Mapping[str, StateKey]
    nodes: Mapping[str, Node]
    start: str
    finish: str | None
    model: Mapping[str, Any]
    models: Mapping[str, Mapping[str, Any]]
    budget: Mapping[str, Any]
    sandbox: Mapping[str, Any]
    document: Mapping[str, Any]
    files: tuple[str, ...] = field(default=(), compare=False)
    subflows: Mapping[str, Flow] = field(default_factory=dict, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the resolved flow."""
        text = json.dumps(self.document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
