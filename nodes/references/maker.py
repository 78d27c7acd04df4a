"""Makes the chunks of a corpus: a source is read, named, looked at, and told as design (CodeTeam, 3.3.3)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from engine.errors import InputError
from engine.retrieval.making import Made
from nodes.references.addresses import is_address, name_of, without_secrets
from nodes.references.archive import read_archive
from nodes.references.design import FORMAT, design_chunks
from nodes.references.files import Files
from nodes.references.folder import read_folder
from nodes.references.git_source import Remote
from nodes.references.identity import Identity
from nodes.references.installed import read_installed
from nodes.references.kinds import unwanted
from nodes.references.manifest import read_manifest
from nodes.references.package_index import download, find_release, index_address
from nodes.references.screening import Screen
from nodes.references.sources import expand, read_facts
from nodes.references.targets import Thresholds, read_targets
from nodes.references.windows import OVERLAP, TOKENS


class ReferenceMaker:
    """Makes design references. `targets` is a list of what must not be among them. Raises InputError for a bad list."""

    def __init__(self, targets: Path | None = None, **thresholds: float) -> None:
        self._targets: tuple[Identity, ...] = read_targets(targets) if targets else ()
        self._thresholds = Thresholds(**thresholds)
        self._index = ""

    @property
    def chunking(self) -> Mapping[str, Any]:
        """How texts are cut."""
        return {"format": FORMAT, "tokens": TOKENS, "overlap": OVERLAP, "counted": "bytes / 4"}

    def screen(self) -> Screen:
        """A new screen against the targets."""
        return Screen(self._targets, self._thresholds)

    def expand(self, sources: Sequence[str]) -> list[str]:
        """The sources of single repositories."""
        found = expand(sources)
        if any(one.startswith("pypi:") for one in found):
            self._index = index_address()
        return found

    def make(self, source: str, digests: Mapping[str, str]) -> Made:
        """Read one source. Raises InputError saying why it cannot be read."""
        source, facts = read_facts(source)
        if source.startswith("pypi:"):
            return self._from_index(source, digests)
        if is_address(source):
            return _from_git(source, facts, digests)
        if source.startswith("archive:"):
            path = Path(source.removeprefix("archive:"))
            return _made(_from_archive(path), f"archive:{path.name}", path.name, digests)
        if source.startswith("installed:"):
            name = source.removeprefix("installed:").strip()
            return _made(read_installed(name), f"installed:{canonicalize_name(name)}", name, digests)
        path = Path(source).resolve()
        files = read_folder(path)
        return _made(files, files.origin or f"folder:{path.name}", path.name, digests)

    def _from_index(self, source: str, digests: Mapping[str, str]) -> Made:
        name, _, version = source.removeprefix("pypi:").partition("==")
        release = find_release(name.strip(), version.strip(), self._index)
        digest = f"{FORMAT}:archive:{release.sha256}" if release.sha256 else ""
        repository = f"{release.name} {release.version}"
        if digest and digests.get(repository) == digest:
            return Made(repository, digest)
        if release.status in ("archived", "deprecated", "quarantined"):
            return Made(repository, digest, (), f"the package index says: {release.status}")
        with download(release) as archive:
            files = read_archive(archive)
        origin = f"pypi:{release.name}=={release.version}"
        return _made(files, origin, repository, digests, digest=digest, repository=repository)


def _from_git(address: str, facts: frozenset[str], digests: Mapping[str, str]) -> Made:
    shown, repository = without_secrets(address.removeprefix("git+")), name_of(address)
    if facts:
        return Made(repository, "", (), f"the list of sources says: {', '.join(sorted(facts))}")
    remote = Remote(address)
    digest = f"{FORMAT}:commit:{remote.head()}"
    if digests.get(repository) == digest:
        return Made(repository, digest)
    return _made(remote.read(), shown, repository, digests, digest=digest, repository=repository)


def _from_archive(path: Path) -> Files:
    try:
        with path.open("rb") as file:
            return read_archive(file)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from error


def _made(
    files: Files, origin: str, name: str, digests: Mapping[str, str], *, digest: str = "", repository: str = ""
) -> Made:
    """The chunks of a repository, unless it is one of a kind that has no place in a corpus, or is there already."""
    manifest = read_manifest(files)
    if not repository:
        repository = f"{canonicalize_name(manifest.name)} {manifest.version}".strip() if manifest.name else name
    if not digest:
        digest = f"{FORMAT}:files:{hashlib.sha256(f'{origin} {files.digest}'.encode()).hexdigest()}"
    count = len(files.contents)
    if digests.get(repository) == digest:
        return Made(repository, digest, files=count)
    if why := unwanted(files, manifest):
        return Made(repository, digest, (), why, count)
    chunks = tuple(design_chunks(repository, origin, files, manifest))
    if not chunks:
        raise InputError("says nothing about its design: no README, no manifest, no Python file that parses")
    return Made(repository, digest, chunks, files=count)
