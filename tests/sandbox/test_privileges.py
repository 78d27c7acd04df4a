"""In a process of its own, since nothing of it can be undone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

START = """
import os, sys, tempfile
from pathlib import Path
from engine.sandbox import privileges
outside = Path(sys.argv[1])
inside = outside / "inside"
(inside / "shm").mkdir(parents=True)
file, own = outside / "file", inside / "file"
file.touch(0o600); own.touch(0o600)
def powers():
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    return {line[1].strip("0") for line in lines if line[0] in ("CapPrm:", "CapEff:", "CapInh:", "CapAmb:")}
"""


def python(program: str, folder: Path) -> str:
    command = [sys.executable, "-c", START + program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_in_a_namespace_all_but_the_folder_is_read_only(tmp_path: Path) -> None:
    program = """
if not privileges.give_up(inside, shm=inside / "shm"):
    print("no namespace"); sys.exit()
own.chmod(0o640); own.write_text("x")
Path("/dev/shm/x").write_text("y")
for act in (lambda: file.chmod(0o777), lambda: file.write_text("x"), lambda: (outside / "new").touch(),
            lambda: os.utime("/"), lambda: os.open("/proc/self/oom_score_adj", os.O_WRONLY)):
    try:
        act()
    except OSError as error:
        print(error.strerror)
print(oct(own.stat().st_mode), own.read_text(), os.listdir(inside / "shm"), powers())
"""
    said = python(program, tmp_path)
    if said == "no namespace\n":
        pytest.skip("this system grants no user namespace")
    assert said == "Read-only file system\n" * 5 + "0o100640 x ['x'] {''}\n"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
    assert not Path("/dev/shm/x").exists()


def test_without_a_namespace_changing_attributes_does_nothing(tmp_path: Path) -> None:
    program = """
privileges._possible = lambda *_: False
assert privileges.give_up(inside, shm=inside / "shm") is False
for one in (file, own):
    one.chmod(0o777)
    os.chmod(one.name, 0o777, dir_fd=os.open(one.parent, os.O_PATH))
    os.fchmod(os.open(one, os.O_RDONLY), 0o777)
    os.setxattr(one, "user.x", b"1")
    print(oct(one.stat().st_mode), os.listxattr(one))
own.write_text("written")
print(own.read_text(), powers())
"""
    assert python(program, tmp_path) == "0o100600 []\n" * 2 + "written {''}\n"
