"""Source archives: tar (gzip, bzip2, xz) and zip, read in place. Nothing is written, nothing in them is run.

Links, devices and names that lead elsewhere are not regular files of the project and are passed over. What an archive
unpacks to is counted as it unpacks, whatever its headers say.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, cast

from engine.errors import InputError
from nodes.references.files import MOST_LISTED, MOST_UNPACKED, Files, collect, common_root

_TOO_MUCH = f"unpacks to more than {MOST_UNPACKED // 2**20} MB; refused"
_LONGEST_READ = 2**20
_BROKEN: tuple[type[Exception], ...] = (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, struct.error)
_BROKEN += (OSError, EOFError, ValueError, KeyError, RuntimeError, OverflowError)


def read_archive(file: IO[bytes]) -> Files:
    """The files of an archive, without the folder that holds them all. Raises InputError if it cannot be used."""
    with _readable():
        file.seek(0)
        head = file.read(6)
        file.seek(0)
        if head.startswith(b"PK"):
            return _read_zip(file)
        return _read_tar(file, head)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(f"broken archive: {str(error) or type(error).__name__}") from error


def _read_zip(file: IO[bytes]) -> Files:
    with zipfile.ZipFile(file) as archive:
        members = {one.filename: one for one in archive.infolist()[: MOST_LISTED + 1] if _is_plain(one)}
        root = common_root(members)
        listed = {name.removeprefix(root): one.file_size for name, one in members.items()}
        left = MOST_UNPACKED

        def read(paths: list[str]) -> Mapping[str, bytes]:
            nonlocal left
            contents = {}
            for path in paths:
                with archive.open(members[root + path]) as member:
                    contents[path] = member.read(_LONGEST_READ)
                left -= len(contents[path])
                if left < 0:
                    raise InputError(_TOO_MUCH)
            return contents

        return collect(listed, read)


def _is_plain(member: zipfile.ZipInfo) -> bool:
    kind = member.external_attr >> 28  # the upper four bits of a Unix mode: 8 is a regular file, 0 says nothing
    return not member.is_dir() and kind in (0, 8) and not member.flag_bits & 1


def _read_tar(file: IO[bytes], head: bytes) -> Files:
    listed: dict[str, int] = {}
    with _tar(file, head) as archive:
        for member in archive:
            if member.isreg():
                listed[member.name.removeprefix("./")] = member.size
            if len(listed) > MOST_LISTED:
                break
            archive.members = []  # type: ignore[attr-defined] # it would keep them all
    root = common_root(listed)

    def read(paths: list[str]) -> Mapping[str, bytes]:
        wanted, contents = {root + path for path in paths}, {}
        file.seek(0)
        with _tar(file, head) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                content = archive.extractfile(member) if member.isreg() and name in wanted else None
                if content is not None:
                    contents[name.removeprefix(root)] = content.read(_LONGEST_READ)
                if len(contents) == len(wanted):
                    break
                archive.members = []  # type: ignore[attr-defined]
        return contents

    return collect({name.removeprefix(root): size for name, size in listed.items()}, read)


@contextmanager
def _tar(file: IO[bytes], head: bytes) -> Iterator[tarfile.TarFile]:
    with tarfile.open(fileobj=cast(Any, _Counted(_unpacked(file, head))), mode="r|") as archive:
        yield archive


def _unpacked(file: IO[bytes], head: bytes) -> IO[bytes]:
    if head.startswith(b"\x1f\x8b"):
        return cast(IO[bytes], gzip.GzipFile(fileobj=file, mode="rb"))
    if head.startswith(b"BZh"):
        return bz2.BZ2File(file, "rb")
    return lzma.LZMAFile(file, "rb") if head.startswith(b"\xfd7zXZ") else file


class _Counted:
    """Reads on until too much was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._left = file, MOST_UNPACKED

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, _LONGEST_READ))
        self._left -= len(data)
        if self._left < 0:
            raise InputError(_TOO_MUCH)
        return data
