"""The first criterion: a file that does not declare, or does not give, what it promised (CodeTeam, 3.2.6)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nodes.conformance import symbol_breaches
from nodes.data_files import script_faults
from nodes.error_text import (
    abstract_class,
    bare_member,
    loading,
    missing_fixture,
    missing_key,
    missing_member,
    missing_module,
    missing_names,
)
from nodes.evidence import Evidence, Finding
from nodes.value_flow import Place
from nodes.wrong_values import giver, keeps_promise, suspicious


def interface_consistency(evidence: Evidence) -> Finding | None:
    """The file that does not declare, or does not give, what it promised and the failing code refers to."""
    rules = (_missing, _broken, _abstract, _scripts, _key, _wrong_value)
    return next((found for rule in rules if (found := rule(evidence))), None)


def _missing(evidence: Evidence) -> Finding | None:
    """A name that was not found is at fault where the contract promises it."""
    text = evidence.trace.text
    for module, name in missing_names(text):
        path = evidence.project.modules.get(module)
        if path is not None and _promised(evidence, path, name) and not loading(text):
            return Finding(path, "interface", name)
    path = evidence.project.modules.get(missing_module(text) or "")
    if path is not None:
        return Finding(path, "import")
    for owner, member in _members(evidence):
        for path in _member_homes(evidence, owner, member):
            return Finding(path, "interface", f"{owner}.{member}")
    fixture = missing_fixture(text) or ""
    homes = [path for path in evidence.homes(fixture) if path.endswith("conftest.py")]
    return Finding(homes[0], "interface", fixture) if homes else None


def _promised(evidence: Evidence, path: str, name: str) -> bool:
    wanted = f"{path}::{name}"
    used = any(wanted in evidence.contract.files[one]["uses"] for one in evidence.contract.files)
    return used or evidence.project.promised(path, name)


def _member_homes(evidence: Evidence, owner: str, member: str) -> Iterator[str]:
    """Files that promise a member of a class, or of a class that it derives from."""
    yield from evidence.homes(f"{owner}.{member}")
    for path, code in evidence.project.code.items():
        for declared in code.tree.body:
            if isinstance(declared, ast.ClassDef) and declared.name == owner:
                for home, base in evidence.project.lineage(path, declared):
                    if base is not None and home in evidence.homes(f"{base.name}.{member}"):
                        yield home


def _members(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """The class and the name of a member that was not found."""
    if found := missing_member(evidence.trace.text):
        yield found
    bare = bare_member(evidence.trace.text)
    for node in evidence.places[0].nodes() if bare and evidence.places else ():
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=member) if member == bare:
                yield owner, member


def _broken(evidence: Evidence) -> Finding | None:
    """The earliest file that breaks a promise which the failing code relies on."""
    for path in evidence.chain:
        for symbol, _ in symbol_breaches(evidence.project, path):
            if symbol.rpartition(".")[2] in evidence.used:
                return Finding(path, "interface", symbol)
    return None


def _abstract(evidence: Evidence) -> Finding | None:
    """A class that leaves out what its base wants of it."""
    name = abstract_class(evidence.trace.text)
    for path in evidence.chain if name else ():
        bound = evidence.project.code[path].bound if path in evidence.project.code else {}
        if any(isinstance(one, ast.ClassDef) for one in bound.get(name or "", ())):
            return Finding(path, "exception")
    return None


def _scripts(evidence: Evidence) -> Finding | None:
    """A pyproject.toml that names a function which is not there, when the failure is about it."""
    for path in evidence.contract.files:
        about = path == evidence.target or path in evidence.trace.part or _reads(evidence, path)
        text = evidence.project.files.get(path, "") if path.endswith("pyproject.toml") and about else ""
        if any(script_faults(evidence.project, text)):
            return Finding(path, "interface")
    return None


def _reads(evidence: Evidence, path: str) -> bool:
    return any(evidence.literal(one, path) for one in evidence.test_paths() if one in evidence.project.code)


def _key(evidence: Evidence) -> Finding | None:
    """A key that is not there: at fault is who gives the data and is to know the key, and does not."""
    key = missing_key(evidence.trace.text)
    if key is None or not evidence.places:
        return None
    place = evidence.places[0]
    looked_up = [one.value for one in place.nodes() if isinstance(one, ast.Subscript)]
    givers = {origin.path for one in looked_up if (origin := place.origin(one)) and origin.path} or {place.path}
    nearest = evidence.contract.sorted(evidence.needed(givers) - {place.path})[::-1]
    for path in sorted(nearest, key=lambda one: one not in givers):
        if evidence.mentions(path, key) and not evidence.literal(path, key):
            return Finding(path, "exception")
    return None


def _wrong_value(evidence: Evidence) -> Finding | None:
    """A value of another type than its giver promised; none where the promises explain the types that were seen."""
    for place in evidence.places[:1]:
        groups = list(suspicious(place, evidence.trace.text))
        if any(all(_explains(evidence, place, *one) for one in group) for group in groups):
            return None
        found = [one for group in groups for one in group]
        found.sort(key=lambda one: isinstance(one[0], ast.Attribute))  # a result before what a field carries on
        givers = (giver(evidence, 0, place, expression, seen) for expression, seen in found)
        path = next((one for one in givers if one is not None), None)
        return Finding(path, "exception") if path else None
    return None


def _explains(evidence: Evidence, place: Place, expression: ast.expr, seen: str) -> bool:
    origin = place.origin(expression)
    return origin is not None and origin.promised is not None and keeps_promise(evidence, origin, place, seen)
