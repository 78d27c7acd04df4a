"""A probe is worth what it finds: here it meets no protection at all, and each kind of lie."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from engine.errors import InputError, SandboxError
from engine.sandbox import BACKENDS, open_sandbox
from engine.sandbox.base import Limits, SandboxResult
from engine.sandbox.probe import probe
from tests.support.sandboxes import environments, opened


class Unprotected:
    """Runs the command as it is; `say` is what it prints instead, if given."""

    name = "unprotected"

    def __init__(self, folder: Path, say: str | None = None) -> None:
        self.folder, self.say = folder, say

    async def run(
        self, command: Sequence[str], files: Mapping[str, bytes], *, limits: Limits, collect: Sequence[str] = ()
    ) -> SandboxResult:
        for name, content in files.items():
            (self.folder / name).write_bytes(content)
        command = [sys.executable, *command[1:]] if self.say is None else ["echo", self.say]
        done = await asyncio.to_thread(subprocess.run, command, cwd=self.folder, capture_output=True, text=True)
        return SandboxResult("exit", done.returncode, done.stdout, done.stderr, 0, 0, 0.0)

    async def use(self, requirements: Sequence[str]) -> Mapping[str, str]:
        return {}

    async def close(self) -> None:
        pass


def test_without_protection_everything_fails(tmp_path: Path) -> None:
    found = asyncio.run(probe(Unprotected(tmp_path)))
    everything = {"memory", "attributes", "network", "write", "read", "variables", "processes"}
    assert {*found} - {"packages"} == everything
    assert "FLOWRUN_PROBE" not in os.environ


@pytest.mark.parametrize("said", ["", "Traceback", "[1"])
def test_a_sandbox_that_runs_nothing_is_no_sandbox(tmp_path: Path, said: str) -> None:
    with pytest.raises(SandboxError, match="unprotected sandbox cannot run Python here"):
        asyncio.run(probe(Unprotected(tmp_path, said)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_that_is_there_holds(backend: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert asyncio.run(probe(opened(backend, environments(tmp_path_factory)))) == []


def test_a_backend_that_is_not_there_is_refused_by_name() -> None:
    for name in ("unprotected", "chroot"):
        with pytest.raises(InputError, match=f"no backend '{name}' here; there is: auto, podman, bubblewrap, sandlock"):
            asyncio.run(open_sandbox(name, limits=Limits()))


@pytest.mark.parametrize("limits", [Limits(memory=0), Limits(cpus=-1), Limits(processes=0), Limits(timeout=0.0)])
def test_a_limit_that_makes_no_sense_is_refused(limits: Limits) -> None:
    with pytest.raises(InputError, match=r"sandbox: \w+ must be greater than 0, not (0|-1)"):
        asyncio.run(open_sandbox(limits=limits))


def test_a_kernel_without_landlock_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = pytest.importorskip("sandlock", reason="needs Linux", exc_type=ImportError)
    monkeypatch.setattr(library, "landlock_abi_version", lambda: -1)
    with pytest.raises(InputError, match=r"no sandbox, .* sandlock: it needs Linux 6\.12 or later with Landlock"):
        asyncio.run(open_sandbox("sandlock", limits=Limits(), cache=environments(tmp_path_factory)))


def test_a_machine_without_bubblewrap_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(InputError, match="bubblewrap: it needs the program bwrap: install bubblewrap"):
        asyncio.run(open_sandbox("bubblewrap", limits=Limits(), cache=environments(tmp_path_factory)))


def test_a_machine_without_podman_is_told_and_its_library_not_imported() -> None:
    program = (
        "import asyncio, sys; from engine.sandbox import open_sandbox; from engine.sandbox.base import Limits\n"
        "try: asyncio.run(open_sandbox('podman', limits=Limits()))\n"
        "finally: print(*{'podman', 'requests'} & {*sys.modules})"
    )
    environment = {**os.environ, "PATH": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert "podman: it needs the program podman: apt-get install" in done.stderr and done.stdout == "\n"


def test_another_system_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InputError, match="no sandbox, so no generated code is run: it needs Linux"):
        asyncio.run(open_sandbox(limits=Limits()))
