"""Runs one node of a flow over the state: once, or once per item of its map."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from engine.context import Context
from engine.contract import (
    check_output,
    check_value,
    code_digest,
    collect_outputs,
    declaration_for,
    reduce_value,
    resolve_call,
    select_inputs,
    visible_params,
)
from engine.effects import Effects
from engine.errors import BudgetExceeded, FlowrunError, NodeError
from engine.flow.model import Flow, Map, Node
from engine.mapper import DependencyFault, MapItem, MapOutcome, run_map
from engine.models.base import digest
from engine.node import Declaration, NodeFunction
from engine.places import Place


@dataclass(frozen=True)
class StepResult:
    """New state values by key, and the budget limit that ended the step early, if one did."""

    values: Mapping[str, Any]
    exceeded: BudgetExceeded | None = None


@dataclass
class Steps:
    """Runs nodes.

    given   the flow's inputs
    prefix  what stands before the nodes' names in records: empty, or for a flow that is a node `outer.2.`
    """

    flow: Flow
    effects: Effects
    given: Mapping[str, Any]
    seed: int
    prefix: str = ""

    def __post_init__(self) -> None:
        self._calls = {name: self._resolve(node) for name, node in self.flow.nodes.items()}

    def _resolve(self, node: Node) -> tuple[NodeFunction, Declaration]:
        if node.name not in self.flow.subflows:
            return resolve_call(node)
        from engine.subflow import subflow_function

        return subflow_function(self, self.flow.subflows[node.name]), declaration_for(self.flow, node)

    def scope(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """What expressions see. A state key that nothing wrote yet is the empty value of its type."""
        empty = {name: _EMPTY.get(str(key.schema.get("type"))) for name, key in self.flow.state.items()}
        return {"inputs": self.given, "params": self.flow.params, "state": {**empty, **state}}

    async def run(self, name: str, visit: int, state: Mapping[str, Any], ended: str | None) -> StepResult:
        """Run a node for the `visit`-th time. Raises NodeError, Stopped, BudgetExceeded (outside a map)."""
        node = self.flow.nodes[name]
        function, declaration = self._calls[name]
        inputs = select_inputs(node, declaration, self.given, state, self.flow)
        call = _Call(self, node, function, declaration, inputs, visit, ended)
        self.effects.events.emit("node started", node=self.prefix + name, visit=visit)
        if node.map is None:
            outputs, exceeded = await call.once(None, {}, {}), None
        else:
            outputs, exceeded = await call.mapped(node.map, self.scope(state))
        values = {}
        for key, new in outputs.items():
            values[key] = reduce_value(self.flow.state[key], state.get(key), new)
            check_value(name, self.flow.state[key], values[key], "wrote")
        self.effects.events.emit("node finished", node=self.prefix + name, visit=visit, writes=sorted(values))
        return StepResult(values, exceeded)


_EMPTY: dict[str, Any] = {"array": [], "object": {}, "string": "", "integer": 0, "number": 0.0, "boolean": False}


@dataclass(frozen=True)
class _Call:
    steps: Steps
    node: Node
    function: NodeFunction
    declaration: Declaration
    inputs: Mapping[str, Any]
    visit: int
    ended: str | None

    @property
    def name(self) -> str:
        """The node's name in records."""
        return self.steps.prefix + self.node.name

    async def once(
        self, item: str | None, extra: Mapping[str, Any], upstream: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        """One call of the node's function, tried as often as the node's `retry` says."""
        context = Context(
            node=self.name,
            item=item,
            visit=self.visit,
            params=visible_params(self.steps.flow.params, self.declaration.params),
            upstream=upstream,
            seed=self.steps.seed,
            role=self.declaration.role,
            ended=self.ended,
            effects=self.steps.effects,
        )
        retry = self.node.retry
        for attempt in range(1, retry.attempts + 1):
            try:
                return await self._attempt({**self.inputs, **extra}, context)
            except NodeError as error:
                if attempt == retry.attempts:
                    raise
                self.steps.effects.events.emit("retry", node=self.name, item=item, why=str(error))
                await asyncio.sleep(retry.delay * 2 ** (attempt - 1))
        raise AssertionError("a retry has at least one attempt")

    async def _attempt(self, inputs: Mapping[str, Any], context: Context) -> dict[str, Any]:
        name, item = self.name, context.item
        try:
            async with asyncio.timeout(self.node.timeout):
                output = await self.function(inputs, context)
        except FlowrunError:
            raise
        except TimeoutError as error:
            raise NodeError(f"did not end within {self.node.timeout} s", node=name, item=item) from error
        except Exception as error:
            raise NodeError(f"{type(error).__name__}: {error}", node=name, item=item) from error
        return check_output(self.node, self.declaration, output, item)

    async def mapped(self, spec: Map, scope: Mapping[str, Any]) -> tuple[dict[str, Any], BudgetExceeded | None]:
        """One call per item; what the items say is put together in item order."""
        items = self._items(spec, scope)
        shared = self._identity()

        async def run_item(item: MapItem, upstream: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
            effects = self.steps.effects
            emit = effects.events.emit
            place = Place(self.name, self.visit, item.key, rerun=effects.reruns.get(self.name, 0))
            request = {**shared, "item": item.value, "upstream": {key: digest(one) for key, one in upstream.items()}}

            async def work() -> dict[str, Any]:
                emit("item started", node=self.name, item=item.key, lane=item.lane)
                return await self.once(item.key, {spec.name: item.value}, upstream)

            try:
                output, reused = await effects.item(str(place), request, work)
            except Exception as error:
                emit("item failed", node=self.name, item=item.key, why=str(error))
                raise
            emit("item finished", node=self.name, item=item.key, reused=reused)
            return output

        try:
            outcome = await run_map(
                items, run_item, max_parallel=spec.max_parallel, fail_fast=self.node.on_item_error == "fail"
            )
        except DependencyFault as fault:
            raise NodeError(str(fault), node=self.name) from fault
        return self._gather(outcome)

    def _identity(self) -> dict[str, Any]:
        """All that an item's output depends on besides the item itself and what it comes after."""
        models = {role: [one.model.name, asdict(one.decoding)] for role, one in self.steps.effects.models.items()}
        return {
            "call": self.node.call or self.node.flow,
            "code": code_digest(self.function),
            "inputs": digest(self.inputs),
            "params": digest(visible_params(self.steps.flow.params, self.declaration.params)),
            "models": digest(models),
            "seed": self.steps.seed,
        }

    def _gather(self, outcome: MapOutcome) -> tuple[dict[str, Any], BudgetExceeded | None]:
        if outcome.ended is not None and not isinstance(outcome.ended, BudgetExceeded):
            raise outcome.ended
        if outcome.errors and (self.node.on_item_error == "fail" or not outcome.outputs):
            raise next(iter(outcome.errors.values()))  # with nothing but failures there is nothing to go on with
        values = {}
        for name in self.declaration.writes:
            key = self.steps.flow.state[name]
            parts = [output[name] for output in outcome.outputs.values() if name in output]
            if parts or (not outcome.outputs and key.schema.get("type") in ("array", "object")):
                values[name] = collect_outputs(key, parts)
        return values, outcome.ended

    def _items(self, spec: Map, scope: Mapping[str, Any]) -> list[MapItem]:
        items = []
        for index, value in enumerate(spec.over.evaluate(scope)):
            seen = {**scope, spec.name: value}
            items.append(
                MapItem(
                    key=str(index if spec.key is None else spec.key.evaluate(seen)),
                    value=value,
                    after=() if spec.after is None else tuple(str(key) for key in spec.after.evaluate(seen)),
                    lane=None if spec.lane is None else str(spec.lane.evaluate(seen)),
                    priority=() if spec.priority is None else _rank(spec.priority.evaluate(seen)),
                )
            )
        return items


def _rank(value: Any) -> tuple[float, ...]:
    return tuple(value) if isinstance(value, list) else (value,)
