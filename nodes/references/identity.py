"""Who a repository is, from its chunks: its names, origin, dependencies, README and tree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from packaging.utils import canonicalize_name

from engine.retrieval.base import Chunk
from nodes.references.addresses import is_address, name_of, project_of
from nodes.references.design import body
from nodes.references.manifest import dependency_names
from nodes.references.similarity import shingles

_AFFIX = re.compile(r"^(?:python-|py-|lib)|(?:-python|-py|-ng|-fork|-next|-reborn|-clone|-mirror|-plus|-?v?\d+)$")
_VERSION = re.compile(r"\s+\S*\d\S*$")


@dataclass(frozen=True)
class Identity:
    """What tells a repository from others.

    repository  as the corpus calls it; `package` and `names` are canonical
    project     "host/owner/name", or ""
    tree        the file tree's lines
    """

    repository: str
    package: str
    names: frozenset[str]
    project: str
    dependencies: frozenset[str]
    readme: str
    tree: tuple[str, ...] = ()

    @cached_property
    def shingles(self) -> frozenset[int]:
        """The runs of words of its README."""
        return shingles(self.readme)

    @cached_property
    def lineage(self) -> frozenset[str]:
        """Its names without what renamed copies add to one."""
        return frozenset(filter(None, map(lineage, self.names)))


def identity_of(chunks: Sequence[Chunk]) -> Identity:
    """Who the repository of these chunks is."""
    lines = {kind: [line for one in chunks if one.kind == kind for line in body(one)] for kind in _KINDS}
    repository, origin = chunks[0].repository, chunks[0].origin
    package = next((one.partition(": ")[2] for one in lines["manifest"] if one.startswith("package: ")), "")
    bare = _VERSION.sub("", repository)
    names = {package, bare.rpartition("/")[2], name_of(origin).rpartition("/")[2] if is_address(origin) else ""}
    return Identity(
        repository=repository,
        package=canonicalize_name(package) if package else "",
        names=frozenset(canonicalize_name(name) for name in names if name),
        project=project_of(origin) if is_address(origin) else "",
        dependencies=dependency_names(lines["manifest"]),
        readme="\n".join(lines["readme"]),
        tree=tuple(lines["tree"]),
    )


def lineage(name: str) -> str:
    """A package's name without affixes such as "python-", "-ng" or a number at its end."""
    bare, before = str(canonicalize_name(name)), ""
    while bare != before:
        before, bare = bare, _AFFIX.sub("", bare) or bare
    return bare


_KINDS = ("readme", "tree", "manifest")
