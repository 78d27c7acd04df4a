"""What can be told about a file's content from its name: fence tags that mean it, and whether it parses."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

_TAGS = {
    ".py": {"python", "python3"},
    ".pyi": {"python", "py"},
    ".js": {"javascript", "jsx"},
    ".jsx": {"javascript", "js"},
    ".ts": {"typescript"},
    ".tsx": {"typescript", "ts"},
    ".yml": {"yaml"},
    ".yaml": {"yml"},
    ".sh": {"bash", "shell", "zsh"},
    ".rs": {"rust"},
    ".cfg": {"ini"},
    ".h": {"c", "cpp", "c++"},
    ".cc": {"cpp", "c++"},
    ".cpp": {"c++"},
    ".cs": {"csharp"},
    ".rb": {"ruby"},
    ".kt": {"kotlin"},
    ".txt": {"text", "plaintext"},
    ".md": {"markdown"},
}
_MARKDOWN = {".md", ".markdown", ".mdx", ".mkd", ".qmd", ".rmd"}


def suffix_of(path: str) -> str:
    """The last suffix in lower case, with its dot."""
    return PurePosixPath(path).suffix.lower()


def tags_of(path: str) -> set[str]:
    """The fence tags under which a file of this name is written."""
    suffix = suffix_of(path)
    return _TAGS.get(suffix, set()) | {suffix[1:] or PurePosixPath(path).name.lower()}


def is_markdown(path: str) -> bool:
    """Whether a file of this name has fences of its own."""
    return suffix_of(path) in _MARKDOWN


def parses(content: str, path: str) -> bool | None:
    """Whether content is sound for its kind of file (Python, JSON, TOML); None for kinds that this cannot tell."""
    checks: Mapping[str, Callable[[str], object]] = {
        ".py": python_tree,
        ".pyi": python_tree,
        ".json": json.loads,
        ".toml": tomllib.loads,
    }
    check = checks.get(suffix_of(path))
    if check is None:
        return None
    try:
        check(content)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def python_tree(content: str) -> ast.Module:
    """Parse Python, silent about what it warns of. Raises SyntaxError, ValueError, RecursionError or MemoryError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(content)
