"""A repository as the texts that describe its design: README in short, tree, manifest, roles of files, interfaces."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from engine.retrieval.base import Chunk
from nodes.references.files import Files
from nodes.references.licence import licence_of
from nodes.references.manifest import Manifest
from nodes.references.python_files import python_files
from nodes.references.readme import readme_summary
from nodes.references.tree import tree_lines
from nodes.references.windows import windows

FORMAT = 1  # of what is made here: with another one every repository is made anew
KINDS = ("readme", "tree", "manifest", "roles", "interfaces")
_TITLES = dict(zip(KINDS, ("", "File tree", "Manifest", "Roles of files", "Exported interfaces"), strict=True))
_MOST_PIECES = {"readme": 2, "tree": 2, "manifest": 1, "roles": 4, "interfaces": 8}


def design_chunks(repository: str, origin: str, files: Files, manifest: Manifest) -> list[Chunk]:
    """The chunks of a repository, the same for the same files wherever they lie."""
    licence = manifest.licence or licence_of(files)
    chunks: list[Chunk] = []
    for kind, lines in _parts(files, manifest):
        head = _head(repository, manifest, _TITLES[kind])
        for text in list(windows(lines, head))[: _MOST_PIECES[kind]]:
            chunks.append(Chunk(repository, origin, licence, kind, len(chunks), text))
    return chunks


def body(chunk: Chunk) -> list[str]:
    """The lines of a chunk below its head."""
    return chunk.text.split("\n")[1:]


def _parts(files: Files, manifest: Manifest) -> Iterator[tuple[str, list[str]]]:
    python = list(python_files(files))
    yield "readme", _clean(readme_summary(files, manifest).split("\n"))
    yield "tree", _clean(tree_lines(files.paths, cut=files.cut))
    yield "manifest", _clean(manifest.lines())
    yield "roles", _clean([f"{one.path}: {one.role}" for one in python if one.role])
    declared = sorted((one for one in python if one.declarations), key=lambda one: one.private)
    yield "interfaces", _clean([line for one in declared for line in (one.path, *one.declarations)])


def _head(repository: str, manifest: Manifest, title: str) -> str:
    """What every chunk begins with, so that it is found, and understood, by itself."""
    name = manifest.name or repository
    said = f"{name}: {manifest.summary}" if manifest.summary else name
    return "".join(_clean([f"{said} | {title}" if title else said])) or name


def _clean(lines: list[str]) -> list[str]:
    """Lines without characters that are not seen, and without empty ones."""
    seen = ("".join(one for one in line if unicodedata.category(one) not in _UNSEEN) for line in lines)
    return [line for line in seen if line.strip()]


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
