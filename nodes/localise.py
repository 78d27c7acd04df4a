"""Which file is at fault when a test fails (CodeTeam, 3.2.6).

Four criteria in this order: interface consistency, dependency directionality, structural validity, minimal repair
scope. `nodes.criteria` holds them; here they are applied to a failure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from nodes.contract import Contract
from nodes.criteria import CRITERIA
from nodes.evidence import Evidence, Finding
from nodes.testing import Failure
from nodes.trace import is_temporary, raised_type
from nodes.value_flow import names_in

_CATEGORIES = {
    "ImportError": "import",
    "ModuleNotFoundError": "import",
    "AttributeError": "interface",
    "TypeError": "interface",
    "SyntaxError": "syntax",
    "IndentationError": "syntax",
    "TabError": "syntax",
    "AssertionError": "assertion",
    "no_tests": "no_tests",
    "timeout": "timeout",
    "memory": "timeout",
    "processes": "timeout",
    "output": "timeout",
    "killed": "timeout",
}
_REACHING = ("interface", "import", "dependency")


@dataclass(frozen=True)
class Localisation:
    """Where a failure comes from.

    suspected           files that may be at fault, likeliest first; never empty
    repair              the minimal repair scope: one file, or none when the temporary test itself is at fault
    criterion           which of the four decided
    reaches_dependents  whether the fault touches a public interface, an import path or shared configuration
    dependents          the files to be requeued with it: those that use what is touched
    test_at_fault       whether the temporary test asks for what nobody promised
    """

    suspected: tuple[str, ...]
    repair: tuple[str, ...]
    criterion: str
    reaches_dependents: bool
    dependents: tuple[str, ...] = ()
    test_at_fault: bool = False


def localise(
    failure: Failure,
    target: str,
    contract: Contract,
    sources: Mapping[str, str],
    *,
    failing: Collection[str] = (),
) -> Localisation:
    """Where a failure of a test about `target` comes from.

    `sources` are the files written so far by path, the temporary test among them under the path that it ran at
    (`.flowrun-qa/test_NAME.py`), where there is one. `failing` are files at fault by other failures of the same
    validation, without those that only this failure names: of a cascade, the earliest is to be repaired.
    """
    evidence = Evidence(failure, target, contract, sources, frozenset(failing))
    for criterion, decide in CRITERIA.items():
        if finding := decide(evidence):
            return _localisation(evidence, finding, criterion)
    raise AssertionError("the last criterion always decides")


def suspects(failure: Failure, target: str, contract: Contract) -> list[str]:
    """Files that may be at fault, likeliest first; never empty. `target` is the file that the test is about."""
    return list(localise(failure, target, contract, {}).suspected)


def category(failure: Failure) -> str:
    """The symptom's category, as schemas/issue.schema.json names them."""
    return _CATEGORIES.get(failure.error) or _CATEGORIES.get(raised_type(failure), "exception")


def reaches(kind: str, path: str, contract: Contract) -> bool:
    """Whether a fault in a file concerns those who depend on it (CodeTeam, 3.2.6).

    `kind` is the category of what is wrong with the file: its own public interface or import path does, a wrong value
    or an exception does not. A file that is no code is configuration, shared by all who depend on it.
    """
    configuration = PurePosixPath(path).suffix not in (".py", ".md", ".rst", ".txt", "")
    return bool(contract.dependents.get(path)) and (configuration or kind in _REACHING)


def _localisation(evidence: Evidence, finding: Finding, criterion: str) -> Localisation:
    contract, path = evidence.contract, finding.path
    others = [one.path for one in reversed(evidence.trace.frames) if not is_temporary(one.path)]
    if path is None or is_temporary(path):
        return Localisation(tuple(dict.fromkeys([evidence.target, *others])), (), criterion, False, (), True)
    reached = reaches(finding.kind, path, contract)
    dependents = _users(evidence, path, finding.symbol) if reached else ()
    suspected = tuple(dict.fromkeys([path, *others, evidence.target]))
    return Localisation(suspected, (path,), criterion, reached, dependents)


def _users(evidence: Evidence, path: str, symbol: str) -> tuple[str, ...]:
    """Direct dependents that are written and mention what is touched; all of them where that is not known."""
    word = symbol.rpartition(".")[2]
    code = evidence.project.code
    written = [one for one in evidence.contract.dependents[path] if one in evidence.project.files]
    return tuple(one for one in written if not word or one not in code or word in names_in(code[one].tree))
