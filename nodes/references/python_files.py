"""What Python files say of a design: the role of each, and what it exports; from the syntax tree, never the code."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nodes.api import interface_of
from nodes.references.files import Files

_MOST_FILES, _MOST_NAMES = 400, 60
_LONGEST = 200
_ASIDE = frozenset(
    {"test", "tests", "testing", "doc", "docs", "examples", "example", "benchmarks", "bench", "migrations", "vendor"}
    | {"_vendor", "setup.py", "conftest.py", "noxfile.py"}
)


@dataclass(frozen=True)
class PythonFile:
    """A file: its path, the first sentence of its docstring or what it defines, and its public declarations.

    `private` when its name, or that of a folder above it, says so.
    """

    path: str
    role: str
    declarations: tuple[str, ...]
    private: bool


def python_files(files: Files) -> Iterator[PythonFile]:
    """The files of the packages themselves, those nearest to the root first; what does not parse is passed over."""
    seen = 0
    for path in sorted(files.contents, key=lambda path: (path.count("/"), path)):
        if not path.endswith(".py") or not _ASIDE.isdisjoint(path.split("/")) or seen == _MOST_FILES:
            continue
        text = files.text(path)
        found = None if text is None else _read(path, text)
        if found is not None and (found.role or found.declarations):
            seen += 1
            yield found


def _read(path: str, text: str) -> PythonFile | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the parsed code does
            tree = ast.parse(text)
            exported = interface_of(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return PythonFile(
        path,
        _sentence(ast.get_docstring(tree)) or _defines(exported),
        tuple(_declarations(exported)),
        _is_private(path),
    )


def _is_private(path: str) -> bool:
    return any(name.startswith("_") and not name.startswith("__") for name in path.split("/"))


def _declarations(exported: Mapping[str, str]) -> Iterator[str]:
    """Each declaration on a line, a method after its class; a constant or field if it has a type, and no value."""
    for name, text in list(exported.items())[:_MOST_NAMES]:
        line = " ".join(text.split())
        if line.endswith("# re-exported") or any(_is_hidden(part) for part in name.split(".")):
            continue
        if " = " in line and not line.startswith(("def ", "async def ", "class ", "@")):
            continue
        owner = name.rpartition(".")[0]
        if owner:
            line = f"  {line}"
        yield line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def _is_hidden(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _defines(exported: Mapping[str, str]) -> str:
    names = [name for name, text in exported.items() if "." not in name and ("def " in text or "class " in text)]
    return f"defines {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" if names else ""


def _sentence(text: str | None) -> str:
    """The first sentence of a docstring, without the underlines of headings."""
    paragraphs = [one for one in (text or "").split("\n\n") if one.strip(" \n\t=-~*#.")]
    for paragraph in paragraphs:
        lines = [line.strip() for line in paragraph.splitlines() if line.strip(" \t=-~*^\"'#")]
        words = " ".join(lines)
        end = words.find(". ")
        sentence = words if end < 0 else words[: end + 1]
        if " " in sentence:
            return sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 3]}..."
    return ""
