"""The working tree of a Git repository: regular files without executable bits, exactly as a commit has them."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from dulwich.objects import Blob


def differences(folder: Path, tree: Mapping[str, str]) -> list[str]:
    """What differs in `folder` from `tree` (path -> blob id): "modified: a", "missing: b", "untracked: c", by path."""
    present = {path: place for path, place in _walk(folder) if not _is_folder(place)}
    found = [(path, "missing") for path in tree.keys() - present.keys()]
    found += [(path, "untracked") for path in present.keys() - tree.keys()]
    found += [(path, "modified") for path in tree.keys() & present.keys() if not _holds(present[path], tree[path])]
    return [f"{what}: {path}" for path, what in sorted(found)]


def write(folder: Path, tree: Mapping[str, str], content: Callable[[str], bytes]) -> None:
    """Make `folder` exactly `tree`; `content` gives the bytes of a blob. Whatever else lies there is removed."""
    for path, place in reversed(list(_walk(folder))):  # what is in a folder before the folder
        if _is_folder(place):
            with contextlib.suppress(OSError):  # something that stays is in it
                place.rmdir()
        elif path not in tree or not _holds(place, tree[path]):
            place.unlink()
    for path, blob in tree.items():
        place = folder / path
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content(blob))


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    """Everything below `folder` but its `.git`, a folder before what is in it; links are not followed."""
    waiting = [folder]
    while waiting:
        for entry in sorted(waiting.pop().iterdir()):
            if entry == folder / ".git":
                continue
            yield os.fsencode(entry.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace"), entry
            if _is_folder(entry):
                waiting.append(entry)


def _is_folder(place: Path) -> bool:
    return stat.S_ISDIR(place.lstat().st_mode)


def _holds(place: Path, blob: str) -> bool:
    """Whether a file is regular, not executable, and holds exactly this blob."""
    mode = place.lstat().st_mode
    if not stat.S_ISREG(mode) or mode & stat.S_IXUSR:
        return False
    return Blob.from_string(place.read_bytes()).id.decode() == blob
