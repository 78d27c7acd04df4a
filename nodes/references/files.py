"""Which files of a repository are looked at, and how much of them: bounded, whatever the repository is.

Every source, an archive or a folder, first lists its regular files and then reads those that are chosen here. So what
is chosen depends on names and sizes alone, not on the order in which a source tells them.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import InputError

MOST_LISTED = 100_000  # files; what a repository has beyond them is not seen
MOST_UNPACKED = 2**30  # bytes that an archive may unpack to before it is refused
_MOST_FILES, _MOST_BYTES = 3_000, 48 * 2**20  # read of one repository
_LARGEST = 512 * 2**10  # bytes; a larger file is not read, of a document only the beginning is
_DOCUMENT = re.compile(r"readme(\.(md|markdown|rst|txt))?|licen[sc]e(\.\w+)?|copying(\.\w+)?", re.IGNORECASE)
_MANIFESTS = frozenset(
    {"pyproject.toml", "setup.cfg", "setup.py", "PKG-INFO", "METADATA", "entry_points.txt", "requirements.txt"}
)
_NO_CONTENT = frozenset(
    {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "WHEEL", "top_level.txt", "SOURCES.txt"}
)
_IGNORED = frozenset({"__pycache__", "node_modules", "site-packages"})
_HIDDEN_KEPT = frozenset({".github"})
_COMPILED = (".pyc", ".pyo", ".pyd", ".so")
_LONGEST_PATH = 1024


@dataclass(frozen=True)
class Files:
    """What is known of a repository's files.

    paths     every regular file, sorted, `/` between names
    contents  what was read, by path
    origin    of the repository, where its files say it (a Git remote), else ""
    notes     facts that files alone do not tell, such as "fork"
    cut       whether there are more files than are listed
    """

    paths: tuple[str, ...]
    contents: Mapping[str, bytes]
    origin: str = ""
    notes: frozenset[str] = field(default_factory=frozenset)
    cut: bool = False

    @property
    def digest(self) -> str:
        """Of the names of all files and of what was read."""
        seen = hashlib.sha256("\n".join(self.paths).encode())
        for path in sorted(self.contents):
            seen.update(f"\0{path}\0".encode() + hashlib.sha256(self.contents[path]).digest())
        return seen.hexdigest()

    def text(self, path: str) -> str | None:
        """A file as text; None for one that was not read, is binary, or is no UTF-8."""
        data = self.contents.get(path)
        if data is None or b"\0" in data[:8192]:
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            cut = len(data) == _LARGEST and error.start > len(data) - 4
            return data[: error.start].decode("utf-8-sig") if cut else None


def collect(listed: Mapping[str, int], read: Callable[[list[str]], Mapping[str, bytes]], **more: object) -> Files:
    """The files of a source from its listing (sizes by path) and a function that reads the chosen ones.

    A file that the function leaves out could not be read. Raises InputError for a source without any file.
    """
    kept = {path: size for path, size in listed.items() if is_content(path)}
    paths = sorted(kept, key=lambda path: (path.count("/"), path))[:MOST_LISTED]
    if not paths:
        raise InputError("holds no file")
    contents = {path: data[:_LARGEST] for path, data in read(chosen(paths, kept)).items()}
    cut = bool(more.pop("cut", False)) or len(kept) > len(paths)
    return Files(tuple(sorted(paths)), contents, cut=cut, **more)  # type: ignore[arg-type]


def is_content(path: str) -> bool:
    """Whether a path belongs to a project rather than to a tool that unpacked, built or installed it."""
    *folders, name = path.split("/")
    if any(is_ignored_folder(one) or one == "" for one in folders) or not name:
        return False
    if name in _NO_CONTENT and any(one.endswith((".dist-info", ".egg-info")) for one in folders):
        return False
    return not name.endswith(_COMPILED) and path.isprintable() and len(path) <= _LONGEST_PATH and "\\" not in path


def is_ignored_folder(name: str) -> bool:
    """Whether nothing beneath a folder of this name is content."""
    return name in _IGNORED or (name.startswith(".") and name not in _HIDDEN_KEPT)


def chosen(paths: Iterable[str], sizes: Mapping[str, int]) -> list[str]:
    """The paths to read: documents and manifests first, then Python files, those nearest to the root first."""
    ranked = sorted((rank, path.count("/"), path) for path in paths if (rank := _rank(path, sizes[path])) is not None)
    left, picked = _MOST_BYTES, []
    for _, _, path in ranked[:_MOST_FILES]:
        left -= min(sizes[path], _LARGEST)
        if left < 0:
            break
        picked.append(path)
    return picked


def _rank(path: str, size: int) -> int | None:
    name, depth = path.rpartition("/")[2], path.count("/")
    if _DOCUMENT.fullmatch(name) and depth < 2:
        return 0
    if depth < 2 and (name in _MANIFESTS or name in TEMPLATE_FILES):
        return 0 if size <= _LARGEST else None
    return 1 if name.endswith(".py") and size <= _LARGEST else None


TEMPLATE_FILES = frozenset({"cookiecutter.json", "copier.yml", "copier.yaml"})


def read_regular(path: Path, most: int = _LARGEST) -> bytes | None:
    """The first bytes of a regular file; None for anything else. Follows no link, never waits."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        except OSError:
            return None


def common_root(paths: Iterable[str]) -> str:
    """The folder, with its slash, that all paths are in, or ""."""
    heads = {path.partition("/")[0] if "/" in path else "" for path in paths}
    return f"{heads.pop()}/" if len(heads) == 1 and heads != {""} else ""
