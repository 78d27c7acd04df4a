"""Ruff's error rules over generated files: what is certain to fail when it runs."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import FlowrunError

RULES = (
    "E9,F63,F7,F82"  # syntax, comparisons and asserts that cannot be meant, statements out of place, undefined names
)
_TIMEOUT = 60.0  # seconds


@dataclass(frozen=True)
class Finding:
    """One finding of ruff. `code` is "invalid-syntax" for code that does not parse; `line` counts from 1."""

    path: str
    line: int
    code: str
    message: str


def lint(files: Mapping[str, str]) -> list[Finding]:
    """Findings in Python files, in the order of the files; settings and `noqa` comments inside them do not count.

    All files are checked in one call, as numbered copies in a temporary folder. Raises FlowrunError without ruff.
    """
    paths = [path for path in files if path.endswith(".py")]
    if not paths:
        return []
    with tempfile.TemporaryDirectory(prefix="flowrun-lint-") as name:
        for number, path in enumerate(paths):
            (Path(name) / f"{number}.py").write_bytes(files[path].encode("utf-8", "replace"))
        found = _ruff(Path(name))
    findings = [
        Finding(
            paths[int(Path(one["filename"]).stem)],
            one["location"]["row"],
            one["code"] or "invalid-syntax",
            one["message"],
        )
        for one in found
    ]
    return sorted(findings, key=lambda one: (paths.index(one.path), one.line, one.code))


def _ruff(folder: Path) -> list[dict[str, Any]]:
    from ruff import find_ruff_bin  # type: ignore[import-untyped]

    version = f"py3{min(sys.version_info.minor, 13)}"
    options = ["--isolated", "--no-cache", "--ignore-noqa", "--exit-zero", "--output-format", "json"]
    try:
        command = [find_ruff_bin(), "check", *options, "--select", RULES, "--target-version", version, str(folder)]
        ended = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
        return list(json.loads(ended.stdout))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise FlowrunError(f"ruff cannot check the generated files: {error}; install flowrun anew with pip") from error
