"""From a flow file to a Flow, with everything that is wrong with it said at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from engine.errors import Diagnostic, FlowError, InputError
from engine.flow.builder import Builder
from engine.flow.checks.graph import check_names, check_nodes, check_paths
from engine.flow.faults import MOST, Faults
from engine.flow.layers import Layers, read_layers
from engine.flow.library import find_flow
from engine.flow.model import Flow
from engine.flow.repair import repaired
from engine.flow.scanner import Reference
from engine.flow.source import Keys, absolute
from engine.flow.structure import flaws

MAX_NODES = 100_000
MAX_NESTING = 20
MAX_FLAWS = 1000  # a document with more is not looked at further


def load_flow(path_or_name: str, *, sets: Sequence[str] = (), set_files: Sequence[str] = ()) -> Flow:
    """Load a flow by path, or by the name of one that comes with flowrun.

    sets       overrides `path=value`, the value YAML: "qa.max_rounds=2", "model.temperature=0"
    set_files  overrides `path=FILE`, the value the file's text

    Nothing is imported that the flow names. Raises FlowError with all that is wrong and InputError when there is no
    such flow.
    """
    loaded = load(path_or_name, sets=sets, set_files=set_files)
    loaded.raise_all()
    return loaded.flow


def check_flow(path_or_name: str, *, sets: Sequence[str] = (), set_files: Sequence[str] = ()) -> Flow:
    """Load a flow and import what it calls, to check the code against the flow. Raises as `load_flow` does."""
    loaded = load(path_or_name, sets=sets, set_files=set_files)
    loaded.check_code()
    loaded.raise_all()
    return loaded.flow


@dataclass
class Loaded:
    """A flow with what was found on the way.

    sound      whether its structure and the names in its graph are right, so that it can be judged as a whole
    used       what expressions name, and the path of each expression
    subflows   the flows that are nodes here, by node
    """

    flow: Flow
    layers: Layers
    faults: Faults
    sound: bool
    used: list[tuple[Keys, Reference]] = field(default_factory=list)
    subflows: Mapping[str, Loaded] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many nodes it has, with those of its subflows."""
        return len(self.flow.nodes) + sum(one.size for one in self.subflows.values())

    def check_code(self) -> None:
        """Import what nodes call and check it, here and in subflows."""
        from engine.flow.checks.code import check_code

        check_code(self)

    def diagnostics(self) -> list[Diagnostic]:
        """What is wrong, with what is wrong in subflows."""
        found = self.faults.diagnostics()
        for one in self.subflows.values():
            found += one.diagnostics()
        return list(dict.fromkeys(found))[: MOST + 1]

    def raise_all(self) -> None:
        """Raise FlowError if anything is wrong."""
        found = self.diagnostics()
        if found:
            raise FlowError(found)


def load(path_or_name: str, *, sets: Sequence[str] = (), set_files: Sequence[str] = ()) -> Loaded:
    """Load a flow with its faults. Raises FlowError only for files that cannot be read as YAML."""
    return _Loader().load(read_layers(path_or_name, sets, set_files), ())


@dataclass
class _Loader:
    """Loads a flow and its subflows; a file that is a node more than once is loaded once."""

    known: dict[Path, Loaded] = field(default_factory=dict)

    def load(self, layers: Layers, around: tuple[Path, ...]) -> Loaded:
        document, faults = layers.document(), Faults(layers)
        flawed = list(islice(flaws(document), MAX_FLAWS))
        for flaw in flawed:
            faults.add(flaw.path, flaw.message, key=flaw.key, hint=flaw.hint)
        if len(flawed) == MAX_FLAWS:
            faults.raise_all()
        if flawed:
            document = repaired(document, flawed)
        own = around if around else tuple(absolute(Path(one)) for one in layers.files[-1:])
        subflows = self._subflows(layers, document, faults, own)
        builder = Builder(
            layers, document, faults, subflows={name: one.flow.document for name, one in subflows.items()}
        )
        flow = replace(builder.build(), subflows={name: one.flow for name, one in subflows.items()})
        loaded = Loaded(flow, layers, faults, False, builder.used, subflows)
        check_nodes(flow, faults)
        _check_subflow_inputs(flow, subflows, faults)
        loaded.sound = check_names(flow, faults) and not flawed
        if loaded.sound:
            check_paths(flow, faults)
        if loaded.size > MAX_NODES:
            raise FlowError(
                [Diagnostic(layers.sources[-1].name, 1, 1, f"more than {MAX_NODES} nodes with all subflows")]
            )
        return loaded

    def _subflows(
        self, layers: Layers, document: Mapping[str, Any], faults: Faults, around: tuple[Path, ...]
    ) -> dict[str, Loaded]:
        found = {}
        for name, node in document["nodes"].items():
            if "flow" not in node:
                continue
            path: Keys = ("nodes", name, "flow")
            try:
                found[name] = self._subflow(layers, path, node["flow"], around)
            except FlowError as error:
                faults.others += error.diagnostics
            except InputError as error:
                faults.add(path, f"node '{name}': flow: {error}")
        return found

    def _subflow(self, layers: Layers, path: Keys, given: str | Mapping[str, Any], around: tuple[Path, ...]) -> Loaded:
        if len(around) >= MAX_NESTING:
            raise InputError(f"more than {MAX_NESTING} flows inside one another")
        if isinstance(given, Mapping):
            return self.load(layers.below(path), (*around, around[-1]))
        file = find_flow(given, layers.folder(path))
        key = absolute(file)
        if key in around:
            raise InputError(f"'{given}' contains this flow itself")
        if key not in self.known:
            self.known[key] = self.load(read_layers(str(file)), (*around, key))
        return self.known[key]


def _check_subflow_inputs(flow: Flow, subflows: Mapping[str, Loaded], faults: Faults) -> None:
    for name, one in subflows.items():
        for needed in one.flow.inputs.values():
            if needed.required and needed.name not in flow.inputs and needed.name not in flow.state:
                message = f"its input '{needed.name}' is neither an input nor a state key here"
                faults.add(("nodes", name, "flow"), f"node '{name}': flow: {message}")
