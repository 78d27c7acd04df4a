"""What generated code might do to the machine, and that it does not work."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from engine.sandbox import BACKENDS, confined
from engine.sandbox.base import Sandbox, SandboxResult
from tests.faults import attacks
from tests.support.sandboxes import LIMITS, environments, opened, run

NO_NAMESPACE = "import engine.sandbox.privileges as p; p._possible = lambda *_: False; "
SECRET = "sk-a-key-that-must-not-be-seen"
GIVEN = "/usr /bin /sbin /lib /lib32 /lib64 /etc/ld.so.cache /proc /dev /tmp /work /sandbox /python /sys /flowrun"
GIVEN += " /run/.containerenv /etc/hostname /etc/hosts /etc/mtab /etc/passwd /etc/group"
SHORT = replace(LIMITS, timeout=0.4)


def programs(by_name: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", by_name.values(), ids=by_name.keys())


@pytest.fixture(scope="module", autouse=True)
def opened_before(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a sandbox holds as long as it is open is not left behind by a run."""
    for name in BACKENDS:
        with suppress(pytest.skip.Exception):
            opened(name, environments(tmp_path_factory))


@pytest.fixture(scope="module", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return opened(request.param, environments(tmp_path_factory))


@pytest.fixture(params=[*BACKENDS, "sandlock where the system grants no namespaces"])
def every_sandbox(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Sandbox:
    """Each way in which a backend protects what is not in the run's folder."""
    if "no namespaces" in request.param:
        before, after = confined._BOOT.split("from engine.sandbox.warden")
        monkeypatch.setattr(confined, "_BOOT", before + NO_NAMESPACE + "from engine.sandbox.warden" + after)
    return opened(request.param.split()[0], environments(tmp_path_factory))


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each attack, no process and no folder of the sandbox is there."""
    folders = tmp_path_factory.mktemp("runs")
    monkeypatch.setattr(tempfile, "tempdir", str(folders))
    yield
    assert list(folders.iterdir()) == []
    deadline = time.monotonic() + 10  # a container that is of no more use ends in the background
    while processes_of(str(environments(tmp_path_factory))):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def processes_of(environment: str) -> list[int]:
    """Processes with something of these Python environments in their command: the sandbox's, and all they forked."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if environment.encode() in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def refused(result: SandboxResult) -> bool:
    """The program got an OSError where it tried; anything else it would have printed."""
    return result.exit_code == 1 and result.stdout == "" and "rror: [Errno" in result.stderr


def got_through(sandbox: Sandbox, attempts: list[str]) -> list[str]:
    result = run(sandbox, ["python", "-c", attacks.TRY, *attempts])
    assert (result.ended, result.exit_code, result.stderr) == ("exit", 0, "")
    return result.stdout.splitlines()


@programs(attacks.MEMORY_BOMBS)
def test_a_memory_bomb(sandbox: Sandbox, program: str) -> None:
    result = run(sandbox, program + "\nprint('all of it')")
    assert (result.ended, result.exit_code, result.stdout) == ("memory", None, "")


def test_memory_of_many_processes_counts_together(sandbox: Sandbox) -> None:
    result = run(sandbox, attacks.MANY_TOGETHER)
    assert result.ended == "memory" or int(result.stdout) <= 2


def test_files_in_memory(sandbox: Sandbox) -> None:
    assert refused(run(sandbox, attacks.FILES_IN_MEMORY))


def test_a_fork_bomb(sandbox: Sandbox) -> None:
    assert run(sandbox, attacks.FORK_BOMB, limits=SHORT).ended in {"timeout", "processes"}


def test_processes_are_counted(sandbox: Sandbox) -> None:
    assert int(run(sandbox, attacks.COUNT_PROCESSES, limits=replace(LIMITS, processes=10)).stdout) < 10


@programs(attacks.ENDLESS_LOOPS)
def test_an_endless_loop(sandbox: Sandbox, program: str) -> None:
    start = time.monotonic()
    result = run(sandbox, program, limits=SHORT)
    assert (result.ended, result.exit_code) == ("timeout", None)
    assert time.monotonic() - start < 15


@programs(attacks.DAEMONS)
def test_a_daemon_ends_with_the_run(sandbox: Sandbox, program: str) -> None:
    result = run(sandbox, program)
    assert (result.ended, result.stdout) == ("exit", "parent ends\n")


def test_a_daemon_that_always_moves_on(sandbox: Sandbox) -> None:
    assert run(sandbox, attacks.MOVING_DAEMON).stdout == "parent ends\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood(sandbox: Sandbox, stream: str) -> None:
    result = run(sandbox, attacks.FLOOD.format(stream=stream))
    assert (result.ended, result.exit_code) == ("output", None)
    text, size = getattr(result, stream), getattr(result, f"{stream}_bytes")
    assert len(text) == LIMITS.output < size < LIMITS.output + 10 * 2**20


@programs(attacks.FILLING_THE_DISK)
def test_filling_the_disk(sandbox: Sandbox, program: str) -> None:
    result = run(sandbox, program)
    assert (result.ended, result.exit_code) == ("killed", None)
    assert "too many or too large files" in result.stderr


def test_one_huge_file(sandbox: Sandbox) -> None:
    assert refused(run(sandbox, attacks.SPARSE_FILE))
    result = run(sandbox, attacks.HUGE_RESULT, collect=["result"])
    assert result.exit_code != 0 and result.stdout == "" and result.files == {}


def test_a_folder_that_is_hard_to_remove(every_sandbox: Sandbox) -> None:
    result = run(every_sandbox, attacks.HARD_TO_REMOVE)
    assert (result.ended, result.exit_code) == ("exit", 0)
    assert run(every_sandbox, "import os; print(os.listdir())").stdout == "[]\n"


def test_traces_are_not_found_by_the_next_run(sandbox: Sandbox) -> None:
    assert run(sandbox, attacks.LEAVE_TRACES).ended == "exit"
    for _ in range(2):
        result = run(sandbox, attacks.FIND_TRACES)
        assert (result.exit_code, result.stdout.split()) == (0, ["-1"] * 4)


def test_the_network(sandbox: Sandbox, tmp_path: Path) -> None:
    path, abstract = str(tmp_path / "socket"), f"\0flowrun-test-{os.getpid()}"
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as stream,
        closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as datagram,
        closing(socket.socket(socket.AF_UNIX)) as unix,
        closing(socket.socket(socket.AF_UNIX)) as hidden,
    ):
        datagram.bind(("127.0.0.1", 0))
        for listener, address in ((unix, path), (hidden, abstract)):
            listener.bind(address)
            listener.listen()
        assert got_through(sandbox, attacks.network(stream.getsockname()[1], path, abstract)) == []
        port = datagram.getsockname()[1]
        run(sandbox, f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))")
        for silent in (stream.accept, unix.accept, hidden.accept, lambda: datagram.recv(1)):
            for one in (stream, datagram, unix, hidden):
                one.setblocking(False)
            with pytest.raises(BlockingIOError):
                silent()


