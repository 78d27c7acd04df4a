"""The class of a failing test, as diagnostics count it: packaging, import, API mismatch or logic (CodeTeam, 3.4)."""

from __future__ import annotations

import re
from typing import Literal

from nodes.testing import Failure
from nodes.trace import raised_type

FailureClass = Literal["packaging", "import", "api_mismatch", "logic"]

_PACKAGING = re.compile(
    r"No package metadata was found|No module named '?pytest\b|DistributionNotFound|entry point|console.script|"
    r"No such file or directory: '[^']*(?:pyproject\.toml|setup\.(?:py|cfg))'|TOMLDecodeError|InvalidConfigError"
)
_IMPORT_ERRORS = {"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"}
_COLLECTING = re.compile(r"(?:ImportError while (?:importing|loading)|in import_module\b)")
_MISMATCH = re.compile(
    r"(?<!'NoneType' object )has no attribute '|object attribute '|^AttributeError: \w+$|"
    r"\(\) (?:got (?:an unexpected|multiple|some positional)|missing \d+ required|takes (?:no|\d+|from \d+|exactly))|"
    r"takes no arguments|too many positional arguments|"
    r"Can't instantiate abstract class|object is not callable|can't be used in 'await' expression|"
    r"cannot unpack non-iterable|(?:not enough|too many) values to unpack|'coroutine'|fixture '\w+' not found",
    re.MULTILINE,
)


def failure_class(failure: Failure) -> FailureClass:
    """What a failing test shows.

    packaging     the project is not installed, its metadata or entry points are wrong
    import        a module cannot be loaded: it is missing, lacks a name that is imported, or does not parse
    api_mismatch  a name, a parameter or a kind of thing is not what its user takes it for
    logic         everything else: a wrong value, an exception, a run without end
    """
    error, said = raised_type(failure), _said(failure)
    if error == "PackageNotFoundError" or _PACKAGING.search(said):
        return "packaging"
    if error in _IMPORT_ERRORS or "partially initialized module" in said:
        return "import"
    if error in ("AttributeError", "TypeError", "Exception") and _MISMATCH.search(said):
        return "api_mismatch"
    return "import" if error == "NameError" and _COLLECTING.search(failure.detail) else "logic"


def _said(failure: Failure) -> str:
    """What was raised, without the lines of code that pytest shows around it."""
    raised = [line[1:].strip() for line in failure.detail.splitlines() if line.startswith("E ")]
    return "\n".join([f"{failure.error}: {failure.message}", *raised])
