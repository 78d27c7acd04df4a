"""A sandbox on this machine's own kernel: one disposable process per run confines the command (`warden.py`)."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import SandboxError
from engine.sandbox import folder, order
from engine.sandbox.base import Limits, SandboxResult
from engine.sandbox.environment import Environment, environment

_GRACE = 20.0  # seconds beyond the timeout for the warden to clean up and answer
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
        what = order.make(command, limits, self._python)
        base = folder.make(files, disk=limits.disk)
        readable = order.system(self._python, network=limits.network)
        try:
            answer, written = await self._ask({**what, "base": str(base), "readable": readable})
            found = folder.collect(base, collect, most=limits.output)
            return order.result(answer, written, self._names(base), found)
        finally:
            await asyncio.to_thread(folder.remove, base)

    async def close(self) -> None:
        """Nothing is held between runs."""

    async def _ask(self, what: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Start a warden, hand it its order, wait for its answer; whatever happens, it is gone afterwards."""
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, "-I", "-S", "-c", _BOOT.format(paths=_import_paths())]
        warden = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, env={}, cwd="/", start_new_session=True
        )
        assert warden.stdin and warden.stdout and warden.stderr
        try:
            warden.stdin.write(json.dumps({**what, "backend": self.name}).encode() + b"\n")
            async with asyncio.timeout(what["timeout"] + _GRACE):
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
        return {str(base / "work"): "/work", str(base): "/sandbox", base.name: "sandbox", **order.names(self._python)}


def _import_paths() -> list[str]:
    """Where the warden, which starts without site packages, finds flowrun and sandlock."""
    spec = importlib.util.find_spec("sandlock")
    own = [str(Path(__file__).parents[2])]
    return own + ([str(Path(spec.origin).parents[1])] if spec and spec.origin else [])
