"""A sandbox on this machine's own kernel: one disposable process per run confines the command (`warden.py`)."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from engine.errors import SandboxError
from engine.sandbox import folder
from engine.sandbox.base import Limits, SandboxResult
from engine.sandbox.environment import Environment, environment

_GRACE = 20.0  # seconds beyond the timeout for the warden to clean up and answer
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache")
_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/pki")
_BOOT = "import sys; sys.path += {paths!r}; from engine.sandbox.warden import main; main()"


class ConfinedSandbox:
    """Runs each command under a warden of its own, which confines it by `name`: "bubblewrap" or "sandlock"."""

    def __init__(self, name: str, python: Environment, cache: Path) -> None:
        self._name = name
        self._python = python
        self._cache = cache
        folder.sweep()

    @property
    def name(self) -> str:
        """The backend."""
        return self._name

    async def use(self, requirements: Sequence[str]) -> Mapping[str, str]:
        """Give later runs these distributions; returns what could not be installed, with the reason."""
        self._python = await environment(requirements, self._cache)
        return self._python.failed

    async def run(
        self, command: Sequence[str], files: Mapping[str, bytes], *, limits: Limits, collect: Sequence[str] = ()
    ) -> SandboxResult:
        """Run `command` over `files`; see `engine.sandbox.base.Sandbox.run`."""
        if not command or any("\0" in word for word in command):
            raise SandboxError(f"{list(command)!r} is no command")
        base = folder.make(files, disk=limits.disk)
        try:
            answer, written = await self._ask(_order(command, base, limits, self._python))
            found = folder.collect(base, collect, most=limits.output)
            return _result(answer, written, self._names(base), found)
        finally:
            await asyncio.to_thread(folder.remove, base)

    async def close(self) -> None:
        """Nothing is held between runs."""

    async def _ask(self, order: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Start a warden, hand it the order, wait for its answer; whatever happens, it is gone afterwards."""
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-I", "-S", "-c", _BOOT.format(paths=_import_paths())]
        warden = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env={}, cwd="/", start_new_session=True
        )
        assert warden.stdin and warden.stdout and warden.stderr
        try:
            warden.stdin.write(json.dumps({**order, "backend": self.name}).encode() + b"\n")
            async with asyncio.timeout(order["timeout"] + _GRACE):
                output, problem = await asyncio.gather(warden.stdout.read(), warden.stderr.read())
        except TimeoutError:
            warden.kill()
            raise SandboxError(f"the {self.name} sandbox did not end in time") from None
        finally:
            warden.stdin.close()  # the lifeline: a warden that still runs kills everything and ends
            await warden.wait()
        head, found, written = output.partition(b"\n")
        if warden.returncode or not found:
            said = problem.decode("utf-8", "replace").strip() or f"exit code {warden.returncode}"
            raise SandboxError(f"the {self.name} sandbox broke: {said.splitlines()[-1]}")
        return json.loads(head), written

    def _names(self, base: Path) -> dict[str, str]:
        """What paths are called in the output, so that it is the same in each run and on each machine."""
        names = {str(base / "work"): "/work", str(base): "/sandbox", base.name: "sandbox"}
        names[str(self._python.python.parents[1])] = "/python"
        if not Path(sys.base_prefix).is_relative_to("/usr"):
            names[sys.base_prefix] = "/python"
        return names


def _outermost(places: Sequence[str]) -> list[str]:
    """The places that are in no other one."""
    return [one for one in places if not any(one != other and Path(one).is_relative_to(other) for other in places)]


def _import_paths() -> list[str]:
    """Where the warden, which starts without site packages, finds flowrun and sandlock."""
    spec = importlib.util.find_spec("sandlock")
    own = [str(Path(__file__).parents[2])]
    return own + ([str(Path(spec.origin).parents[1])] if spec and spec.origin else [])


def _order(command: Sequence[str], base: Path, limits: Limits, python: Environment) -> dict[str, Any]:
    first = str(python.python) if command[0] == "python" else command[0]
    system = [one for one in (*_SYSTEM, *(_NETWORK if limits.network else ())) if Path(one).exists()]
    return {
        "command": [first, *command[1:]],
        "base": str(base),
        "readable": _outermost([*system, *map(str, python.readable)]),
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


def _result(
    answer: Mapping[str, Any], written: bytes, names: Mapping[str, str], files: Mapping[str, bytes]
) -> SandboxResult:
    out, err = (_text(one, names) for one in (written[: answer["kept"][0]], written[answer["kept"][0] :]))
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


def _text(written: bytes, names: Mapping[str, str]) -> str:
    text = written.decode("utf-8", "replace")
    for path, name in names.items():
        text = text.replace(path, name)
    return text
