"""What generated code might do to the machine: programs that a sandbox must survive."""

from __future__ import annotations

import os
from pathlib import Path

MEMORY_BOMBS = {
    "heap": "held = [bytearray(1 << 20) for _ in range(2000)]",
    "mapping": "import mmap; held = mmap.mmap(-1, 1 << 30); held[:] = bytes(1 << 30)",
    # memory that was reserved without the right to use it, and got the right later
    "reserved": (
        "import ctypes; c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p; size = ctypes.c_size_t(1 << 30)\n"
        "at = ctypes.c_void_p(c.mmap(None, size, 0, 0x4022, -1, 0)); c.mprotect(at, size, 3); c.memset(at, 1, size)"
    ),
    "shared": (
        "import ctypes; c = ctypes.CDLL(None); c.mmap.restype = ctypes.c_void_p; size = ctypes.c_size_t(1 << 30)\n"
        "at = ctypes.c_void_p(c.mmap(None, size, 0, 0x21, -1, 0)); c.mprotect(at, size, 3); c.memset(at, 1, size)"
    ),
}
MANY_TOGETHER = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(100 << 20); time.sleep(0.5); os._exit(0)
print(sum(os.wait()[1] == 0 for _ in range(8)))
"""
FILES_IN_MEMORY = "import os; os.memfd_create('x'); print('made')"

FORK_BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""
COUNT_PROCESSES = """
import os, signal
number = 0
try:
    while number < 200:
        if os.fork() == 0: signal.pause()
        number += 1
except OSError: pass
print(number)
"""

ENDLESS_LOOPS = {
    "busy": "while True: pass",
    "asleep": "import time; time.sleep(1000)",
    "stopped": "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    "deaf": (
        "import signal\nfor one in {*signal.Signals} - {9, 19}: signal.signal(one, signal.SIG_IGN)\nwhile True: pass"
    ),
    "silent": "import os\nos.close(1); os.close(2)\nwhile True: pass",
}
DAEMONS = {
    name: f"""
import os, time
if os.fork() == 0:
    os.setsid()
    {keep}
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)
os.wait(); print('parent ends')
"""
    for name, keep in {"silent": "os.close(1); os.close(2)", "holding the pipes": "pass"}.items()
}
MOVING_DAEMON = """
import os
if os.fork() == 0:
    while True:
        os.setsid() if os.getpid() != os.getpgid(0) else None
        if os.fork(): os._exit(0)
