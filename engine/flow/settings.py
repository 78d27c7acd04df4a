"""Values that are settled when a flow is loaded: expressions over the parameters, durations, sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import FlowrunError
from engine.flow import units
from engine.flow.expressions import Names, compile_value
from engine.flow.faults import Faults
from engine.flow.scanner import ExpressionFault, Reference
from engine.flow.source import Keys
from engine.flow.structure import context, value_flaws

Convert = Callable[[Any], Any]

BUDGET: Mapping[str, Convert] = {"wall": units.seconds, "cost": float}
MODEL: Mapping[str, Convert] = dict.fromkeys(("timeout", "retry_delay", "longest_delay"), units.seconds)
SANDBOX: Mapping[str, Convert] = {
    "memory": units.size,
    "output": units.size,
    "disk": units.size,
    "timeout": units.seconds,
    "cpus": float,
}


@dataclass
class Settings:
    """Settles values of one flow. `used` gathers the parameters that expressions name."""

    params: Mapping[str, Any]
    names: Names
    faults: Faults
    used: list[tuple[Keys, Reference]]

    def value(self, path: Keys, value: Any) -> Any:
        """A value with its expressions over `params` evaluated and checked against the schema; None when at fault."""
        if not isinstance(value, str) or "${" not in value:
            return value
        try:
            expression = compile_value(value, self.names)
            self.used += [(path, one) for one in expression.references]
            settled = expression.evaluate({"params": self.params})
        except ExpressionFault as fault:
            self.faults.add_expression(path, fault)
            return None
        except FlowrunError as error:
            self.faults.add(path, f"{context(path)}{error}")
            return None
        if isinstance(settled, str) and "${" in settled:
            self.faults.add(path, f"{context(path)}its value is '{settled}', and what parameters hold is not evaluated")
            return None
        wrong = next(value_flaws(path, settled), None)
        if wrong:
            self.faults.add(path, f"{wrong} (the value of {value})")
            return None
        return settled

    def section(self, path: Keys, section: Mapping[str, Any], convert: Mapping[str, Convert]) -> dict[str, Any]:
        """A map of such values, in numbers where `convert` names them."""
        settled: dict[str, Any] = {}
        for key, value in section.items():
            if isinstance(value, Mapping):
                settled[key] = self.section((*path, key), value, {})
                continue
            one = self.value((*path, key), value)
            if one is not None:
                settled[key] = convert[key](one) if key in convert else one
        return settled
