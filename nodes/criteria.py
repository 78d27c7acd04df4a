"""The four criteria that tell the file at fault (CodeTeam, 3.2.6), each a function of the evidence.

A criterion gives the file, and as what it is at fault, or None where it does not decide.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import pairwise

from nodes.contract import is_test
from nodes.data_files import data_fault
from nodes.error_text import called, loading, missing_fixture, missing_member, missing_module, missing_names
from nodes.evidence import Evidence, Finding
from nodes.import_check import import_breaches
from nodes.import_names import DeclaredImports
from nodes.interface_faults import interface_consistency
from nodes.trace import Frame, is_temporary
from nodes.value_flow import Origin, Place
from nodes.wrong_values import given, keeps_promise, suspicious


def dependency_directionality(evidence: Evidence) -> Finding | None:
    """The file that asks a dependency for what that one never promised."""
    rules = (_ring, _asks_too_much, _wrong_argument, _announced)
    return next((found for rule in rules if (found := rule(evidence))), None)


def structural_validity(evidence: Evidence) -> Finding | None:
    """The first file that is not sound by itself: it does not parse, or imports what is not there."""
    for frame in evidence.trace.named:
        if "SyntaxError" in evidence.trace.text or evidence.error in ("IndentationError", "TabError"):
            return Finding(frame.path, "syntax")
    if evidence.error == "no_tests":
        return Finding(evidence.target if is_test(evidence.target) else None, "no_tests")
    for path in evidence.chain:
        if path in evidence.project.unparsable:
            return Finding(path, "syntax")
        source = evidence.project.files.get(path)
        if source is not None and path not in evidence.project.code and data_fault(path, source):
            return Finding(path, "syntax")
    return _imports(evidence)


def minimal_repair_scope(evidence: Evidence) -> Finding:
    """The earliest of files that are known to fail; else who gave the value, or raised; else the target."""
    category = "assertion" if evidence.error == "AssertionError" else "exception"
    earlier = evidence.needed([evidence.raising or evidence.target]) & evidence.failing
    if earlier:
        return Finding(evidence.contract.sorted(earlier)[0], category)
    tests = [*evidence.test_paths()]
    if category == "assertion" and evidence.asker in (None, *tests):
        return Finding(_asserted(evidence) or evidence.target, category)
    return Finding(evidence.raising or evidence.target, category)


CRITERIA: dict[str, Callable[[Evidence], Finding | None]] = {
    "interface consistency": interface_consistency,
    "dependency directionality": dependency_directionality,
    "structural validity": structural_validity,
    "minimal repair scope": minimal_repair_scope,
}


def _ring(evidence: Evidence) -> Finding | None:
    """In a ring of imports, the import that goes against the contract."""
    if not loading(evidence.trace.text):
        return None
    steps = [one.path for one in evidence.trace.frames if not is_temporary(one.path)]
    found = next(missing_names(evidence.trace.text), None)
    home = evidence.project.modules.get(found[0]) if found else None
    edges = [*pairwise(steps), *([(steps[-1], home)] if home and steps else [])]
    for path, needed in edges:
        if needed is not None and path != needed and evidence.before(path, needed):
            return Finding(path, "exception")
    undeclared = (path for path, needed in edges if needed not in evidence.contract.files[path]["depends_on"])
    return Finding(next(undeclared, steps[-1]), "exception") if steps else None


def _asks_too_much(evidence: Evidence) -> Finding | None:
    """The innermost file, when it wants a name or a parameter that nobody promised."""
    text, asker = evidence.trace.text, evidence.asker
    if missing_fixture(text):
        return Finding(evidence.trace.named[0].path if evidence.trace.named else asker, "exception")
    if asker is None:
        homes = _called(evidence)
        return Finding(homes[0], "interface") if homes else None
    own = any(found[0] in evidence.project.modules for found in missing_names(text))
    if own or _strange_module(evidence) or _strange_member(evidence) or _called(evidence):
        return Finding(None if is_temporary(asker) else asker, "exception")
    return None


def _strange_module(evidence: Evidence) -> bool:
    name = missing_module(evidence.trace.text)
    return name is not None and name.partition(".")[0] in evidence.project.tops


def _strange_member(evidence: Evidence) -> bool:
    """A member of a class of the tree, in another file than the class itself."""
    found = missing_member(evidence.trace.text)
    homes = evidence.homes(found[0]) if found else []
    return bool(homes) and evidence.asker not in homes


def _called(evidence: Evidence) -> list[str]:
    """The files that declare what was called with arguments that it does not take."""
    name = called(evidence.trace.text)
    return evidence.homes(name) if name else []


def _wrong_argument(evidence: Evidence) -> Finding | None:
    """The caller that gives a value of another type than a declared parameter takes."""
    for place in evidence.places[:1]:
        for expression, seen in (one for group in suspicious(place, evidence.trace.text) for one in group):
            origin = place.origin(expression)
            if origin and origin.parameter and not keeps_promise(evidence, origin, place, seen):
                source = given(evidence, 0, place, origin.name)
                if source and source[0].path != place.path:
                    return Finding(None if is_temporary(source[0].path) else source[0].path, "exception")
    return None


def _announced(evidence: Evidence) -> Finding | None:
    """An exception that a dependency announces in its contract is for its caller to avoid."""
    frames = [one for one in evidence.trace.frames if not is_temporary(one.path)]
    if len(frames) < 2 or not _raises(evidence, frames[-1]):
        return None
    inner = frames[-1].path
    caller = next((one.path for one in reversed(frames) if one.path != inner), None)
    if caller is None or not evidence.mentions(inner, evidence.error):
        return None
    return Finding(caller, "exception")


def _raises(evidence: Evidence, frame: Frame) -> bool:
    return isinstance(Place(evidence.project, frame.path, frame.line).statement, ast.Raise)


def _imports(evidence: Evidence) -> Finding | None:
    """The earliest file of the traceback with an import that cannot work, when an import failed."""
    if evidence.error not in ("ImportError", "ModuleNotFoundError"):
        return None
    declared = DeclaredImports(evidence.contract.data.get("dependencies", ()))
    on_it = {one.path for one in evidence.trace.frames}
    for path in [one for one in evidence.chain if one in on_it]:
        if path in evidence.project.code and any(True for _ in import_breaches(evidence.project, path, declared)):
            return Finding(path, "exception")
    asker = evidence.asker
    return None if asker is None else Finding(None if is_temporary(asker) else asker, "exception")


def _asserted(evidence: Evidence) -> str | None:
    """The one file that gives what the failing assertion of a temporary test looks at."""
    if not evidence.places or not is_temporary(evidence.places[0].path):
        return None
    place = evidence.places[0]
    if not isinstance(place.statement, ast.Assert):
        return None
    test = place.statement.test
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
    givers = {origin.path for one in sides if (origin := _root(place, one)) and origin.path is not None}
    found = givers.pop() if len(givers) == 1 else None
    return found if found in evidence.needed([evidence.target]) else None


def _root(place: Place, expression: ast.expr) -> Origin | None:
    """What gives the value that an expression begins with: the call of `parse(text).price[0]`."""
    while isinstance(expression, ast.Attribute | ast.Subscript):
        if (origin := place.origin(expression)) and origin.path and isinstance(expression, ast.Attribute):
            inner = _root(place, expression.value)
            return inner or origin
        expression = expression.value
    return place.origin(expression)
