"""The podman service: the one that listens on this machine, or one of our own for as long as the sandbox is open."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from engine.errors import SandboxError

_PATIENCE = 20.0  # seconds for a service to listen
_PREFIX = "flowrun-podman-"
# Standard input is the lifeline: when it closes, because its owner is gone, the service ends and the folder too. All
# of its process group is told, since without root the service is a child of what was started.
_SERVE = """
exec 3<&0
trap : TERM
podman system service --time=0 "unix://$1/podman.sock" 3<&- &
service=$!
{
    trap : TERM
    read -r _ <&3
    kill -s TERM -- "-$$"
    while kill -0 "$service"; do sleep 0.05; done 2> /dev/null
    rm -rf "$1"
} &
wait "$service"
"""
_PROFILES = (Path("/etc/containers/seccomp.json"), Path("/usr/share/containers/seccomp.json"))
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "LANG")


@dataclass(frozen=True)
class Service:
    """A service that listens.

    address  for a client
    folder   a folder of ours that the service can read
    process  the service, if it is our own
    """

    address: str
    folder: Path
    process: subprocess.Popen[bytes] | None

    def close(self) -> None:
        """End it if it is our own."""
        if self.process is not None:
            assert self.process.stdin
            self.process.stdin.close()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def lacking() -> str | None:
    """What this machine lacks for it, and how to get it; None if nothing."""
    if shutil.which("podman") is None:
        return "it needs the program podman: apt-get install podman runc (or: dnf install podman)"
    return None


def open_service() -> Service:
    """The system's service where one listens, else a new one. Raises SandboxError if there is none."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    for place in _usual_sockets():
        if _listens(place):
            return Service(f"unix://{place}", folder, None)
    try:
        return _start(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _usual_sockets() -> list[str]:
    named = os.environ.get("CONTAINER_HOST", "")
    if named.startswith("unix://"):
        return [named.removeprefix("unix://")]
    if os.geteuid() == 0:
        return ["/run/podman/podman.sock"]
    return [f"{os.environ.get('XDG_RUNTIME_DIR') or f'/run/user/{os.geteuid()}'}/podman/podman.sock"]


def _listens(place: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(place)
        except OSError:
            return False
    return True


def _start(folder: Path) -> Service:
    settings = folder / "containers.conf"
    settings.write_text(_settings())
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", _SERVE, "sh", str(folder)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**environment, "CONTAINERS_CONF": str(settings)},
            start_new_session=True,  # Ctrl-C is for flowrun, which closes it in order
        )
    service = Service(f"unix://{folder}/podman.sock", folder, process)
    give_up = time.monotonic() + _PATIENCE
    while not _listens(f"{folder}/podman.sock"):
        if process.poll() is not None or time.monotonic() > give_up:
            service.close()
            raise SandboxError(f"the podman service does not start: {_last_line(folder / 'log')}")
        time.sleep(0.01)
    return service


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").strip().splitlines() if log.exists() else []
    return lines[-1] if lines else "it said nothing"


def _settings() -> str:
    """A containers.conf: what works without systemd and on every version of control groups."""
    lines = ["[containers]", 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]', "[engine]"]
    lines += ['events_logger = "none"', "exit_command_delay = 1"]
    if not Path("/run/systemd/system").is_dir():
        lines.append('cgroup_manager = "cgroupfs"')
    if not Path("/sys/fs/cgroup/cgroup.controllers").exists() and shutil.which("runc"):
        lines.append('runtime = "runc"')  # crun fails on control groups of the first version
    return "\n".join([*lines, ""])


def write_profile(folder: Path) -> Path | None:
    """The usual seccomp profile, which also lets a process have fixed addresses, so that output can be repeated.

    None where the usual one is in no file; then it is used as it is.
    """
    usual = next((one for one in _PROFILES if one.exists()), None)
    if usual is None:
        return None
    profile = json.loads(usual.read_text())
    fixed = {"index": 0, "value": 0x0040000, "valueTwo": 0, "op": "SCMP_CMP_EQ"}
    profile["syscalls"].append({"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [fixed]})
    place = folder / "seccomp.json"
    place.write_text(json.dumps(profile))
    return place
