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
from tests.support.sandboxes import LIMITS, environments, opened, run

NO_NAMESPACE = "import engine.sandbox.privileges as p; p._possible = lambda *_: False; "
SECRET = "sk-a-key-that-must-not-be-seen"
GIVEN = "/usr /bin /sbin /lib /lib32 /lib64 /etc/ld.so.cache /proc /dev /tmp /work /sandbox /python /sys /flowrun"
GIVEN += " /run/.containerenv /etc/hostname /etc/hosts /etc/mtab /etc/passwd /etc/group"
SHORT = replace(LIMITS, timeout=0.4)

# Tries each argument and prints those that got through: where the system refused nothing.
TRY = """
import os, pathlib, signal, socket, sys
for text in sys.argv[1:]:
    try:
        exec(text, dict(globals()))
    except OSError:
        continue
    print(text)
"""


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
    assert processes_of(str(environments(tmp_path_factory))) == []


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


@pytest.mark.parametrize(
    "program",
    [
        "held = [bytearray(1 << 20) for _ in range(2000)]",
        "import mmap; held = mmap.mmap(-1, 1 << 30); held[:] = bytes(1 << 30)",
        # memory that was reserved without the right to use it, and got the right later
        "import ctypes; c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p; size = ctypes.c_size_t(1 << 30)\n"
        "at = ctypes.c_void_p(c.mmap(None, size, 0, 0x4022, -1, 0)); c.mprotect(at, size, 3); c.memset(at, 1, size)",
        "import ctypes; c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p; size = ctypes.c_size_t(1 << 30)\n"
        "at = ctypes.c_void_p(c.mmap(None, size, 0, 0x21, -1, 0)); c.mprotect(at, size, 3); c.memset(at, 1, size)",
    ],
    ids=["heap", "mapping", "reserved", "shared"],
)
def test_a_memory_bomb(sandbox: Sandbox, program: str) -> None:
    result = run(sandbox, program + "\nprint('all of it')")
    assert (result.ended, result.exit_code, result.stdout) == ("memory", None, "")


def test_memory_of_many_processes_counts_together(sandbox: Sandbox) -> None:
    program = (
        "import os, time\n"
        "for _ in range(8):\n"
        "    if os.fork() == 0:\n"
        "        held = bytearray(100 << 20); time.sleep(0.5); os._exit(0)\n"
        "print(sum(os.wait()[1] == 0 for _ in range(8)))"
    )
    result = run(sandbox, program)
    assert result.ended == "memory" or int(result.stdout) <= 2


def test_files_in_memory(sandbox: Sandbox) -> None:
    assert refused(run(sandbox, "import os; os.memfd_create('x'); print('made')"))


def test_a_fork_bomb(sandbox: Sandbox) -> None:
    program = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    assert run(sandbox, program, limits=SHORT).ended in {"timeout", "processes"}


def test_processes_are_counted(sandbox: Sandbox) -> None:
    program = (
        "import os, signal\n"
        "number = 0\n"
        "try:\n"
        "    while number < 200:\n"
        "        if os.fork() == 0: signal.pause()\n"
        "        number += 1\n"
        "except OSError: pass\n"
        "print(number)"
    )
    assert int(run(sandbox, program, limits=replace(LIMITS, processes=10)).stdout) < 10


@pytest.mark.parametrize(
    "program",
    [
        "while True: pass",
        "import time; time.sleep(1000)",
        "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
        "import signal\nfor one in {*signal.Signals} - {9, 19}: signal.signal(one, signal.SIG_IGN)\nwhile True: pass",
        "import os\nos.close(1); os.close(2)\nwhile True: pass",
    ],
    ids=["busy", "asleep", "stopped", "deaf", "silent"],
)
def test_an_endless_loop(sandbox: Sandbox, program: str) -> None:
    start = time.monotonic()
    result = run(sandbox, program, limits=SHORT)
    assert (result.ended, result.exit_code) == ("timeout", None)
    assert time.monotonic() - start < 15


@pytest.mark.parametrize("keep", ["os.close(1); os.close(2)", "pass"], ids=["silent", "holding the pipes"])
def test_a_daemon_ends_with_the_run(sandbox: Sandbox, keep: str) -> None:
    program = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    {keep}\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(1000)\n"
        "    os._exit(0)\n"
        "os.wait(); print('parent ends')"
    )
    result = run(sandbox, program)
    assert (result.ended, result.stdout) == ("exit", "parent ends\n")


def test_a_daemon_that_always_moves_on(sandbox: Sandbox) -> None:
    program = (
        "import os\n"
        "if os.fork() == 0:\n"
        "    while True:\n"
        "        os.setsid() if os.getpid() != os.getpgid(0) else None\n"
        "        if os.fork(): os._exit(0)\n"
        "print('parent ends')"
    )
    assert run(sandbox, program).stdout == "parent ends\n"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood(sandbox: Sandbox, stream: str) -> None:
    result = run(sandbox, f"import sys\nwhile True: sys.{stream}.write('x' * 65536)")
    assert (result.ended, result.exit_code) == ("output", None)
    text, size = getattr(result, stream), getattr(result, f"{stream}_bytes")
    assert len(text) == LIMITS.output < size < LIMITS.output + 10 * 2**20


