"""In a process of its own, since what is tested kills every child."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

START = """
import os, signal, sys, time
from engine.sandbox import privileges, processes
privileges.adopt_orphans()
reader, writer = os.pipe()
"""


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_orphan_is_killed() -> None:
    program = """
if os.fork() == 0:
    os.setsid()
    for _ in range(3):
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(writer, b"%d " % os.getpid())
            if os.fork():
                time.sleep(1000)
            os.setsid()
            os.write(writer, b"%d " % os.getpid())
            time.sleep(1000)
    os._exit(0)
os.wait()
known = b""
while known.count(b" ") < 6:
    known += os.read(reader, 100)
assert sorted(processes.descendants()) == sorted(map(int, known.split()))
processes.kill_children()
assert processes.descendants() == []
for one in map(int, known.split()):
    try:
        os.kill(one, 0)
    except ProcessLookupError:
        print("gone")
"""
    assert python(program) == "gone\n" * 6


def test_memory_that_is_shared_counts_once() -> None:
    program = """
held = bytearray(b"x" * (64 << 20))
for _ in range(3):
    if os.fork() == 0:
        os.write(writer, b".")
        time.sleep(1000)
for _ in range(3):
    os.read(reader, 1)
found = processes.descendants()
quick, exact = (processes.memory(found, enough=enough) for enough in (1 << 40, 0))
processes.kill_children()
print(len(found), quick > 3 * (64 << 20), 40 << 20 < exact < 90 << 20)
"""
    assert python(program) == "3 True True\n"
