"""All checks that need the code of the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.flow.checks.dataflow import check_reads
from engine.flow.checks.parameters import check_used
from engine.flow.checks.targets import check_targets
from engine.flow.nodes import PLACEHOLDER
from engine.node import Declaration

if TYPE_CHECKING:
    from engine.flow.loader import Loaded


def check_code(loaded: Loaded) -> None:
    """Import what nodes call; check declarations, reads and parameters, here and in subflows."""
    for one in loaded.subflows.values():
        check_code(one)
    flow, faults = loaded.flow, loaded.faults
    declarations = check_targets(flow, faults)
    written = {name: one for name, one in declarations.items() if flow.nodes[name].call != PLACEHOLDER}
    for name, subflow in loaded.subflows.items():
        inside = subflow.flow
        reads = tuple(key for key, one in inside.inputs.items() if one.required)
        written[name] = Declaration(reads=reads, writes=tuple(key for key in inside.state if key in flow.state))
    if not loaded.sound:
        return
    check_reads(flow, written, loaded.used, faults)
    if len(written) == len(flow.nodes):
        check_used(flow, written.values(), loaded.used, faults)
