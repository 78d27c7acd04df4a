"""A checkout: a folder of files, perhaps with a Git repository in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from engine.errors import InputError
from nodes.references.addresses import without_secrets
from nodes.references.files import MOST_LISTED, Files, collect, is_ignored_folder, read_regular

_OUTPUT = frozenset({"build", "dist", "htmlcov"})  # of builds, where they stand at the root


def read_folder(root: Path) -> Files:
    """The files beneath a folder. Links are not followed. Raises InputError if it cannot be read or is empty."""
    if not root.is_dir():
        raise InputError("no such folder" if not root.exists() else "not a folder")
    listed: dict[str, int] = {}
    for path, size in _walk(root):
        listed[path] = size
        if len(listed) > MOST_LISTED:
            break

    def read(paths: list[str]) -> dict[str, bytes]:
        found = ((path, read_regular(root / path)) for path in paths)
        return {path: data for path, data in found if data is not None}

    origin, notes = _git_facts(root)
    return collect(listed, read, origin=origin, notes=notes)


def is_checkout(folder: Path) -> bool:
    """Whether a folder looks like the root of one project."""
    return any((folder / name).exists() for name in (".git", "pyproject.toml", "setup.py", "setup.cfg"))


def _walk(root: Path) -> Iterator[tuple[str, int]]:
    """Regular files level by level, in the order of their names, with their sizes."""
    folders = [""]
    while folders:
        below: list[str] = []
        for folder in folders:
            for name, is_folder, size in _entries(root / folder, not folder):
                path = f"{folder}{name}"
                if is_folder:
                    below.append(f"{path}/")
                else:
                    yield path, size
        folders = below


def _entries(folder: Path, at_root: bool) -> list[tuple[str, bool, int]]:
    """What is in a folder: names, whether they are folders, and sizes; nothing for one that is not to be looked at."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not is_ignored_folder(entry.name) and not (at_root and entry.name in _OUTPUT):
                        found.append((entry.name, True, 0))
                elif entry.is_file(follow_symlinks=False):
                    found.append((entry.name, False, entry.stat(follow_symlinks=False).st_size))
    except OSError:
        return []
    is_environment = any(name == "pyvenv.cfg" for name, _, _ in found)
    return [] if is_environment else sorted(found)


def _git_facts(root: Path) -> tuple[str, frozenset[str]]:
    """Where a checkout was cloned from, and whether it has an upstream beside it, as a fork's has."""
    from dulwich.config import ConfigFile

    data = read_regular(root / ".git" / "config") if (root / ".git").is_dir() else None
    if data is None:
        return "", frozenset()
    import io

    try:
        config = ConfigFile.from_file(io.BytesIO(data))
        remotes = {section[1].decode(): _url(config.get(section, "url")) for section in config if _is_remote(section)}
    except (ValueError, KeyError, UnicodeError):
        return "", frozenset()
    origin, upstream = remotes.get("origin", ""), remotes.get("upstream", "")
    return origin, frozenset({"fork"}) if upstream and upstream != origin else frozenset()


def _is_remote(section: tuple[bytes, ...]) -> bool:
    return len(section) == 2 and section[0] == b"remote"


def _url(value: bytes) -> str:
    return without_secrets(value.decode("utf-8", "replace"))
