"""Confinement by namespaces: bubblewrap, with a seccomp filter and the warden's watch. Run by the warden.

Bubblewrap bounds neither memory nor processor time nor, everywhere, the number of processes: the warden's watch and a
throttle do, with a delay of a tenth of a second.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from engine.sandbox import folder, privileges, seccomp
from engine.sandbox.processes import throttle

_OPEN_FILES = 512
_USERS = range(61184, 65520)  # set aside by systemd for users that exist for one process only
_FIXED = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"),
    *("--die-with-parent", "--new-session", "--clearenv", "--proc", "/proc", "--dev", "/dev"),
)
_ORDINARY = ("--unshare-user", "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")
# Parts of the run's folder and where the command sees them; a Python may be mounted below /tmp, so TMPDIR is another.
_WRITABLE = {
    "work": "/work",
    "home": "/sandbox/home",
    "tmp": "/sandbox/tmp",
    "scratch": "/tmp",  # noqa: S108
    "shm": "/dev/shm",  # noqa: S108
}
# Last of all: nothing but the folder can be written, not the root made of memory and not the settings of the kernel.
_READ_ONLY = ("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/")


@dataclass(frozen=True)
class Started:
    """A confined command that runs."""

    process: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self) -> int:
        """Wait for its end: the exit code, or a signal's number negated (bubblewrap says 128 and more for signals)."""
        code = self.process.wait()
        return 128 - code if code in range(129, 160) else code

    def kill(self) -> None:
        """Kill it, and with it everything in its namespace."""
        self.process.kill()


def start(order: Mapping[str, Any]) -> Started:
    """Confine and start the command of an order."""
    user = _USERS[os.getpid() % len(_USERS)] if os.geteuid() == 0 else None
    if user is None:
        privileges.drop_capabilities()
    else:
        folder.give(Path(order["base"]), user)
    privileges.fix_addresses()
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    with _readable(seccomp.deny_dangerous()) as descriptor:
        process = subprocess.Popen(
            ["bwrap", *_arguments(order, user), "--seccomp", str(descriptor), "--", *_limited(order, user)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(descriptor,),
            env={"PATH": "/usr/bin:/bin:/usr/local/bin"},
        )
    assert process.stdout and process.stderr
    if order["cpus"] < 1:
        throttle(order["cpus"])
    return Started(process, process.stdout, process.stderr)


def lacking() -> str | None:
    """What this machine lacks for it, and how to get it; None if nothing."""
    programs = {"bwrap": "bubblewrap"} | ({"setpriv": "util-linux"} if os.geteuid() == 0 else {})
    for program, package in programs.items():
        if shutil.which(program) is None:
            how = f"install {package} with the system's package manager (apt-get install {package})"
            return f"it needs the program {program}: {how}"
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    if os.geteuid() != 0 and version < (5, 14):  # before, all processes of the user counted, not the sandbox's own
        return f"it needs Linux 5.14 or later to count processes; this is {os.uname().release}"
    return None


def _arguments(order: Mapping[str, Any], user: int | None) -> Iterator[str]:
    base = Path(order["base"])
    yield from _FIXED
    if user is None:
        yield from _ORDINARY
    if not order["network"]:
        yield "--unshare-net"
    for name, place in _WRITABLE.items():
        yield from (*_way_to(place), "--bind", str(base / name), place)
    for place in order["readable"]:
        if Path(place).is_symlink() and len(Path(place).parts) == 2:
            yield from ("--symlink", str(Path(place).readlink()), place)  # /bin -> usr/bin
        else:
            yield from (*_way_to(place), "--ro-bind", place, place)
    environment = {**order["environment"], "HOME": _WRITABLE["home"], "TMPDIR": _WRITABLE["tmp"]}
    for name, value in environment.items():
        yield from ("--setenv", name, value)
    yield from (*_READ_ONLY, "--chdir", "/work")


def _way_to(place: str) -> Iterator[str]:
    """The folders above a place, open to all: bubblewrap would close them to all but the one who starts it."""
    for folder_above in reversed(Path(place).parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(folder_above))


def _limited(order: Mapping[str, Any], user: int | None) -> list[str]:
    """The command under a limit of processes, which is set inside, where only the sandbox's own count.

    What root starts goes on as a user that owns nothing else; bubblewrap itself needs root's powers before that.
    """
    limit = ["sh", "-c", 'ulimit -p "$0" 2>&- || ulimit -u "$0"; exec "$@"', str(order["processes"])]
    if user is not None:
        who = [f"--reuid={user}", f"--regid={user}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
        limit += ["setpriv", *who, "--no-new-privs", "--"]
    return [*limit, *order["command"]]


@contextmanager
def _readable(content: bytes) -> Iterator[int]:
    """A file descriptor from which a child can read `content`, which must fit into a pipe."""
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)
