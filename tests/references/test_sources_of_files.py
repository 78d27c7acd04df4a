"""Folders and archives: the same project is the same, and what is broken or hostile does no harm."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from nodes.references import archive, files
from nodes.references.archive import read_archive
from nodes.references.design import design_chunks
from nodes.references.files import Files, chosen, collect, is_content
from nodes.references.folder import read_folder
from nodes.references.installed import read_installed
from nodes.references.manifest import read_manifest
from tests.support.repositories import TIDEWATCH, lay


def described(found: Files) -> list[str]:
    return [one.text for one in design_chunks("tidewatch", "", found, read_manifest(found))]


def tarball(contents: Mapping[str, str], root: str = "tidewatch-1.2/", mode: str = "w:gz") -> io.BytesIO:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as made:  # type: ignore[call-overload]
        for path, text in contents.items():
            member = tarfile.TarInfo(root + path)
            member.size = len(text.encode())
            made.addfile(member, io.BytesIO(text.encode()))
    return file


def zipped(contents: Mapping[str, str]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for path, text in contents.items():
            made.writestr(f"tidewatch/{path}", text)
    return file


def test_a_project_is_described_alike_wherever_and_however_it_is_kept(tmp_path: Path) -> None:
    expected = described(read_folder(lay(tmp_path / "one" / "tidewatch", TIDEWATCH)))
    assert len(expected) == 5
    backwards = dict(reversed(TIDEWATCH.items()))
    assert described(read_folder(lay(tmp_path / "elsewhere", backwards))) == expected
    for mode in ("w:gz", "w:bz2", "w:xz", "w"):
        assert described(read_archive(tarball(backwards, mode=mode))) == expected
    assert described(read_archive(tarball(TIDEWATCH, root="./tidewatch-1.2/"))) == expected
    assert described(read_archive(zipped(backwards))) == expected


def test_what_tools_leave_behind_changes_nothing(tmp_path: Path) -> None:
    root = lay(tmp_path / "tidewatch", TIDEWATCH)
    before = read_folder(root)
    litter = ("__pycache__/a.pyc", ".git/HEAD", ".venv/lib/x.py", "env/pyvenv.cfg", "env/lib/y.py", "build/z.py")
    lay(root, {**dict.fromkeys(litter, "x"), "tidewatch/__pycache__/b.cpython-311.pyc": "x", "a.pyc": "x"})
    assert read_folder(root) == before
    assert read_folder(root).digest == before.digest
    lay(root, {"tidewatch/cli.py": "def main() -> None: ...\n"})
    assert read_folder(root).digest != before.digest


def test_a_package_that_is_called_build_is_content(tmp_path: Path) -> None:
    root = lay(tmp_path, {"src/build/__init__.py": '"""Builds things well."""\n', "build/lib/copy.py": "x"})
    assert read_folder(root).paths == ("src/build/__init__.py",)


def test_links_devices_and_pipes_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    secret = lay(tmp_path / "outside", {"secret.py": '"""The secret."""\n', "README.md": "secret"})
    root = lay(tmp_path / "tidewatch", {"tidewatch/a.py": '"""Open to all."""\n'})
    (root / "README.md").symlink_to(secret / "README.md")
    (root / "tidewatch" / "b.py").symlink_to(secret / "secret.py")
    (root / "linked").symlink_to(secret)
    (root / "loop").symlink_to(root)
    os.mkfifo(root / "setup.py")
    os.mkfifo(root / "tidewatch" / "pipe.py")
    found = read_folder(root)
    assert found.paths == ("tidewatch/a.py",)
    assert files.read_regular(root / "README.md") is None
    assert files.read_regular(root / "setup.py") is None


def test_links_devices_and_wild_names_of_an_archive_are_passed_over() -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as made:
        for name, kind, target in (
            ("x/README.md", tarfile.SYMTYPE, "/etc/passwd"),
            ("x/setup.py", tarfile.LNKTYPE, "../../secret"),
            ("x/pyproject.toml", tarfile.CHRTYPE, ""),
            ("x/pipe.py", tarfile.FIFOTYPE, ""),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            made.addfile(member)
        for name in ("x/good.py", "x/../../evil.py", "/etc/evil.py", "x/.git/config", "x/a\x1b[31m.py"):
            member = tarfile.TarInfo(name)
            member.size = 3
            made.addfile(member, io.BytesIO(b"a=1"))
    assert [path.rpartition("/")[2] for path in read_archive(file).paths] == ["good.py"]


def test_nothing_is_written_and_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = f"open({str(tmp_path / 'ran')!r}, 'w')\nfrom setuptools import setup\nsetup(name='evil', version='1')\n"
    found = read_archive(tarball({"setup.py": hostile, "evil/__init__.py": hostile, "conftest.py": hostile}))
    assert read_manifest(found).name == "evil"
    described(found)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("cut", [1, 20, 100, 300])
def test_a_broken_archive_is_an_error_that_says_so(cut: int) -> None:
    for whole in (tarball(TIDEWATCH), tarball(TIDEWATCH, mode="w:xz"), zipped(TIDEWATCH)):
        with pytest.raises(InputError, match=r"broken archive|holds no file"):
            read_archive(io.BytesIO(whole.getvalue()[:cut]))


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"\x1f\x8b\x08\x00", b"BZh9", b"\xfd7zXZ\x00"]))
def test_any_bytes_are_an_archive_or_an_error(data: bytes, head: bytes) -> None:
    with pytest.raises(InputError):
        read_archive(io.BytesIO(head + data))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_a_damaged_archive_is_read_or_an_error(data: st.DataObject) -> None:
    whole = bytearray(data.draw(st.sampled_from([_TAR, _ZIP])))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(InputError):
        read_archive(io.BytesIO(bytes(whole)))


_TAR, _ZIP = tarball(TIDEWATCH).getvalue(), zipped(TIDEWATCH).getvalue()


def test_a_bomb_is_refused_before_it_unpacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 2**20)
    zeros = "\0" * 2**20
    bomb = {f"zero{number}.dat": zeros for number in range(4)}
    for made in (tarball(bomb), tarball(bomb, mode="w:xz")):
        assert len(made.getvalue()) < 50_000
        with pytest.raises(InputError, match="unpacks to more than"):
            read_archive(made)


def test_a_large_member_is_not_unpacked_whole() -> None:
    found = read_archive(zipped({"README.md": "word " * 2_000_000, "huge.py": "x = 1\n" * 1_000_000}))
    assert max(map(len, found.contents.values())) <= 2**20
    assert "huge.py" not in found.contents


def test_a_repository_of_a_hundred_thousand_files_is_bounded() -> None:
    listed = {f"p{number % 1000}/m{number}.py": 100 for number in range(110_000)} | {"README.md": 10, "setup.py": 10}
    asked: list[str] = []

    def read(paths: list[str]) -> dict[str, bytes]:
        asked.extend(paths)
        return dict.fromkeys(paths, b'"""One of many modules."""')

    found = collect(listed, read)
    assert len(found.paths) == files.MOST_LISTED
    assert found.cut
    assert len(asked) == 3_000
    assert asked[:2] == ["README.md", "setup.py"]
    assert asked == chosen(reversed(found.paths), listed)
    assert len(described(found)) < 60


def test_what_is_no_text_is_passed_over(tmp_path: Path) -> None:
    root = lay(
        tmp_path,
        {
            "README.md": b"\xff\xfe binary \x00",
            "pyproject.toml": b"name = \xe9",
            "latin.py": '# -*- coding: latin-1 -*-\n"""Caf\xe9."""\n'.encode("latin-1"),
            "zero.py": b"a = 1\0",
            "wrong.py": "def (:\n",
            "deep.py": "(" * 5_000,
            "chain.py": "x = " + "-" * 50_000 + "1",
            "good.py": '"""The only good one here."""\n',
        },
    )
    text = "\n".join(described(read_folder(root)))
    assert "good.py: The only good one here." in text
    assert "roles" not in text.lower().replace("roles of files", "")
    assert "latin.py:" not in text


def test_a_folder_that_is_none_or_empty_is_an_error(tmp_path: Path) -> None:
    for place, message in ((tmp_path / "none", "no such folder"), (tmp_path, "holds no file")):
        with pytest.raises(InputError, match=message):
            read_folder(place)


def test_an_installed_distribution_is_read_without_what_installed_it() -> None:
    found = read_installed("click")
    assert "click/core.py" in found.paths
    names = {path.rpartition("/")[2] for path in found.paths}
    assert names.isdisjoint({"RECORD", "INSTALLER", "REQUESTED", "WHEEL", "direct_url.json"})
    assert not any(path.endswith(".pyc") or path.startswith("..") for path in found.paths)
    manifest = read_manifest(found)
    assert (manifest.name, manifest.licence) == ("click", "BSD-3-Clause")
    for name in ("no-such-distribution", "", "../click"):
        with pytest.raises(InputError, match="is installed"):
            read_installed(name)


def test_the_origin_of_a_checkout_is_its_remote_without_a_password(tmp_path: Path) -> None:
    root = lay(tmp_path, {"a.py": '"""A."""'})
    config = '[remote "origin"]\n\turl = https://me:hunter2@example.org/Owner/Repo.git\n'
    lay(root, {".git/config": config})
    assert read_folder(root).origin == "https://example.org/Owner/Repo.git"
    lay(root, {".git/config": config + '[remote "upstream"]\n\turl = https://example.org/first/Repo.git\n'})
    assert "fork" in read_folder(root).notes
    lay(root, {".git/config": b"\xff\xfe[["})
    assert read_folder(root).origin == ""


@pytest.mark.parametrize("path", ["a/__pycache__/x.py", "a.so", ".venv/x.py", "x.egg-info/SOURCES.txt", "a\nb.py"])
def test_what_is_no_content(path: str) -> None:
    assert not is_content(path)


def test_a_temporary_file_stands_for_an_archive_on_disk() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(_TAR)
        assert "tidewatch/cli.py" in read_archive(file).contents
