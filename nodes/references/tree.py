"""The file tree of a repository, its upper levels; what lies deeper, and tests and pages, are counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

_MOST_LINES = 90
_COUNTED = frozenset(
    {"test", "tests", "testing", "doc", "docs", "examples", "example", "benchmarks", "bench", "locale"}
)
_LEVELS = 3
_METADATA = re.compile(r"\.(?:dist|egg)-info/|^PKG-INFO$")


def tree_lines(paths: Sequence[str], *, cut: bool = False) -> list[str]:
    """The tree as paths, a line each: files to the third level; folders below, and of tests, with their counts."""
    listed = sorted(path for path in paths if not _METADATA.search(path))
    for levels in range(_LEVELS, 0, -1):
        lines = _lines(listed, levels)
        if len(lines) <= _MOST_LINES:
            break
    more = len(lines) - _MOST_LINES
    shown = [*lines[:_MOST_LINES], f"... and {more} more"] if more > 0 else lines
    return [*shown, "... and files beyond those that were looked at"] if cut else shown


def _lines(paths: Iterable[str], levels: int) -> list[str]:
    lines: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for path in paths:
        *folders, _ = path.split("/")
        at = next((index for index, name in enumerate(folders) if name in _COUNTED), len(folders))
        depth = min(at + 1, levels)
        if len(folders) >= depth:
            folder = "/".join(folders[:depth]) + "/"
            counts[folder] += 1
            lines[folder] = None
        else:
            lines[path] = None
    return [f"{line} ({counts[line]} files)" if line in counts else line for line in lines]
