"""The process that a container of the podman backend runs its commands under, one after the other.

It is root of the container with the three powers that it takes to become another user and to end that user's
processes. For each order it forks a warden that gives these up for good and is the command's own user, so nothing
that the command does reaches this process, which makes sure that nothing of the command is left before it takes the
next order. Where it cannot be sure, it ends, and its container is not used again.

It says `ready` and a new secret word on its standard output, waits until files of that name appear in the work folder,
and answers as a warden does. The container's cgroup bounds memory, processor time and processes.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from engine.sandbox import folder, privileges, seccomp, warden

USER = 65534
WORK, PLACES = "/work", ("/work", "/tmp", "/sandbox", "/dev/shm", "/dev/mqueue")  # noqa: S108
ORDER, GO = "{word}.order", "{word}.go"
GO_TIME = 946_684_800  # the last file's sign that all are there; a time that an archive of the ZIP format can hold
OWN_PROCESSES = 4  # of the container, beside the command's: its first one, this one, the warden and its thread
_OPEN_FILES = 512
_MOST_ENTRIES = 20_000
_QUEUES = ("msg", "sem", "shm")  # System V's, which no file shows
_IN_ATTRIB, _IN_CLOSE_WRITE, _IN_MOVED_TO = 0x4, 0x8, 0x80
# The command begins when its end is waited for, so that it cannot take the processes which that needs; and if memory
# gets short, it is the first to be killed.
_GATE = 'read -r _; echo 1000 > /proc/self/oom_score_adj; exec "$@" < /dev/null'


@dataclass(frozen=True)
class Started:
    """A command that begins with the first `wait`."""

    process: subprocess.Popen[bytes]
    stdout: IO[bytes]
    stderr: IO[bytes]

    def wait(self) -> int:
        """Wait for its end, and end what it leaves: the exit code, or a signal's number negated."""
        gate = self.process.stdin
        if gate and not gate.closed:
            with suppress(BrokenPipeError):
                gate.write(b"\n")
                gate.close()
        code = self.process.wait()
        self.kill()
        return code

    def kill(self) -> None:
        """Kill it and all that it started, at one stroke, so that no number of new ones escapes."""
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)  # all that this user owns, but for this process and the container's first


def main() -> None:
    """Obey one order after the other."""
    privileges.adopt_orphans()
    lifeline, _held = os.pipe()
    given = _contents()
    inbox = _Inbox(WORK)
    while True:
        word = secrets.token_hex(16)
        print("ready", word, flush=True)
        order = inbox.take(word)
        child = os.fork()
        if child == 0:
            os.close(_held)
            _serve(order, given, lifeline)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"the warden ended with {os.waitstatus_to_exitcode(status)}")
        _check_nothing_is_left(given)


def _serve(order: Mapping[str, Any], given: Mapping[str, set[str]], lifeline: int) -> None:
    """Run one command, answer, and remove all that it made."""
    os.setgroups([])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    os.umask(0o022)
    privileges.hide()
    privileges.fix_addresses()
    privileges.refuse_calls(seccomp.deny_dangerous())
    for name in ("home", "tmp"):
        Path("/sandbox", name).mkdir()
    answer, streams = warden.run(order, _start, lambda: _exceeded(order["disk"]), lifeline)
    found = folder.collect(Path("/"), order["collect"], most=order["output"])
    sizes = {name: len(content) for name, content in found.items()}
    warden.say({**answer, "files": sizes}, [*(one.kept for one in streams), *found.values()])
    for place, names in given.items():
        folder.empty(Path(place), keep=names)


def _start(order: Mapping[str, Any]) -> Started:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    process = subprocess.Popen(
        ["sh", "-c", _GATE, "sh", *order["command"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=WORK,
        env={**order["environment"], "HOME": "/sandbox/home", "TMPDIR": "/sandbox/tmp"},
    )
    assert process.stdout and process.stderr
    return Started(process, process.stdout, process.stderr)


def _exceeded(disk: int) -> str | None:
    """The folders are kept in memory, and such a file system knows what it holds."""
    size = entries = 0
    for place in PLACES:
        with suppress(FileNotFoundError):
            found = os.statvfs(place)
            size += (found.f_blocks - found.f_bfree) * found.f_frsize
            entries += found.f_files - found.f_ffree
    return "disk" if size > disk or entries > _MOST_ENTRIES else None


def _contents() -> dict[str, set[str]]:
    """What is in the folders that a command may write to; at first, ways to what is mounted below them."""
    return {place: set(os.listdir(place)) for place in PLACES if Path(place).is_dir()}  # noqa: PTH208


def _check_nothing_is_left(given: Mapping[str, set[str]]) -> None:
    """End this process if a process, a file or a queue of the command is still there."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)  # all but this one and the container's first
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0):
            pass
    others = {one for one in os.listdir("/proc") if one.isdecimal()} - {"1", str(os.getpid())}  # noqa: PTH208
    queues = [one for one in _QUEUES if len(Path("/proc/sysvipc", one).read_text().splitlines()) > 1]
    if others or queues or _contents() != given:
        sys.exit(f"something is left of the last command: {[*others, *queues, *_contents().values()][:5]}")


class _Inbox:
    """Waits for files in a folder, without looking again and again."""

    def __init__(self, place: str) -> None:
        self._place = Path(place)
        libc = ctypes.CDLL(None, use_errno=True)
        self._events = libc.inotify_init1(0)
        kinds = _IN_ATTRIB | _IN_CLOSE_WRITE | _IN_MOVED_TO
        if self._events < 0 or libc.inotify_add_watch(self._events, os.fsencode(place), kinds) < 0:
            raise OSError(ctypes.get_errno(), f"{place} cannot be watched")

    def take(self, word: str) -> dict[str, Any]:
        """The order under a secret word, once it is there; its files are gone then."""
        order, go = (self._place / name.format(word=word) for name in (ORDER, GO))
        while not (go.exists() and go.stat().st_mtime == GO_TIME):
            os.read(self._events, 1 << 16)
        found: dict[str, Any] = json.loads(order.read_bytes())
        order.unlink()
        go.unlink()
        return found
