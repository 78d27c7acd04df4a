"""Whether JSON, TOML, INI and YAML files can be read, and whether pyproject.toml names what there is."""

from __future__ import annotations

import configparser
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from nodes.project_code import ProjectCode

_LONGEST_YAML = 200_000  # characters that are read
_LINE = re.compile(r"line:? (\d+)")


def data_fault(path: str, text: str) -> tuple[int, str] | None:
    """The line (0 where it is not known) and the reason for which a file cannot be read, or None."""
    if not text.strip() or "{{" in text or "{%" in text:  # an empty file, or a template of one
        return None
    try:
        match PurePosixPath(path).suffix:
            case ".json":
                json.loads(text)
            case ".toml":
                tomllib.loads(text)
            case ".ini" | ".cfg":
                configparser.ConfigParser(interpolation=None, allow_no_value=True).read_string(text)
            case ".yaml" | ".yml":
                _read_yaml(text)
    except RecursionError:
        return 0, "it is nested too deep"
    except (ValueError, configparser.Error) as error:
        said = str(error).replace("<string>", path)
        found = _LINE.search(said)
        return int(found[1]) if found else getattr(error, "lineno", 0) or 0, said.splitlines()[0]
    return None


def script_faults(project: ProjectCode, text: str) -> Iterator[tuple[str, str]]:
    """Console scripts of a pyproject.toml whose function the tree does not have: the name, and a sentence."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = _table(_table(data, "project"), "scripts") | _table(_table(data, "project"), "gui-scripts")
    for name, target in scripts.items():
        module, _, function = str(target).partition(":")
        function = function.partition("[")[0].strip()
        path = project.modules.get(module.strip())
        if path is None and module.strip().partition(".")[0] in project.tops:
            yield name, f"script '{name}': the tree has no module '{module}'"
        elif not function:
            yield name, f"script '{name}': '{target}' names no function; write 'module:function'"
        elif path in project.code and not project.exports(path, function.partition(".")[0]):
            yield name, f"script '{name}': {path} has no '{function}'"


def _table(data: Any, key: str) -> dict[str, Any]:
    found = data.get(key, {}) if isinstance(data, dict) else {}
    return found if isinstance(found, dict) else {}


def _read_yaml(text: str) -> None:
    """Scan it without making anything of it, so that no alias can grow."""
    import yaml

    try:
        for _ in yaml.parse(text[:_LONGEST_YAML], Loader=yaml.SafeLoader):
            pass
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark is not None else ""
        raise ValueError(f"{getattr(error, 'problem', None) or 'it is no YAML'}{line}") from error
