"""One process at a time, by a lock file; the lock of a process that died is free."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import InputError


@contextmanager
def locked(file: Path, what: str) -> Iterator[None]:
    """Hold a lock file. Raises InputError if it cannot be written, or, naming the process, if one holds it already."""
    try:
        lock = file.open("a+", encoding="ascii")
    except OSError as error:
        raise InputError(f"{file.parent}: cannot be written: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.seek(0)
            raise InputError(
                f"{what} is held by process {lock.read().strip() or '?'}; wait for it, or stop it"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def is_locked(file: Path) -> bool:
    """Whether a process holds the lock file."""
    try:
        with file.open(encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
