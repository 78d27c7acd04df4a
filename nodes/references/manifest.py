"""What a project says of itself: name, version, licence, dependencies, commands; from whichever files say it."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from packaging.metadata import RawMetadata, parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from nodes.references.files import Files

_MOST = 60  # entries of one kind that are shown
_LONGEST = 120
_WORDS = re.compile(r"\s+")


@dataclass(frozen=True)
class Manifest:
    """What is known of a package; what is not known is empty.

    dependencies  requirement specifiers by extra, "" for those that are always needed
    commands      name and entry point of each
    description   a long one, as it was sent to a package index
    """

    name: str = ""
    version: str = ""
    summary: str = ""
    licence: str = ""
    python: str = ""
    build: str = ""
    dependencies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    commands: Sequence[str] = ()
    classifiers: Sequence[str] = ()
    addresses: Sequence[str] = ()
    description: str = ""
    description_type: str = ""

    def lines(self) -> list[str]:
        """What is known, a fact a line, without versions and descriptions."""
        facts = [
            ("package", self.name),
            ("licence", self.licence),
            ("python", self.python),
            ("build", self.build),
            *((f"dependencies {extra}".strip(), _listed(names)) for extra, names in sorted(self.dependencies.items())),
            ("commands", ", ".join(self.commands[:_MOST])),
        ]
        return [f"{name}: {value}" for name, value in facts if value]


def read_manifest(files: Files) -> Manifest:
    """What a repository's files say of the package. Whatever cannot be read is as if it were not there."""
    found = [_from_metadata(files), _from_pyproject(files), _from_setup_cfg(files), _from_setup_py(files)]
    if not any(one.get("dependencies") for one in found):
        found.append(_from_requirements(files))
    facts: dict[str, Any] = {}
    for one in found:
        facts.update({name: value for name, value in one.items() if value and not facts.get(name)})
    return Manifest(**facts)


def dependency_names(lines: Iterable[str]) -> frozenset[str]:
    """Canonical names of the packages that a manifest's lines name as always needed."""
    listed = next((one.partition(": ")[2] for one in lines if one.startswith("dependencies: ")), "")
    return frozenset(filter(None, (_name(one) for one in listed.split(", "))))


def _listed(requirements: Sequence[str]) -> str:
    plain = sorted({name for one in requirements if (name := _name(one))})
    return ", ".join(plain[:_MOST])


def _name(requirement: str) -> str:
    try:
        return canonicalize_name(Requirement(requirement.strip()).name)
    except (InvalidRequirement, RecursionError):
        return ""


def _from_metadata(files: Files) -> dict[str, Any]:
    for path in ("PKG-INFO", "package.dist-info/METADATA", "package.dist-info/PKG-INFO", *_metadata_paths(files)):
        data = files.contents.get(path)
        if data is not None:
            raw, _ = parse_email(data)
            return {**_metadata_facts(raw), "commands": _commands(_entry_points(files, path))}
    return {}


def _metadata_paths(files: Files) -> list[str]:
    return [path for path in sorted(files.contents) if path.endswith((".dist-info/METADATA", ".egg-info/PKG-INFO"))]


def _metadata_facts(raw: RawMetadata) -> dict[str, Any]:
    dependencies: dict[str, list[str]] = {}
    for text in raw.get("requires_dist", []):
        extra = re.search(r"\bextra\s*==\s*['\"]([\w.-]+)['\"]", text)
        dependencies.setdefault(extra[1] if extra else "", []).append(text)
    classifiers = raw.get("classifiers", [])
    licence = raw.get("license_expression") or raw.get("license", "")
    return {
        "name": raw.get("name", ""),
        "version": _short(raw.get("version", "")),
        "summary": _short(raw.get("summary", "")),
        "licence": _licence(licence) or _classified(classifiers),
        "python": _short(str(raw.get("requires_python", ""))),
        "dependencies": dependencies,
        "classifiers": classifiers,
        "addresses": [*filter(None, [raw.get("home_page", "")]), *sorted(raw.get("project_urls", {}).values())],
        "description": raw.get("description", ""),
        "description_type": raw.get("description_content_type", ""),
    }


