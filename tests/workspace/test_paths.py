from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import paths

REFUSED = [
    "", "/", "/etc/passwd", "//host/share", "..", "a/../b", "a/..", "./a", "a/.", ".", "a//b", "a/", "~/../x",
    "C:/x", "c:x", "a:stream", "a\\b", "\\\\host\\x", "..\\x", "a\0b", "a\nb", "a\x1bb", "a\x7fb", "a\u202eb",
    "a\u200bb",
    "\udcff", ".git", ".git/config", "a/.GIT/hooks/x", ".Git", ".g\u200cit/config", "git~1/config", "GIT~2", ".git ",
    ".git.", ".gitmodules", "a.", "a ", "a./b", "a /b", " a", "con", "CON", "aux.py", "src/NUL", "nul.tar.gz", "com1",
    "LPT9.txt", "com¹", "CONIN$", "con .txt", "a?b", "a*", 'a"b', "a<b", "a>b", "a|b", "x" * 256, "é" * 128,
    "/".join("a" * 40), "/".join(["a" * 250] * 5),
]  # fmt: skip
ACCEPTED = [
    "a", "README.md", "src/pkg/__init__.py", ".gitignore", ".gitattributes", ".github/workflows/ci.yml", "a b/c d.txt",
    "é/ü.py", "日本/語.py", "app/[slug]/page.tsx", "-x", "console.py", "null", "com10", "git", "x" * 255, "a..b",
    "...a",
    "/".join("a" * 32),
]  # fmt: skip


@pytest.mark.parametrize("path", REFUSED, ids=ascii)
def test_refused(path: str) -> None:
    assert paths.fault(path)


@pytest.mark.parametrize("path", ACCEPTED, ids=ascii)
def test_accepted(path: str) -> None:
    assert paths.fault(path) is None


@given(st.text(st.sampled_from("ab./\\:~ \0\ngitcGITCno$1\u200c"), max_size=14))
def test_what_is_accepted_stays_in_the_folder_on_every_system(path: str) -> None:
    if paths.fault(path) is not None:
        return
    for kind in (PurePosixPath, PureWindowsPath):
        pure = kind(path)
        assert not pure.is_absolute() and not pure.drive and not pure.root
        assert "/".join(pure.parts) == path
        assert not {part.casefold() for part in pure.parts} & {"..", ".git", "git~1"}
    assert not PureWindowsPath(path).is_reserved()


@pytest.mark.parametrize(
    ("given_paths", "inside"),
    [([], None), (["a", "b"], None), (["a", "a/b"], "a"), (["a/b/c", "a/b"], "a/b"), (["a", "ab/c"], None)],
)
def test_clash(given_paths: list[str], inside: str | None) -> None:
    assert paths.clash(given_paths) == inside
