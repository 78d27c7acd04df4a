"""Which file is at fault when a test fails (CodeTeam, 3.2.5).

Four criteria in this order: interface consistency, dependency directionality, structural validity, minimal repair
scope. Structural faults are found by `nodes.conformance` before any test runs; here a failing test is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nodes.contract import Contract, is_test
from nodes.testing import Failure

_FRAME = re.compile(r"^(?:\./)?([\w./-]+\.py):\d+: ", re.MULTILINE)
_FROM = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")
_MODULE = re.compile(r"No module named '([\w.]+)'")
_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")
_MEMBER = re.compile(r"'(\w+)' object has no attribute '(\w+)'|type object '(\w+)' has no attribute '(\w+)'")
_CALL = re.compile(r"(?:(\w+)\.)?(\w+)\(\) (?:got an unexpected|missing \d|takes )")

_CATEGORIES = {
    "ImportError": "import",
    "ModuleNotFoundError": "import",
    "AttributeError": "interface",
    "TypeError": "interface",
    "SyntaxError": "syntax",
    "AssertionError": "assertion",
    "no_tests": "no_tests",
    "timeout": "timeout",
    "memory": "timeout",
    "processes": "timeout",
    "output": "timeout",
    "killed": "timeout",
}


def category(failure: Failure) -> str:
    """The symptom's category, as schemas/issue.schema.json names them."""
    return _CATEGORIES.get(failure.error, "exception")


def suspects(failure: Failure, target: str, contract: Contract) -> list[str]:
    """Files that may be at fault, likeliest first; never empty. `target` is the file that the test is about."""
    frames = [path for path in _FRAME.findall(failure.detail) if path in contract.files]
    found = _interface(failure, frames, contract) or _direction(failure, frames, target)
    return list(dict.fromkeys([*found, *reversed(frames), target]))


def _interface(failure: Failure, frames: Sequence[str], contract: Contract) -> list[str]:
    """A name that is missing: its declared home is at fault if the contract promises it there, else who asks for it."""
    text = f"{failure.message}\n{failure.detail}"
    modules = contract.modules()
    asker = list(frames[-1:])
    if found := _FROM.search(text):
        return _home(found[2], found[1], asker, modules, contract)
    if found := _ATTRIBUTE.search(text):
        return _home(found[1], found[2], asker, modules, contract)
    if found := _MODULE.search(text):
        return [modules[found[1]]] if found[1] in modules else asker
    if found := _MEMBER.search(text):
        owner, member = (found[1] or found[3]), (found[2] or found[4])
        return _declaring(f"{owner}.{member}", contract) or asker
    if found := _CALL.search(text):
        name = f"{found[1]}.{found[2]}" if found[1] else found[2]
        home = _declaring(name, contract)
        return home if home and not asker else asker
    return []


def _home(module: str, name: str, asker: Sequence[str], modules: dict[str, str], contract: Contract) -> list[str]:
    path = modules.get(module)
    if path is None:
        return list(asker)
    declared = {one["name"] for one in contract.files[path]["public_api"]}
    return [path, *asker] if name in declared or not asker else [*asker, path]


def _declaring(name: str, contract: Contract) -> list[str]:
    return [path for path, entry in contract.files.items() if any(one["name"] == name for one in entry["public_api"])]


def _direction(failure: Failure, frames: Sequence[str], target: str) -> list[str]:
    """A wrong value is the tested file's fault; an exception is the fault of the file that raised it."""
    if category(failure) == "assertion":
        raised = [path for path in frames if not is_test(path)]
        return raised[-1:] or [target]
    return [path for path in frames[-1:] if not is_test(path)] or [target]