print('parent ends')
"""
FLOOD = "import sys\nwhile True: sys.{stream}.write('x' * 65536)"

FILLING_THE_DISK = {
    "bytes": "number = 0\nwhile True:\n    open(f'f{number}', 'wb').write(bytes(1 << 20)); number += 1",
    "files": "number = 0\nwhile True:\n    open(f'f{number}', 'wb').close(); number += 1",
    "levels": "import os\nwhile True:\n    os.mkdir('d' * 200); os.chdir('d' * 200)",
}
SPARSE_FILE = "import os\nopen('sparse', 'wb').truncate(1 << 30); print('made')"
HUGE_RESULT = "file = open('result', 'wb')\nfor _ in range(1024): file.write(bytes(1 << 20))\nprint('made')"
HARD_TO_REMOVE = r"""
import os
os.mkdir('closed'); open('closed/file', 'w').close(); os.chmod('closed', 0)
os.mkdir('made closed', 0)
os.mkfifo('pipe'); os.symlink('/', 'root'); os.symlink('nowhere', 'dangling')
open(b'\xff\n\x01', 'w').close()
for _ in range(50): os.mkdir('d' * 60); os.chdir('d' * 60)
os.chmod('.', 0)
try: os.chmod('/proc/self/cwd/..', 0)
except PermissionError: pass
"""

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
# Prints whatever of other processes can be read.
SPY = """
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
LIST = """
import os, sys
for folder in sys.argv[1:]:
    try:
        print(*(os.path.join(folder, name) for name in os.listdir(folder)), sep="\\n")
    except OSError:
        pass
"""
WRITES = [
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
SILENT_WRITES = [  # where there is no namespace, these do nothing instead of being refused
    "os.chmod(file, 0o777)",
    "os.chmod(folder, 0o777)",
    "os.symlink(file, 'link'); os.chmod('link', 0o777)",
    "os.chmod(os.path.realpath(sys.executable), 0)",
    "os.fchmod(os.open(sys.executable, os.O_RDONLY), 0o700)",
    "os.setxattr(file, 'user.x', b'1')",
]
# Opened only, never written.
KERNEL_SETTINGS = [
    *(
        f"os.open('/proc/{one}', os.O_WRONLY)"
        for one in (
            *("sys/kernel/core_pattern", "sys/kernel/hostname", "sys/vm/overcommit_memory"),
            *("sysrq-trigger", "kcore"),
        )
    ),
    "os.open('/dev/kmsg', os.O_WRONLY)",
    "os.open('/dev/mem', os.O_RDWR)",
]
# Writes to whatever another process of the sandbox has open: the one that watches says how the command ended.
FORGE_AN_ANSWER = """
import os
own = {os.getpid()}
for process in {int(one) for one in os.listdir("/proc") if one.isdecimal()} - own | {os.getppid(), 1}:
    for place in [f"/proc/{process}/fd/{number}" for number in range(20)] + [f"/proc/{process}/mem"]:
        try:
            os.write(os.open(place, os.O_WRONLY), b'{"ended": "exit", "exit_code": 0}\\n')
            print("wrote to", place)
        except OSError: pass
raise SystemExit(7)
"""
KILL_EVERYTHING = "import os, signal\nfor one in (-1, 1, os.getppid()): os.kill(one, signal.SIGKILL)"
RESULTS_THAT_ARE_NO_FILES = """
import os, socket, sys
secret = sys.argv[1]
os.symlink(secret, "link")
os.symlink(os.path.dirname(secret), "linked")
os.mkdir("sub"); os.symlink(secret, "sub/secret")
os.symlink("/dev/zero", "device")
os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
open("file", "w").write("regular")
open("a\\nb", "w").write("a name of two lines")
open("sparse", "w").truncate(32 << 20)
"""
# Leaves something in every place that the next command might look at.
LEAVE_TRACES = """
import ctypes, os, socket
for place in (".", "/tmp", "/dev/shm", "/dev/mqueue", "/sandbox", os.environ["HOME"], os.environ["TMPDIR"]):
    try:
        open(f"{place}/trace", "w").write("x")
        os.mkdir(f"{place}/.trace"); os.chmod(f"{place}/.trace", 0)
    except OSError: pass
c = ctypes.CDLL(None)
for call in (lambda: c.shmget(4711, 4096, 0o1666), lambda: c.msgget(4711, 0o1666), lambda: c.semget(4711, 1, 0o1666)):
    call()
c.syscall(248, b"user", b"trace", b"x", 1, -4)
if os.fork() == 0:
    os.setsid()
    socket.socket(socket.AF_UNIX).bind("\\0trace")
    while True: pass
"""
FIND_TRACES = """
import ctypes, os, socket
for place in (".", "/tmp", "/dev/shm", "/dev/mqueue", "/sandbox", os.environ["HOME"], os.environ["TMPDIR"]):
    try: print(*[one for one in os.listdir(place) if "trace" in one])
    except OSError: pass
c = ctypes.CDLL(None)
print(c.shmget(4711, 0, 0), c.msgget(4711, 0), c.semget(4711, 0, 0), c.syscall(250, 10, -4, b"user", b"trace", 0))
s = socket.socket(socket.AF_UNIX)
try: s.connect("\\0trace"); print("a daemon answers")
except OSError: pass
"""


def network(port: int, path: str, abstract: str) -> list[str]:
    """Ways to talk to something outside: to a TCP port and two kinds of socket of this machine, and further away."""
    return [
        f"socket.create_connection(('127.0.0.1', {port}), 2)",
        "socket.create_connection(('192.0.2.1', 80), 2)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)",
        "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
        "socket.getaddrinfo('example.org', 80)",
        f"socket.socket(socket.AF_UNIX).connect({path!r})",
        f"socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', {path!r})",
        f"socket.socket(socket.AF_UNIX).connect({abstract!r})",
    ]


def reads(secret: Path) -> list[str]:
    """Ways to read what is outside."""
    files = [secret, Path(__file__), Path("/etc/shadow"), Path(f"/proc/{os.getpid()}/environ")]
    links = [f"os.{link}({str(secret)!r}, {link!r}); open({link!r}).read()" for link in ("symlink", "link")]
    folder = f"os.open({str(secret.parent)!r}, os.O_RDONLY)"
    return [*(f"open({str(one)!r}).read(1)[0]" for one in files), *links, folder]


def calls() -> str:
    """A program that makes system calls which take power, and prints what they all answered."""
    wanted = [
        "mount(0, b'/', 0, 32 | 4096, 0)",
        "unshare(0x10000000)",
        f"ptrace(16, {os.getpid()}, 0, 0)",
        "chroot(b'.')",
        *(f"syscall({number}, 0, 0, 0, 0)" for number in (304, 321, 323, 425)),  # handles, bpf, faults, io_uring
    ]
    return "import ctypes; c = ctypes.CDLL(None); print({" + ", ".join(f"c.{call}" for call in wanted) + "})"
