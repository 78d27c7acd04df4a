"""Benchmark targets: what must not be in a corpus, and whether a repository overlaps one.

A list is a text file with one target a line: a name, `pypi:NAME`, a URL, a folder or a README beside the list; or a
JSON object with any of `name`, `package`, `origin`, `readme` (a path), `dependencies`. `#` begins a comment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from engine.errors import InputError
from nodes.references.addresses import is_address, name_of, project_of, without_secrets
from nodes.references.design import design_chunks
from nodes.references.files import read_regular
from nodes.references.folder import read_folder
from nodes.references.identity import Identity, identity_of, lineage
from nodes.references.manifest import read_manifest
from nodes.references.readme import summarise
from nodes.references.similarity import likeness, overlap

_MOST_README = 2**20
_FEWEST_DEPENDENCIES = 4  # fewer in common say nothing


@dataclass(frozen=True)
class Thresholds:
    """From which similarity on two are taken for the same, 0 to 1.

    readme     part of the shorter README's runs of words that the other has; among 64 well-known packages no two, of
               different projects, share more than 0.08
    manifest   dependencies in common over all of both
    duplicate  near-duplicate repositories: README and tree, MinHash
    """

    readme: float = 0.2
    manifest: float = 0.8
    duplicate: float = 0.8


def read_targets(file: Path) -> tuple[Identity, ...]:
    """The targets of a list. Raises InputError naming the line that cannot be read."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: the list of targets cannot be read: {error}") from error
    found = []
    for number, line in enumerate(lines, start=1):
        text = line.partition(" #")[0].strip()
        if text and not text.startswith("#"):
            try:
                found.append(_target(text, file.parent))
            except (ValueError, TypeError, InputError) as error:
                raise InputError(f"{file}:{number}: {text[:80]}: {error}") from error
    if not found:
        raise InputError(f"{file}: the list names no target")
    return tuple(found)


def overlaps(one: Identity, target: Identity, thresholds: Thresholds) -> Iterator[str]:
    """Why a repository would leak a target: every reason."""
    if one.project and one.project == target.project:
        yield f"the same origin: {target.project}"
    if one.package and one.package in target.names:
        yield f"the same package: {one.package}"
    elif shared := one.names & target.names:
        yield f"the same name: {min(shared)}"
    elif related := one.lineage & target.lineage:
        names = [min(name for name in names if lineage(name) in related) for names in (one.names, target.names)]
        yield f"a related name: {names[0]} and {names[1]}"
    alike = likeness(one.dependencies, target.dependencies)
    if len(one.dependencies & target.dependencies) >= _FEWEST_DEPENDENCIES and alike >= thresholds.manifest:
        yield f"dependencies: {alike:.2f} of them the same"
    said = overlap(one.shingles, target.shingles)
    if said >= thresholds.readme:
        yield f"README: {said:.2f} of it the same"


def _target(text: str, folder: Path) -> Identity:
    if text.startswith("{"):
        return _described(json.loads(text), folder)
    if text.startswith("pypi:"):
        return _named(text.removeprefix("pypi:").partition("==")[0])
    if is_address(text):
        return _described({"origin": text}, folder)
    path = folder / text
    if path.is_dir():
        files = read_folder(path)
        manifest = read_manifest(files)
        return identity_of(design_chunks(manifest.name or path.resolve().name, files.origin, files, manifest))
    if path.is_file():
        return _described({"readme": text}, folder)
    if "/" in text:
        raise InputError("no such file or folder")
    return _named(text)


def _named(name: str) -> Identity:
    return Identity(name, canonicalize_name(name), frozenset({canonicalize_name(name)}), "", frozenset(), "")


def _described(given: Mapping[str, Any], folder: Path) -> Identity:
    if unknown := set(given) - {"name", "package", "origin", "readme", "dependencies"}:
        raise InputError(f"unknown key '{min(unknown)}'; known: name, package, origin, readme, dependencies")
    origin, package = str(given.get("origin", "")), str(given.get("package", ""))
    names = (given.get("name", ""), package, name_of(origin).rpartition("/")[2] if origin else "")
    readme = ""
    if "readme" in given:
        data = read_regular(folder / str(given["readme"]), _MOST_README)
        if data is None:
            raise InputError(f"'{given['readme']}' cannot be read")
        readme = summarise(data.decode("utf-8", "replace"), str(given["readme"]))
    shown = next(filter(None, (*names, without_secrets(origin), str(given.get("readme", "")))), "")
    return Identity(
        repository=str(shown),
        package=canonicalize_name(package) if package else "",
        names=frozenset(canonicalize_name(str(name)) for name in names if name),
        project=project_of(origin),
        dependencies=frozenset(canonicalize_name(str(one)) for one in _listed(given.get("dependencies", []))),
        readme=readme,
    )


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise InputError("'dependencies' is no list")
    return value
