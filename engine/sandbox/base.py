"""What the engine needs of a sandbox: run one command over some files, under limits, and say how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Ended = Literal["exit", "timeout", "memory", "processes", "output", "killed"]


@dataclass(frozen=True)
class Limits:
    """What a command may use. Sizes in bytes, time in seconds, `cpus` as a share of cores."""

    memory: int = 512 * 2**20
    cpus: float = 0.5
    processes: int = 64
    timeout: float = 30.0
    output: int = 1_000_000
    disk: int = 64 * 2**20
    network: bool = False


@dataclass(frozen=True)
class SandboxResult:
    """How a command ended.

    ended      why: it exited, or which limit ended it
    exit_code  None when it was ended by a limit
    stdout, stderr  decoded, invalid bytes replaced, capped at Limits.output
    stdout_bytes, stderr_bytes  bytes read before the command ended or was ended
    peak_memory  bytes, where the backend knows
    files      the collected files that were there, regular, and of at most Limits.output bytes each
    """

    ended: Ended
    exit_code: int | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    duration: float
    peak_memory: int | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)


class Sandbox(Protocol):
    """A place where generated code can run."""

    @property
    def name(self) -> str:
        """The backend: "podman", "bubblewrap", "sandlock" or "unprotected"."""

    async def run(
        self, command: Sequence[str], files: Mapping[str, bytes], *, limits: Limits, collect: Sequence[str] = ()
    ) -> SandboxResult:
        """Run `command` in a fresh folder that holds `files` (relative paths), with no network and a clean environment.

        A first word "python" is the Python of the run's environment. `collect` names files to hand back.
        Raises SandboxError when the sandbox itself breaks.
        """

    async def use(self, requirements: Sequence[str]) -> Mapping[str, str]:
        """Make these requirements (from wheels only) importable in later runs, beside pytest, instead of earlier ones.

        Returns what could not be installed: requirement -> reason. Raises SandboxError.
        """

    async def close(self) -> None:
        """Give back what it holds."""
