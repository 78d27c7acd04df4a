"""The folder of one run: files go in, named files come out, and it is gone afterwards, whatever was done in it."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from engine import paths
from engine.errors import SandboxError

PARTS = ("work", "home", "tmp", "scratch", "shm")
PREFIX = "flowrun-"
UNREASONABLE = 1 << 62
_ABANDONED = 60.0  # seconds without a change
_ENTER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: what lies at the place of a file may be a pipe that nobody writes to.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def make(files: Mapping[str, bytes], *, disk: int) -> Path:
    """A new temporary folder with PARTS in it, of which `work` holds `files`. Raises SandboxError as `check` does."""
    check(files, disk=disk)
    base = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
    try:
        for name in PARTS:
            (base / name).mkdir()
        for path, content in files.items():
            place = base / "work" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    except BaseException:
        shutil.rmtree(base, ignore_errors=True)
        raise
    return base


def check(files: Mapping[str, bytes], *, disk: int) -> None:
    """Raise SandboxError for a path that may not be written, or for more than `disk` bytes."""
    for path in files:
        if why := paths.fault(path):
            raise SandboxError(f"{path!r} cannot be put into the sandbox: {why}")
    if inside := paths.clash(files):
        raise SandboxError(f"'{inside}' cannot be both a file and a folder in the sandbox")
    if (size := sum(map(len, files.values()))) > disk:
        raise SandboxError(f"{size} bytes of files do not fit into the sandbox, which has room for {disk}")


def give(base: Path, user: int) -> None:
    """Make another user the owner of a new folder and of all that is in it."""
    for place in (base, *base.rglob("*")):
        os.chown(place, user, user, follow_symlinks=False)


def collect(base: Path, names: Sequence[str], *, most: int) -> dict[str, bytes]:
    """Those of the files that are there, regular, reached through no link, and of at most `most` bytes."""
    found = {name: _read(base / "work", name, most) for name in names if paths.fault(name) is None}
    return {name: content for name, content in found.items() if content is not None}


def _read(folder: Path, name: str, most: int) -> bytes | None:
    *folders, last = name.split("/")
    place = os.open(folder, _ENTER)
    try:
        for one in folders:
            inner = os.open(one, _ENTER, dir_fd=place)
            os.close(place)
            place = inner
        with os.fdopen(os.open(last, _READ, dir_fd=place), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            content = file.read(most + 1)
            return content if len(content) <= most else None
    except OSError:
        return None
    finally:
        os.close(place)


def used(base: Path, *, most_entries: int) -> int:
    """Bytes on disk below `base`, or UNREASONABLE if there are too many entries or too deep ones."""
    total, entries = 0, 0
    waiting = [(base, 0)]
    while waiting:
        place, level = waiting.pop()
        try:
            with os.scandir(place) as found:
                for entry in found:
                    entries += 1
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append((place / entry.name, level + 1))
        except OSError as error:  # it is gone meanwhile, or closed to its owner
            if error.errno == errno.ENAMETOOLONG:
                return UNREASONABLE
        if entries > most_entries or level > 2 * paths.MAX_LEVELS:
            return UNREASONABLE
    return total


def remove(base: Path) -> None:
    """Remove a folder, however deep it is and whatever permissions it has; links are not followed."""
    with suppress(FileNotFoundError):
        empty(base)
        base.rmdir()


def empty(base: Path, *, keep: Collection[str] = ()) -> None:
    """Remove what is in a folder, but for names to keep; the folder itself may be another user's.

    A folder in a folder is first moved up beside it, so no path gets long and no recursion deep.
    """
    numbers = count()
    top = _open(str(base), None)
    try:
        while names := set(os.listdir(top)).difference(keep):  # noqa: PTH208 - a descriptor, not a path
            for name in names:
                _flatten(name, top, numbers)
    finally:
        os.close(top)


def sweep() -> None:
    """Remove the empty folders that runs left behind whose caller was killed."""
    for base in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # not empty, or not ours
            if time.time() - base.stat().st_mtime > _ABANDONED:
                base.rmdir()


def _flatten(name: str, top: int, numbers: count[int]) -> None:
    if not _is_folder(name, top):
        os.unlink(name, dir_fd=top)
        return
    place = _open(name, top)
    try:
        for inner in os.listdir(place):  # noqa: PTH208
            if _is_folder(inner, place):
                os.close(_open(inner, place))  # moving a folder takes write permission on it
                os.rename(inner, f"{PREFIX}{next(numbers)}", src_dir_fd=place, dst_dir_fd=top)
            else:
                os.unlink(inner, dir_fd=place)
    finally:
        os.close(place)
    os.rmdir(name, dir_fd=top)


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _open(name: str, parent: int | None) -> int:
    """A folder opened for listing after its permissions were set so that it can be."""
    place = os.open(name, _ENTER, dir_fd=parent)
    try:
        with suppress(PermissionError):  # another user's; then it must be open as it is
            Path(f"/proc/self/fd/{place}").chmod(0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
    finally:
        os.close(place)
