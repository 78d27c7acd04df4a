"""Requirement specifiers of a sketch: real ones, not of the standard library, no near miss of a well-known name."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

_FILE = Path(__file__).with_name("known_packages.txt")


_MOST = 200
_AFFIXES = ("python-{}", "{}-python", "py{}", "py-{}", "{}-py", "{}py", "python{}", "lib{}", "{}-lib")


def requirement_faults(requirements: Sequence[str], own: Collection[str] = ()) -> Iterator[tuple[int, str, str]]:
    """For each unusable requirement its index, the code of the failed check and a sentence.

    `own` are the names of the project's own packages.
    """
    if len(requirements) > _MOST:
        yield 0, "bad_requirement", f"{len(requirements)} dependencies; at most {_MOST} are allowed"
        return
    names = {canonicalize_name(one) for one in own}
    seen: dict[str, str] = {}
    for index, text in enumerate(requirements):
        try:
            requirement = Requirement(text.strip())
        except (InvalidRequirement, RecursionError):
            yield index, "bad_requirement", f"'{text[:100]}' is no requirement; write 'name' or 'name>=1.2'"
            continue
        name = requirement.name = canonicalize_name(requirement.name)
        fault = _name_fault(name, requirement)
        if name in names:  # whoever holds that name on an index would be installed
            fault = "own_requirement", f"'{name[:100]}' is this project's own package; leave it out"
        if fault is not None:
            yield index, *fault
        elif not _satisfiable(requirement.specifier):
            yield index, "conflicting_requirement", f"no version satisfies '{text[:100]}'"
        elif seen.get(name, str(requirement)) != str(requirement):
            yield index, "conflicting_requirement", f"'{text[:100]}' and '{seen[name]}' ask for the same package"
        seen.setdefault(name, str(requirement))


def package_name(requirement: str) -> str:
    """The canonical name of a requirement; empty for one that is none."""
    try:
        return canonicalize_name(Requirement(requirement.strip()).name)
    except (InvalidRequirement, RecursionError):
        return ""


def known_packages() -> frozenset[str]:
    """Canonical names of well-known distributions."""
    return _packages()[0]


def import_names_of(distribution: str) -> frozenset[str]:
    """The top-level modules of a well-known distribution whose modules are not called as it is; empty for others."""
    name = canonicalize_name(distribution)
    return frozenset(module for module, package in _packages()[1].items() if package == name)


def _name_fault(name: str, requirement: Requirement) -> tuple[str, str] | None:
    if requirement.url is not None:
        return "bad_requirement", f"'{name}' is taken from an address; only named packages can be installed"
    if any(one.operator == "===" for one in requirement.specifier):
        return "bad_requirement", f"'{name}' is compared with '===', which takes any text; write '=='"
    if name == "python":
        return "stdlib_requirement", "'python' is no package; leave it out"
    if name.replace("-", "_") in _standard_library():
        return "stdlib_requirement", f"'{name}' is in the standard library; leave it out"
    known, imported_as = _packages()
    if name in imported_as:
        return "lookalike_requirement", f"'{name}' is an import name; the package is called '{imported_as[name]}'"
    if name not in known and (near := _near(name, known)) is not None:
        return "lookalike_requirement", f"'{name}' is nearly '{near}'; write that if you mean it, else choose another"
    return None


@cache
def _standard_library() -> frozenset[str]:
    return frozenset(name.lower() for name in sys.stdlib_module_names)


@cache
def _packages() -> tuple[frozenset[str], dict[str, str]]:
    """Well-known distributions, and distributions by a name that they are imported by."""
    lines = [line for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    imported_as = dict(line.split(" = ") for line in lines if " = " in line)
    return frozenset(name for line in lines if " = " not in line for name in line.split()), imported_as


def _near(name: str, packages: frozenset[str]) -> str | None:
    """A well-known name that one slip of a finger away is `name`, or that is `name` with its parts glued otherwise
    or with a "python" added.
    """
    plain = name.replace("-", "")
    for known in sorted(packages):
        if plain == known.replace("-", "") or (len(known) > 4 and _one_slip(name, known)):
            return known
    return _dressed().get(name)


@cache
def _dressed() -> dict[str, str]:
    """Well-known names by what they are called with a "python" added."""
    return {affix.format(one): one for one in known_packages() if len(one) > 4 for affix in _AFFIXES}


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter more, less or other, or two neighbours swapped, make `a` of `b`."""
    if abs(len(a) - len(b)) > 1 or a == b:
        return False
    start = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    rest_a, rest_b = a[start:], b[start:]
    swapped = rest_a[:2] == rest_b[:2][::-1] and rest_a[2:] == rest_b[2:] and len(rest_a) > 1
    return swapped or rest_a[1:] == rest_b[1:] or rest_a[1:] == rest_b or rest_a == rest_b[1:]


def _satisfiable(specifiers: SpecifierSet) -> bool:
    """Whether some version near those that are named satisfies all of them."""
    named = []
    for one in specifiers:
        try:
            named.append(Version(one.version.removesuffix(".*")))
        except InvalidVersion:
            return True  # an arbitrary equality (===), which cannot be reasoned about
    candidates = [Version("0"), Version("99999"), *named]
    for version in named:
        candidates += [Version(f"{version.base_version}.1"), Version(f"{version.base_version}.post1")]
        release = list(version.release)
        for place, number in enumerate(release):
            candidates.append(Version(".".join(map(str, [*release[:place], number + 1]))))
            if number:
                candidates.append(Version(".".join(map(str, [*release[:place], number - 1, 99999]))))
    return not named or any(specifiers.contains(one, prereleases=True) for one in candidates)
