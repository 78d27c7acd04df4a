"""What a command is run with, and what is made of how it ended: the same for every backend."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import SandboxError
from engine.sandbox.base import Limits, SandboxResult
from engine.sandbox.environment import Environment

_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache")
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki")


def make(command: Sequence[str], limits: Limits, python: Environment) -> dict[str, Any]:
    """The order that a warden obeys, but for where and under which backend. Raises SandboxError for no command."""
    if not command or any("\0" in word for word in command):
        raise SandboxError(f"{list(command)!r} is no command")
    first = str(python.python) if command[0] == "python" else command[0]
    return {
        "command": [first, *command[1:]],
        "environment": {
            "PATH": f"{python.python.parent}:/usr/bin:/bin",
            "USER": "sandbox",
            "LOGNAME": "sandbox",
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        },
        **asdict(limits),
    }


def system(python: Environment, *, network: bool) -> list[str]:
    """Files and folders of this machine that a command may read: programs, libraries, and its Python."""
    found = [one for one in (*_SYSTEM, *(_NETWORK if network else ())) if Path(one).exists()]
    places = [*found, *map(str, python.readable)]
    return [one for one in places if not any(one != other and Path(one).is_relative_to(other) for other in places)]


def names(python: Environment) -> dict[str, str]:
    """What the places of a Python are called in the output, so that it is the same on each machine."""
    called = {str(python.python.parents[1]): "/python"}
    if not Path(sys.base_prefix).is_relative_to("/usr"):
        called[sys.base_prefix] = "/python"
    return called


def result(
    answer: Mapping[str, Any], written: bytes, called: Mapping[str, str], files: Mapping[str, bytes]
) -> SandboxResult:
    """The record of a run, of a warden's answer and of what the command wrote: stdout, then stderr."""
    out, err = (_text(one, called) for one in (written[: answer["kept"][0]], written[answer["kept"][0] :]))
    ended = answer["ended"]
    if ended == "disk":
        ended, err = "killed", err + "\n[killed: it made too many or too large files]\n"
    return SandboxResult(
        ended=ended,
        exit_code=answer["exit_code"],
        stdout=out,
        stderr=err,
        stdout_bytes=answer["totals"][0],
        stderr_bytes=answer["totals"][1],
        duration=answer["duration"],
        peak_memory=answer["peak_memory"],
        files=files,
    )


def _text(written: bytes, called: Mapping[str, str]) -> str:
    text = written.decode("utf-8", "replace")
    for path, name in called.items():
        text = text.replace(path, name)
    return text
