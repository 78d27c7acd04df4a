"""Which relative paths may be written: the same answer for the Git workspace and the sandbox, on every system.

A path comes from a model. What is refused here is what would leave the folder, reach into `.git`, or be another file
(or none) on Windows or macOS than on Linux.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

MAX_BYTES, MAX_NAME_BYTES, MAX_LEVELS = 1024, 255, 32

# Control characters, invisible ones (HFS+ reads ".g<U+200C>it" as ".git"), lone surrogates, line ends.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_WINDOWS_CHARACTERS = frozenset('<>"|?*')
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])\s*(\..*)?", re.IGNORECASE)
_GIT_NAME = re.compile(r"\.git(modules)?|git(mod)?~[0-9]+", re.IGNORECASE)


def fault(path: str) -> str | None:
    """Why `path` may not be written, or None if it may: a relative path with `/` between its names."""
    if not path:
        return "it is empty"
    if any(unicodedata.category(one) in _HIDDEN for one in path):
        return "it holds a control, invisible or invalid character"
    if "\\" in path or ":" in path:
        return "it holds a backslash or a colon; names are joined by '/'"
    if path.startswith("/"):
        return "it is absolute"
    if len(path.encode()) > MAX_BYTES or path.count("/") >= MAX_LEVELS:
        return f"it is longer than {MAX_BYTES} bytes or deeper than {MAX_LEVELS} levels"
    return next((found for name in path.split("/") if (found := _name_fault(name))), None)


def _name_fault(name: str) -> str | None:
    if name in {"", ".", ".."}:
        return "it holds an empty name, '.' or '..'"
    if name.endswith((".", " ")) or name[0].isspace() or name[-1].isspace():
        return f"{name!r} begins with a blank, or ends with a blank or a dot"
    if len(name.encode()) > MAX_NAME_BYTES:
        return f"a name is longer than {MAX_NAME_BYTES} bytes"
    if not _WINDOWS_CHARACTERS.isdisjoint(name):
        return f'{name!r} holds one of < > " | ? *'
    if _WINDOWS_DEVICE.fullmatch(name):
        return f"{name!r} is a device on Windows"
    if _GIT_NAME.fullmatch(name):
        return f"{name!r} belongs to Git"
    return None


def clash(paths: Collection[str]) -> str | None:
    """A path that is also the folder of another one, or None."""
    known = set(paths)
    for path in sorted(known):
        parts = path.split("/")
        if found := next((head for end in range(1, len(parts)) if (head := "/".join(parts[:end])) in known), None):
            return found
    return None
