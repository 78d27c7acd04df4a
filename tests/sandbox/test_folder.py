from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import paths
from engine.errors import SandboxError
from engine.sandbox import folder

ROOM = 1 << 20


@pytest.fixture(autouse=True, scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where folders are made: not where those of other processes are."""
    with pytest.MonkeyPatch.context() as patch:
        folders = tmp_path_factory.mktemp("runs")
        patch.setattr(tempfile, "tempdir", str(folders))
        yield folders


@pytest.fixture
def base() -> Iterator[Path]:
    made = folder.make({"a.txt": b"one", "src/b.bin": b"\x00\xff"}, disk=ROOM)
    yield made
    folder.remove(made)
    assert not made.exists()


def test_files_go_in_and_come_out(base: Path) -> None:
    assert {one.name for one in base.iterdir()} == {*folder.PARTS}
    found = folder.collect(base, ["a.txt", "src/b.bin", "none", "src", "src/none"], most=ROOM)
    assert found == {"a.txt": b"one", "src/b.bin": b"\x00\xff"}


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a\\b", "a\0b", ".git/config", "con"])
def test_a_path_that_leads_elsewhere_is_refused(path: str, runs: Path) -> None:
    before = set(runs.iterdir())
    with pytest.raises(SandboxError, match="cannot be put into the sandbox"):
        folder.make({"ok": b"", path: b""}, disk=ROOM)
    assert set(runs.iterdir()) == before


def test_files_that_clash_or_do_not_fit_are_refused() -> None:
    with pytest.raises(SandboxError, match="'a' cannot be both"):
        folder.make({"a": b"", "a/b": b""}, disk=ROOM)
    with pytest.raises(SandboxError, match="6 bytes of files do not fit"):
        folder.make({"a": b"123", "b": b"456"}, disk=5)


def test_what_is_collected_is_bounded(base: Path) -> None:
    assert folder.collect(base, ["a.txt"], most=3) == {"a.txt": b"one"}
    assert folder.collect(base, ["a.txt"], most=2) == {}


@pytest.fixture(scope="module")
def trapped() -> Iterator[Path]:
    made = folder.make({"src/b.bin": b"in"}, disk=ROOM)
    (made / "b.bin").write_bytes(b"out")
    (made / "work" / "out").symlink_to(made)
    (made / "work" / "src" / "link").symlink_to(made / "b.bin")
    yield made
    folder.remove(made)


@given(name=st.text(max_size=12) | st.lists(st.sampled_from(["..", ".", "src", "b.bin", "out", "", "/"])).map("/".join))
@settings(deadline=None)
def test_nothing_outside_is_ever_collected(trapped: Path, name: str) -> None:
    assert set(folder.collect(trapped, [name, "out/b.bin", "src/link"], most=ROOM).values()) <= {b"in"}


def test_a_pipe_that_nobody_writes_to_does_not_block(base: Path) -> None:
    os.mkfifo(base / "work" / "pipe")
    assert folder.collect(base, ["pipe"], most=ROOM) == {}


def test_what_is_used_is_measured(base: Path) -> None:
    before = folder.used(base, most_entries=100)
    (base / "tmp" / "x").write_bytes(b"x" * 100_000)
    assert 100_000 <= folder.used(base, most_entries=100) - before < 120_000
    assert folder.used(base, most_entries=3) == folder.UNREASONABLE
    (base / "work" / "link").symlink_to("/usr")
    assert folder.used(base, most_entries=100) < ROOM


def dig(base: Path, levels: int, program: str = "") -> None:
    """Make folders in folders below `base`, running `program` in each on the way."""
    text = f"import os\nos.chdir({str(base)!r})\nfor _ in range({levels}):\n    {program or 'pass'}\n"
    subprocess.run([sys.executable, "-c", f"{text}    os.mkdir('d' * 40); os.chdir('d' * 40)"], check=True)


def test_a_deep_folder_is_unreasonable(base: Path) -> None:
    dig(base / "work", 2 * paths.MAX_LEVELS)
    assert folder.used(base, most_entries=1000) == folder.UNREASONABLE


def test_whatever_is_in_it_a_folder_is_removed_and_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "kept").write_text("kept")
    made = folder.make({}, disk=ROOM)
    os.mkfifo(made / "work" / "pipe")
    Path(os.fsdecode(os.fsencode(made) + b"/\xff\n")).touch()
    # Longer than a path may be, each level closed, with a link out of it.
    dig(made / "work", 300, f"os.symlink({str(outside)!r}, 'link'); open('file', 'w').close(); os.chmod('..', 0o100)")
    (made / "work").chmod(0)
    folder.remove(made)
    assert not made.exists()
    assert [one.name for one in outside.iterdir()] == ["kept"] and outside.stat().st_mode & 0o777 == 0o750
    folder.remove(made)


def test_empty_folders_of_killed_runs_are_swept() -> None:
    old, new, full = (Path(tempfile.mkdtemp(prefix=folder.PREFIX)) for _ in range(3))
    (full / "x").touch()
    for one in (old, full):
        os.utime(one, (time.time() - 3600, time.time() - 3600))
    folder.sweep()
    assert (old.exists(), new.exists(), full.exists()) == (False, True, True)
    folder.remove(new)
    folder.remove(full)
