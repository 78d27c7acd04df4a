"""What a run has done so far, and what an edited flow means for it.

A run's history is LangGraph's chain of checkpoints: one step per visit of a node. After an edit the run goes back to
the first step that depends on it; everything before is reused as it is, and of what comes after, the effects whose
requests have not changed are found in the journal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.contract import declaration_for
from engine.errors import InputError
from engine.flow.model import Flow
from engine.graph import compile_graph

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_PARAMETER = re.compile(r"\bparams((?:\.\w+)+)")
_NOT_ASKED = ("api_key_env", "price", "timeout", "retry_delay", "longest_delay")  # settings that no answer depends on
_STATE = re.compile(r"\bstate\.(\w+)")


@dataclass(frozen=True)
class Step:
    """One visit of a node: the checkpoint before it, whether it came to its end, the hashes of the state before it."""

    node: str
    visit: int
    config: Mapping[str, Any]
    done: bool
    values: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """How a run goes on: steps whose results stand, the step it goes on with (None: only its end is to be written)."""

    reused: tuple[Step, ...]
    next: Step | None
    why: str

    def lines(self) -> list[str]:
        """The plan for a person."""
        visits: dict[str, int] = {}
        for step in self.reused:
            visits[step.node] = step.visit
        reused = ", ".join(node + (f" (x{count})" if count > 1 else "") for node, count in visits.items())
        if self.next is None:
            return [f"reuse  {reused}", f"run    nothing: {self.why}"]
        again = f" (visit {self.next.visit})" if self.next.visit > 1 else ""
        return [f"reuse  {reused or 'nothing'}", f"run    {self.next.node}{again} and what follows: {self.why}"]


async def read_history(flow: Flow, saver: BaseCheckpointSaver[str], config: Any) -> list[Step]:
    """The steps that led to a run's present state, oldest first; the last one is pending unless the run is over.

    `flow` is the one that the run ran; `config` names the thread of its checkpoints.
    """
    graph = compile_graph(flow, None, saver)
    snapshots = {_checkpoint(one.config): one async for one in graph.aget_state_history(config)}
    newest = _checkpoint((await graph.aget_state(config)).config)
    steps: list[Step] = []
    link = newest
    while link in snapshots:  # a run that went back has other branches of checkpoints beside this chain
        snapshot = snapshots[link]
        node = next(iter(snapshot.next), "__start__")
        if node != "__start__":
            visit = snapshot.values["visits"].get(node, 0) + 1
            steps.append(Step(node, visit, snapshot.config, done=link != newest, values=snapshot.values["values"]))
        link = _checkpoint(snapshot.parent_config)
    return steps[::-1]


def _checkpoint(config: Any) -> Any:
    return config["configurable"].get("checkpoint_id") if config else None


def plan_resume(
    steps: Sequence[Step],
    old: Flow,
    new: Flow,
    *,
    inputs: Collection[str] = (),
    rerun: str | None = None,
    over: bool = True,
) -> Plan:
    """Where a run goes on; `inputs` are those that changed, `over` says that its record has its end.

    `steps` is not empty. Raises InputError if the run stands before a node that is gone, or nothing is left to do.
    """
    edited = changed_nodes(old, new, inputs)
    for index, step in enumerate(steps):
        why = edited.get(step.node)
        if step.node == rerun:
            why = "asked for with --rerun"
        if why is not None:
            if step.node not in new.nodes:
                raise InputError(_gone(step.node, new))
            return Plan(tuple(steps[:index]), step, why)
    if rerun is not None:
        visited = ", ".join(dict.fromkeys(step.node for step in steps))
        raise InputError(f"--rerun {rerun}: the run has not been there; it has been at: {visited}")
    if steps[-1].done and not over:
        return Plan(tuple(steps), None, "it was stopped after its last step")
    if steps[-1].done:
        raise InputError(
            "the run came to its end, and nothing it depends on has changed; --rerun NODE does a node anew"
        )
    return Plan(tuple(steps[:-1]), steps[-1], "it was not finished")


def changed_nodes(old: Flow, new: Flow, inputs: Collection[str] = ()) -> dict[str, str]:
    """The nodes whose work an edit touches, each with what changed; `inputs` are those that changed."""
    changed: dict[str, str] = {}
    for name in old.nodes:
        if name not in new.nodes:
            changed[name] = f"node '{name}' is gone"
            continue
        reasons = _differences(name, old, new, inputs)
        if reasons:
            changed[name] = ", ".join(reasons)
    return changed


def _differences(name: str, old: Flow, new: Flow, inputs: Collection[str]) -> list[str]:
    before, after = old.document["nodes"][name], new.document["nodes"][name]
    reasons = [f"'{key}' changed" for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    declared = declaration_for(new, new.nodes[name])
    text = json.dumps(after)
    params = {*declared.params, *(found[1:] for found in _PARAMETER.findall(text))}
    reasons += [f"params.{one} changed" for one in sorted(params) if _value(old.params, one) != _value(new.params, one)]
    keys = {*declared.reads, *declared.optional, *declared.writes, *_STATE.findall(text)}
    reasons += [f"state.{key} changed" for key in sorted(keys) if old.state.get(key) != new.state.get(key)]
    reasons += [f"input '{one}' changed" for one in inputs if one in keys]
    model = [_asking({**flow.model, **flow.models.get(declared.role, {})}) for flow in (old, new)]
    if model[0] != model[1]:
        reasons.append(f"the model of role '{declared.role}' changed")
    return reasons


def _asking(model: Mapping[str, Any]) -> dict[str, Any]:
    """What of a model's settings an answer may depend on."""
    return {key: value for key, value in model.items() if key not in _NOT_ASKED}


def _value(params: Mapping[str, Any], dotted: str) -> Any:
    value: Any = params
    for part in dotted.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return value if value is not params else None
        value = value[part]
    return value


def _gone(node: str, flow: Flow) -> str:
    return (
        f"the run is to go on at node '{node}', which the flow no longer has (it has: {', '.join(flow.nodes)}). "
        "Keep that node, or fork the run at an earlier one with: flowrun fork RUN --at NODE"
    )
