"""From a flow file to a Flow."""

from __future__ import annotations

from collections.abc import Sequence

from engine.flow.builder import Builder
from engine.flow.faults import Faults
from engine.flow.layers import read_layers
from engine.flow.model import Flow
from engine.flow.repair import repaired
from engine.flow.structure import flaws


def load_flow(path_or_name: str, *, sets: Sequence[str] = (), set_files: Sequence[str] = ()) -> Flow:
    """Load a flow by path, or by the name of one that comes with flowrun.

    sets       overrides `path=value`, the value YAML: "qa.max_rounds=2", "model.temperature=0"
    set_files  overrides `path=FILE`, the value the file's text

    Nothing is imported that the flow names. Raises FlowError with all that is wrong and InputError when
    there is no such flow.
    """
    layers = read_layers(path_or_name, sets, set_files)
    document = layers.document()
    faults = Faults(layers)
    flawed = list(flaws(document))
    for flaw in flawed:
        faults.add(flaw.path, flaw.message, key=flaw.key)
    builder = Builder(layers, repaired(document, flawed) if flawed else document, faults)
    flow = builder.build()
    faults.raise_all()
    return flow
