from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import InputError
from engine.inputs import read_file_input


def test_a_text_file_is_read_with_its_digest(tmp_path: Path) -> None:
    file = tmp_path / "README.md"
    file.write_bytes("\ufeff# Ünïcode\r\n".encode())
    read = read_file_input("requirements", file)
    assert read["text"] == "# Ünïcode\r\n"
    assert read["path"] == str(file)
    assert len(read["digest"]) == 64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "not UTF-8 text (byte 0)"),
        (b"plain\x00text", "a binary file"),
        (b"x" * (10 * 2**20), "10 MB is more than the 8 MB"),
    ],
)
def test_what_is_no_document_is_refused_with_its_path(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "bad.md"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_file_input("requirements", file)
    assert message in str(caught.value)
    assert str(file) in str(caught.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_file_input("requirements", tmp_path / "none.md")
    with pytest.raises(InputError, match="not a file"):
        read_file_input("requirements", tmp_path)
