"""Giving up power for good: what a process does to itself before it starts a stranger's code.

Landlock says which files may be opened, not whose permission bits, times and attributes may be changed: a program
could do that to every file of its user. Two things close the gap. In a user and mount namespace of its own, the
process sees all file systems read-only but for one folder. Where the system grants no such namespace, a seccomp filter
makes every change of permission bits and attributes a call that does nothing.
"""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from pathlib import Path

from engine.sandbox import seccomp

_LIBC = ctypes.CDLL(None, use_errno=True)

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_SECUREBITS = 4, 22, 24, 28
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_NO_ROOT_LOCKED = 0b11  # being root gives no capabilities, and this cannot be undone
_CAPABILITY_VERSION = 0x20080522

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_MOUNT_READ_ONLY = 1
_ADDR_NO_RANDOMIZE = 0x0040000
_SYS_MOUNT_SETATTR = 442


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends, so that none gets away."""
    _checked("prctl", _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def give_up(folder: Path, *, shm: Path) -> bool:
    """Keep write access to `folder` alone, and no capability; whether `shm` is now what /dev/shm shows.

    Raises OSError when that cannot be had.
    """
    namespace = _possible(folder, shm)
    if namespace:
        _read_only_but(folder, shm)
    else:
        refuse_calls(seccomp.ignore_attributes())
    drop_capabilities()
    return namespace


def fix_addresses() -> None:
    """Have what this process starts load at the same addresses each time, so that what it prints is the same."""
    _LIBC.personality(_ADDR_NO_RANDOMIZE)


def _possible(folder: Path, shm: Path) -> bool:
    """Whether the system grants the namespace; tried in a child, since half of it cannot be taken back."""
    child = os.fork()
    if child == 0:
        try:
            _read_only_but(folder, shm)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _read_only_but(folder: Path, shm: Path) -> None:
    user, group = os.getuid(), os.getgid()
    _checked("unshare", _LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _mount(b"/", flags=_MS_REC | _MS_PRIVATE)
    _mount(os.fsencode(folder), os.fsencode(folder), _MS_BIND)
    _mount(b"/dev/shm", os.fsencode(shm), _MS_BIND)
    _set_mount(b"/", _AT_RECURSIVE, add=_MOUNT_READ_ONLY)
    for place in (os.fsencode(folder), b"/dev/shm"):
        _set_mount(place, 0, remove=_MOUNT_READ_ONLY)
    with tempfile.TemporaryFile(dir=folder):  # the proof that it can still be written
        pass


def _mount(place: bytes, source: bytes | None = None, flags: int = 0) -> None:
    _checked("mount", _LIBC.mount(source, place, None, flags, None))


def _set_mount(place: bytes, flags: int, *, add: int = 0, remove: int = 0) -> None:
    attributes = struct.pack("=QQQQ", add, remove, 0, 0)
    done = _LIBC.syscall(_SYS_MOUNT_SETATTR, _AT_FDCWD, place, flags, attributes, len(attributes))
    _checked("mount_setattr", done)


def hide() -> None:
    """Let no other process of the same user look into this one: not its memory, its descriptors, its environment."""
    _checked("prctl", _LIBC.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0))


def refuse_calls(program: bytes) -> None:
    """Put this process, and all that it starts, under a seccomp filter."""
    code = ctypes.create_string_buffer(program, len(program))
    head = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _checked("prctl", _LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked("prctl", _LIBC.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, head, 0, 0))


def drop_capabilities() -> None:
    """Root without its powers, in this process and in all that it starts; nothing changes for another user."""
    if _LIBC.prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0) == 0:
        for capability in range(64):
            if _LIBC.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _checked("capset", _LIBC.capset(header, bytes(24)))


def _checked(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