def _entry_points(files: Files, metadata: str) -> dict[str, str]:
    folder = metadata.rpartition("/")[0]
    text = files.text(f"{folder}/entry_points.txt" if folder else "entry_points.txt") or ""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
        return dict(parser["console_scripts"]) if parser.has_section("console_scripts") else {}
    except configparser.Error:
        return {}


def _from_pyproject(files: Files) -> dict[str, Any]:
    try:
        data = tomllib.loads(files.text("pyproject.toml") or "")
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return {}
    project, poetry = _table(data, "project"), _table(_table(data, "tool"), "poetry")
    licence = project.get("license", poetry.get("license", ""))
    extras = {str(name): _strings(value) for name, value in _table(project, "optional-dependencies").items()}
    needed = _strings(project.get("dependencies")) or [
        name for name in _table(poetry, "dependencies") if name != "python"
    ]
    return {
        "name": _string(project.get("name", poetry.get("name"))),
        "version": _string(project.get("version", poetry.get("version"))),
        "summary": _string(project.get("description", poetry.get("description"))),
        "licence": _licence(_string(licence.get("text")) if isinstance(licence, dict) else _string(licence)),
        "python": _string(project.get("requires-python")),
        "build": _string(_table(data, "build-system").get("build-backend")),
        "dependencies": {name: value for name, value in {"": needed, **extras}.items() if value},
        "commands": _commands(_table(project, "scripts") or _table(poetry, "scripts")),
        "classifiers": _strings(project.get("classifiers")),
        "addresses": sorted(map(_string, _table(project, "urls").values())),
    }


def _from_setup_cfg(files: Files) -> dict[str, Any]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(files.text("setup.cfg") or "")
    except configparser.Error:
        return {}
    told = dict(parser["metadata"]) if parser.has_section("metadata") else {}
    options = dict(parser["options"]) if parser.has_section("options") else {}
    needed = [line.strip() for line in options.get("install_requires", "").splitlines() if line.strip()]
    return {
        "name": _short(told.get("name", "")),
        "version": "" if ":" in told.get("version", "") else _short(told.get("version", "")),
        "summary": _short(told.get("description", "")),
        "licence": _licence(told.get("license", "")),
        "python": _short(options.get("python_requires", "")),
        "dependencies": {"": needed} if needed else {},
        "addresses": [told["url"]] if told.get("url") else [],
    }


def _from_setup_py(files: Files) -> dict[str, Any]:
    """What a setup.py hands to `setup` as literals. It is parsed, never run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(files.text("setup.py") or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    given: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _called(node) == "setup":
            for keyword in node.keywords:
                try:
                    given[str(keyword.arg)] = ast.literal_eval(keyword.value)
                except (ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
                    continue
    needed = _strings(given.get("install_requires"))
    return {
        "name": _string(given.get("name")),
        "version": _string(given.get("version")),
        "summary": _string(given.get("description")),
        "licence": _licence(_string(given.get("license"))),
        "python": _string(given.get("python_requires")),
        "build": "setuptools" if given else "",
        "dependencies": {"": needed} if needed else {},
        "classifiers": _strings(given.get("classifiers")),
        "addresses": [_string(given["url"])] if given.get("url") else [],
    }


def _from_requirements(files: Files) -> dict[str, Any]:
    lines = (files.text("requirements.txt") or "").splitlines()
    needed = [text for line in lines if (text := line.partition(" #")[0].strip()) and not text.startswith(("#", "-"))]
    return {"dependencies": {"": needed}} if needed else {}


def _called(node: ast.Call) -> str:
    function = node.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def _commands(scripts: Mapping[str, Any]) -> list[str]:
    return [
        f"{_short(name)} = {_short(str(target))}" for name, target in sorted(scripts.items()) if isinstance(target, str)
    ]


def _licence(text: str) -> str:
    """A licence's name; the whole text of one is not it."""
    first = text.strip().partition("\n")[0].strip()
    return first if len(first) <= 80 and first.upper() != "UNKNOWN" else ""


def _classified(classifiers: Sequence[str]) -> str:
    names = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License ::")]
    return ", ".join(name for name in names if name != "OSI Approved")


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _strings(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []


def _string(value: Any) -> str:
    return _short(value) if isinstance(value, str) else ""


def _short(text: str) -> str:
    text = _WORDS.sub(" ", text).strip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