def test_the_key_of_the_caller(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with subprocess.Popen(["sleep", "60"], env={"OTHER_KEY": SECRET}) as other:
        result = run(sandbox, ["python", "-c", attacks.SPY, *map(str, (os.getpid(), os.getppid(), other.pid))])
        other.kill()
    assert "PYTHONHASHSEED" in result.stdout
    assert SECRET not in result.stdout and "_KEY" not in result.stdout


def test_reading_elsewhere(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    assert got_through(sandbox, attacks.reads(secret)) == []


def test_looking_elsewhere(sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Folders cannot be listed, or show no more than the way to what the sandbox is given."""
    folders = [Path.home(), Path("/"), Path("/root"), Path("/home"), Path("/etc"), Path("/tmp"), tmp_path.parent]
    shown = run(sandbox, ["python", "-c", attacks.LIST, *map(str, folders)]).stdout.split()
    given = [*GIVEN.split(), sys.base_prefix, str(environments(tmp_path_factory))]
    assert [one for one in shown if not any(Path(place).is_relative_to(one) for place in given)] == []


def test_writing_elsewhere(every_sandbox: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    file.chmod(0o640)
    tmp_path.chmod(0o750)
    python = Path(os.path.realpath(sys.executable))
    before = python.stat()
    start = f"folder, file = {str(tmp_path)!r}, {str(file)!r}; "
    silent = [start + one for one in attacks.SILENT_WRITES]
    assert {*got_through(every_sandbox, [*(start + one for one in attacks.WRITES), *silent])} <= {*silent}
    assert [one.name for one in tmp_path.iterdir()] == ["file"] and file.read_text() == "kept"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640 and stat.S_IMODE(tmp_path.stat().st_mode) == 0o750
    assert os.listxattr(file) == [] and file.stat().st_nlink == 1
    assert python.stat().st_mode == before.st_mode


def test_settings_of_the_kernel_are_not_even_opened(sandbox: Sandbox) -> None:
    assert got_through(sandbox, attacks.KERNEL_SETTINGS) == []


def test_signals_reach_nobody_else(sandbox: Sandbox) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as victim:
        attempts = [f"os.kill({victim.pid}, 9)", f"os.killpg({victim.pid}, 9)", f"os.kill({os.getpid()}, 15)"]
        assert got_through(sandbox, attempts) == []
        assert run(sandbox, attacks.KILL_EVERYTHING).exit_code != 0
        assert victim.poll() is None
        victim.kill()
    assert run(sandbox, "print('goes on')").stdout == "goes on\n"


def test_how_it_ended_cannot_be_forged(sandbox: Sandbox) -> None:
    result = run(sandbox, attacks.FORGE_AN_ANSWER)
    assert (result.ended, result.exit_code, result.stdout) == ("exit", 7, "")


def test_powers_are_gone(every_sandbox: Sandbox) -> None:
    status = run(every_sandbox, "print(open('/proc/self/status').read())").stdout
    found = dict(line.split(":\t") for line in status.splitlines() if line.startswith(("Cap", "NoNew")))
    assert {found[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {""}
    assert found["NoNewPrivs"] == "1"
    assert run(every_sandbox, attacks.calls()).stdout == "{-1}\n"


def test_a_result_that_is_no_file_is_not_followed(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    inside = ["link", "linked/secret", "sub/secret", "device", "pipe", "socket", "sub", "sparse", "file", "a\nb"]
    names = [*inside, "../secret", str(secret), "x/../file"]
    result = run(sandbox, ["python", "-c", attacks.RESULTS_THAT_ARE_NO_FILES, str(secret)], collect=names)
    assert result.stderr == "" and result.files == {"file": b"regular"}