@pytest.mark.parametrize(
    "program",
    [
        "number = 0\nwhile True:\n    open(f'f{number}', 'wb').write(bytes(1 << 20)); number += 1",
        "number = 0\nwhile True:\n    open(f'f{number}', 'wb').close(); number += 1",
        "import os, time\nwhile True:\n    os.mkdir('d' * 200); os.chdir('d' * 200); time.sleep(0.001)",
    ],
    ids=["bytes", "files", "levels"],
)
def test_filling_the_disk(sandbox: Sandbox, program: str) -> None:
    result = run(sandbox, program)
    assert (result.ended, result.exit_code) == ("killed", None)
    assert "too many or too large files" in result.stderr


def test_one_huge_file(sandbox: Sandbox) -> None:
    program = "import os\nopen('sparse', 'wb').truncate(1 << 30); print('made')"
    assert refused(run(sandbox, program))
    program = "file = open('result', 'wb')\nfor _ in range(1024): file.write(bytes(1 << 20))\nprint('made')"
    result = run(sandbox, program, collect=["result"])
    assert result.exit_code != 0 and result.stdout == "" and result.files == {}


def test_a_folder_that_is_hard_to_remove(every_sandbox: Sandbox) -> None:
    program = (
        "import os\n"
        "os.mkdir('closed'); open('closed/file', 'w').close(); os.chmod('closed', 0)\n"
        "os.mkdir('made closed', 0)\n"
        "os.mkfifo('pipe'); os.symlink('/', 'root'); os.symlink('nowhere', 'dangling')\n"
        "open(b'\\xff\\n\\x01', 'w').close()\n"
        "for _ in range(50): os.mkdir('d' * 60); os.chdir('d' * 60)\n"
        "os.chmod('.', 0); os.chmod('/proc/self/cwd/..', 0)"
    )
    result = run(every_sandbox, program)
    assert result.ended == "exit"


def got_through(sandbox: Sandbox, attempts: list[str]) -> list[str]:
    result = run(sandbox, ["python", "-c", TRY, *attempts])
    assert (result.ended, result.exit_code, result.stderr) == ("exit", 0, "")
    return result.stdout.splitlines()


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
        attempts = [
            f"socket.create_connection(('127.0.0.1', {stream.getsockname()[1]}), 2)",
            "socket.create_connection(('192.0.2.1', 80), 2)",
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
            "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
            "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
            "socket.getaddrinfo('example.org', 80)",
            f"socket.socket(socket.AF_UNIX).connect({path!r})",
            f"socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {path!r})",
            f"socket.socket(socket.AF_UNIX).connect({abstract!r})",
        ]
        assert got_through(sandbox, attempts) == []
        port = datagram.getsockname()[1]
        run(sandbox, f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))")
        for silent in (stream.accept, unix.accept, hidden.accept, lambda: datagram.recv(1)):
            for one in (stream, datagram, unix, hidden):
                one.setblocking(False)
            with pytest.raises(BlockingIOError):
                silent()


