"""What a pyproject.toml or a setup.py says about a project, read as data: nothing of it is run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nodes.sketch_requirements import package_name

_DEFAULT_BUILD = ("setuptools>=61", "wheel")


@dataclass(frozen=True)
class Manifest:
    """path  the file; data is empty for a setup.py, of which nothing is known."""

    path: str
    data: Mapping[str, Any]

    @staticmethod
    def of(repository: Mapping[str, bytes]) -> Manifest | None:
        """The repository's manifest, or None. Raises ValueError for TOML that does not parse."""
        if (content := repository.get("pyproject.toml")) is not None:
            try:
                return Manifest("pyproject.toml", tomllib.loads(content.decode("utf-8")))
            except RecursionError as error:
                raise ValueError("it is nested too deep") from error
        return Manifest("setup.py", {}) if "setup.py" in repository else None

    @property
    def build_requirements(self) -> list[str]:
        """What must be there to build the project."""
        given = _table(self.data, "build-system").get("requires")
        return [one for one in given if isinstance(one, str)] if isinstance(given, list) else list(_DEFAULT_BUILD)

    @property
    def dependencies(self) -> list[str] | None:
        """The requirements that are always installed; None when the manifest leaves them to something else."""
        project = _table(self.data, "project")
        if not project:
            poetry = _table(_table(_table(self.data, "tool"), "poetry"), "dependencies")
            return [name for name in poetry if name != "python"] if poetry else None
        dynamic = project.get("dynamic", [])
        if "dependencies" in (dynamic if isinstance(dynamic, list) else []):
            return None
        return list(_texts(project.get("dependencies", [])))

    @property
    def optional(self) -> set[str]:
        """The names of packages that extras and dependency groups require."""
        extras = _table(_table(self.data, "project"), "optional-dependencies") | _table(self.data, "dependency-groups")
        return {package_name(one) for group in extras.values() for one in _texts(group)}


def _texts(value: Any) -> Iterator[str]:
    yield from (one for one in (value if isinstance(value, list) else []) if isinstance(one, str))


def _table(data: Any, key: str) -> dict[str, Any]:
    found = data.get(key, {}) if isinstance(data, Mapping) else {}
    return found if isinstance(found, dict) else {}
