"""One warm container: it is made once and runs one command after the other, each over nothing but its own files."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import engine
from engine.sandbox import contained, owner
from engine.sandbox.base import Limits
from engine.sandbox.containers.image import Image

if TYPE_CHECKING:
    from podman import PodmanClient

LABEL = "flowrun.owner"
_PERIOD = 20_000  # microseconds over which processor time is shared out
_SLACK = 2**20  # bytes of a folder beyond its limit, for the order
_OVERHEAD = 16 * 2**20  # bytes of memory for what watches the command
_BOOT = "import sys; sys.path.append('/flowrun'); from engine.sandbox.contained import main; main()"
_MOST = 1 << 30  # bytes of an answer that make sense


@dataclass(frozen=True)
class Kind:
    """What all commands in a container share.

    binds    what of this machine is seen, read-only: by place, its source
    profile  a seccomp profile's file, or None for the usual one
    life     seconds after which it ends by itself, whatever became of flowrun
    """

    image: Image
    limits: Limits
    binds: tuple[tuple[str, str], ...]
    profile: Path | None
    life: int


class Broken(Exception):
    """The container ended, or said what it should not: it is of no more use."""


class NotBegun(Broken):
    """The container did not take the files of a command."""


class Container:
    """A container that waits for commands. Every method blocks; only `kill` may be called beside another.

    began, rests  when it was made, and since when it waits, on the monotonic clock
    """

    def __init__(self, client: PodmanClient, kind: Kind) -> None:
        self.kind = kind
        self.began = self.rests = time.monotonic()
        self._client = client
        self._container = client.containers.create(kind.image.reference, **_options(kind))
        self._buffer = bytearray()
        self._complaint = bytearray()
        try:
            self._container.start()
            boot = [kind.image.python, "-I", "-S", "-c", _BOOT]
            _, stream = self._container.exec_run(boot, user="0:0", stream=True, demux=True)
            self._stream = cast("Iterator[tuple[bytes | None, bytes | None]]", stream)
            self.settle()
        except BaseException:
            self.remove()
            raise

    def settle(self) -> None:
        """Wait until nothing is left of the last command and the next one may come. Raises Broken."""
        said, _, word = self._line().partition(b" ")
        if said != b"ready":
            raise Broken("it is not ready")
        self._word = word.decode("ascii")
        self.rests = time.monotonic()

    def run(
        self, order: Mapping[str, Any], files: Mapping[str, bytes], collect: Sequence[str]
    ) -> tuple[dict[str, Any], bytes, dict[str, bytes]]:
        """Run a command: the warden's answer, what the command wrote, the files that it left. Raises Broken."""
        whole = {**order, "base": contained.WORK, "collect": list(collect)}
        if not self._container.put_archive(contained.WORK, _archive(files, self._word, whole)):
            raise NotBegun("the files cannot be put into it")
        answer = json.loads(self._line())
        written = self._exactly(sum(answer["kept"]))
        found = {name: self._exactly(size) for name, size in answer["files"].items()}
        return answer, written, found

    def kill(self, client: PodmanClient) -> None:
        """End it and all that runs in it, at once; what waits for it gets Broken."""
        from podman.errors import PodmanError

        with suppress(PodmanError, OSError):  # it has ended
            client.containers.get(self._container.id).kill(signal="KILL")

    def lives(self) -> bool:
        """Whether it still runs, whatever became of the command in it."""
        from podman.errors import PodmanError

        try:
            self._container.reload()
        except (PodmanError, OSError):
            return False
        return bool(self._container.status == "running")

    def remove(self) -> None:
        """End it and all that is in it."""
        from podman.errors import PodmanError

        with suppress(PodmanError, OSError):  # it has removed itself
            self._container.remove(force=True, v=True)
        self._client.close()  # type: ignore[no-untyped-call]

    def _line(self) -> bytes:
        while b"\n" not in self._buffer:
            self._read()
        line, _, rest = bytes(self._buffer).partition(b"\n")
        self._buffer = bytearray(rest)
        return line

    def _exactly(self, size: int) -> bytes:
        if not 0 <= size <= _MOST:
            raise Broken(f"it speaks of {size} bytes")
        while len(self._buffer) < size:
            self._read()
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    def _read(self) -> None:
        """Take some more of what it says."""
        from requests import RequestException
        from urllib3.exceptions import HTTPError

        try:
            said, complaint = next(self._stream)
        except (StopIteration, RequestException, HTTPError, OSError, ValueError):
            lines = self._complaint.decode("utf-8", "replace").strip().splitlines()
            raise Broken(lines[-1] if lines else "it ended") from None
        self._buffer += said or b""
        self._complaint += complaint or b""


def sweep(client: PodmanClient) -> None:
    """Remove the containers whose owner is dead."""
    from podman.errors import PodmanError

    for one in client.containers.list(all=True, filters={"label": LABEL}):
        if owner.is_dead(str(one.labels.get(LABEL, ""))):
            with suppress(PodmanError):  # it removes itself, or another sweep does it
                one.remove(force=True, v=True)


def _options(kind: Kind) -> dict[str, Any]:
    limits, files = kind.limits, {"Soft": 1024, "Hard": 1024}
    memory = limits.memory + _OVERHEAD
    binds = [{"type": "bind", "source": one, "target": place, "read_only": True} for place, one in kind.binds]
    source = str(Path(engine.__file__).parent)
    size = limits.disk + _SLACK
    return {
        "entrypoint": ["sleep"],
        "command": [str(kind.life)],
        "labels": {LABEL: owner.mark()},
        "hostname": "sandbox",
        "user": f"{contained.USER}:{contained.USER}",
        "workdir": contained.WORK,
        "network_mode": "host" if limits.network else "none",
        "use_image_hosts": True,  # else it shows the names of this machine
        "mem_limit": memory,
        "memswap_limit": memory,
        "cpu_period": _PERIOD,
        "cpu_quota": max(1000, int(limits.cpus * _PERIOD)),
        "pids_limit": limits.processes + contained.OWN_PROCESSES,
        "read_only": True,
        "read_write_tmpfs": False,
        "no_new_privileges": True,
        "cap_drop": ["ALL"],
        "cap_add": ["CAP_KILL", "CAP_SETGID", "CAP_SETUID"],  # the command has none of them
        "seccomp_profile_path": str(kind.profile) if kind.profile else None,
        "image_volume_mode": "ignore",
        "log_config": {"Type": "none"},
        "remove": True,
        "stop_timeout": 0,
        "shm_size": size,
        "ulimits": [{"Name": "nofile", **files}, {"Name": "nproc", **files}],
        "mounts": [
            *binds,
            {"type": "bind", "source": source, "target": "/flowrun/engine", "read_only": True},
            *({"type": "tmpfs", "target": one, "size": size, "mode": "1777"} for one in ("/work", "/tmp", "/sandbox")),  # noqa: S108
        ],
    }


def _archive(files: Mapping[str, bytes], word: str, order: Mapping[str, Any]) -> bytes:
    """Regular files alone: the command's, the order, and last of all the sign that all is there."""
    buffer = io.BytesIO()
    last = {contained.ORDER.format(word=word): json.dumps(order).encode(), contained.GO.format(word=word): b""}
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in {**files, **last}.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            entry.uid = entry.gid = contained.USER
            entry.mtime = contained.GO_TIME
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