def test_the_key_of_the_caller(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    program = """
import os, sys
found = [repr(dict(os.environ))]
for name in {*sys.argv[1:], str(os.getppid()), "self", "1", *os.listdir("/proc")}:
    for file in ("environ", "cmdline", "mem", "auxv"):
        try:
            found.append(repr(open(f"/proc/{name}/{file}", "rb").read(1 << 16)))
        except OSError:
            pass
print("\\n".join(found))
"""
    with subprocess.Popen(["sleep", "60"], env={"OTHER_KEY": SECRET}) as other:
        result = run(sandbox, ["python", "-c", program, *map(str, (os.getpid(), os.getppid(), other.pid))])
        other.kill()
    assert "PYTHONHASHSEED" in result.stdout
    assert SECRET not in result.stdout and "_KEY" not in result.stdout


def test_reading_elsewhere(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    files = [secret, Path(__file__), Path("/etc/shadow"), Path(f"/proc/{os.getpid()}/environ")]
    attempts = [f"open({str(one)!r}).read(1)[0]" for one in files]
    attempts += [f"os.{link}({str(secret)!r}, {link!r}); open({link!r}).read()" for link in ("symlink", "link")]
    attempts += [f"os.open({str(tmp_path)!r}, os.O_RDONLY)"]
    assert got_through(sandbox, attempts) == []


def test_looking_elsewhere(sandbox: Sandbox, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Folders cannot be listed, or show no more than the way to what the sandbox is given."""
    folders = [Path.home(), Path("/"), Path("/root"), Path("/home"), Path("/etc"), Path("/tmp"), tmp_path.parent]
    program = """
import os, sys
for folder in sys.argv[1:]:
    try:
        print(*(os.path.join(folder, name) for name in os.listdir(folder)), sep="\\n")
    except OSError:
        pass
"""
    shown = run(sandbox, ["python", "-c", program, *map(str, folders)]).stdout.split()
    given = [*GIVEN.split(), sys.base_prefix, str(environments(tmp_path_factory))]
    assert [one for one in shown if not any(Path(place).is_relative_to(one) for place in given)] == []


def test_writing_elsewhere(every_sandbox: Sandbox, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    file.chmod(0o640)
    tmp_path.chmod(0o750)
    python = Path(os.path.realpath(sys.executable))
    before = python.stat()
    attempts = [
        "open(folder + '/new', 'w')",
        "open(file, 'w')",
        "open(file, 'a')",
        "os.truncate(file, 0)",
        "os.unlink(file)",
        "os.rename(file, folder + '/other')",
        "os.rename(file, 'taken')",
        "os.mkdir(folder + '/new')",
        "os.symlink('x', folder + '/new')",
        "os.link(file, 'linked')",
        "open('mine', 'w').close(); os.rename('mine', folder + '/new')",
        "os.symlink(folder, 'out'); open('out/new', 'w')",
        "open(os.path.dirname(os.__file__) + '/new.py', 'w')",
        "open(sys.prefix + '/new', 'w')",
        "open('/dev/shm/../new', 'w')",
        "os.mknod('device', 0o60600, os.makedev(8, 0))",
    ]
    silent = [  # where there is no namespace, these do nothing instead of being refused
        "os.chmod(file, 0o777)",
        "os.chmod(folder, 0o777)",
        "os.symlink(file, 'link'); os.chmod('link', 0o777)",
        "os.chmod(os.path.realpath(sys.executable), 0)",
        "os.fchmod(os.open(sys.executable, os.O_RDONLY), 0o700)",
        "os.setxattr(file, 'user.x', b'1')",
    ]
    start = f"folder, file = {str(tmp_path)!r}, {str(file)!r}; "
    assert set(got_through(every_sandbox, [start + one for one in (*attempts, *silent)])) <= {
        start + one for one in silent
    }
    assert [one.name for one in tmp_path.iterdir()] == ["file"] and file.read_text() == "kept"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640 and stat.S_IMODE(tmp_path.stat().st_mode) == 0o750
    assert os.listxattr(file) == [] and file.stat().st_nlink == 1
    assert python.stat().st_mode == before.st_mode


def test_settings_of_the_kernel_are_not_even_opened(sandbox: Sandbox) -> None:
    files = ["sys/kernel/core_pattern", "sys/kernel/hostname", "sys/vm/overcommit_memory", "sysrq-trigger", "kcore"]
    attempts = [f"os.open('/proc/{one}', os.O_WRONLY)" for one in files]
    assert (
        got_through(sandbox, [*attempts, "os.open('/dev/kmsg', os.O_WRONLY)", "os.open('/dev/mem', os.O_RDWR)"]) == []
    )


def test_signals_reach_nobody_else(sandbox: Sandbox) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as victim:
        attempts = [f"os.kill({victim.pid}, 9)", f"os.killpg({victim.pid}, 9)", f"os.kill({os.getpid()}, 15)"]
        assert got_through(sandbox, attempts) == []
        run(sandbox, "import os, signal\nfor one in (-1, 1, os.getppid()): os.kill(one, signal.SIGKILL)")
        assert victim.poll() is None
        victim.kill()


def test_powers_are_gone(every_sandbox: Sandbox) -> None:
    status = run(every_sandbox, "print(open('/proc/self/status').read())").stdout
    found = dict(line.split(":\t") for line in status.splitlines() if line.startswith(("Cap", "NoNew")))
    assert {found[name].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {""}
    assert found["NoNewPrivs"] == "1"
    calls = [
        "mount(0, b'/', 0, 32 | 4096, 0)",
        "unshare(0x10000000)",
        f"ptrace(16, {os.getpid()}, 0, 0)",
        "chroot(b'.')",
    ]
    calls += [
        f"syscall({number}, 0, 0, 0, 0)" for number in (304, 321, 323, 425)
    ]  # open_by_handle, bpf, faults, io_uring
    program = "import ctypes; c = ctypes.CDLL(None); print({" + ", ".join(f"c.{call}" for call in calls) + "})"
    assert run(every_sandbox, program).stdout == "{-1}\n"


def test_a_result_that_is_no_file_is_not_followed(sandbox: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    program = """
import os, socket, sys
secret = sys.argv[1]
os.symlink(secret, "link")
os.symlink(os.path.dirname(secret), "linked")
os.mkdir("sub"); os.symlink(secret, "sub/secret")
os.symlink("/dev/zero", "device")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
open("file", "w").write("regular")
"""
    names = [
        "link",
        "linked/secret",
        "sub/secret",
        "device",
        "pipe",
        "socket",
        "sub",
        "file",
        "../secret",
        str(secret),
        "x/../file",
    ]
    result = run(sandbox, ["python", "-c", program, str(secret)], collect=names)
    assert result.stderr == "" and result.files == {"file": b"regular"}
