"""Sources as the user writes them, and how each is read.

PATH               a checkout, or a folder of checkouts
URL                a Git repository
pypi:NAME[==V]     the source archive of a package
installed:NAME     a distribution of the running environment
archive:PATH       a source archive
@FILE              a list of sources, one a line; a line may also be the JSON object of a hosting service's repository
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.errors import InputError
from nodes.references.addresses import is_address, without_secrets
from nodes.references.folder import is_checkout

_FACTS = (("fork", "fork"), ("archived", "archived"), ("is_template", "template"), ("mirror_url", "mirror"))
_MOST_LISTS = 8  # lists that name lists


def expand(sources: Sequence[str]) -> list[str]:
    """The sources of single repositories, in the given order, each once. Raises InputError for one that is none."""
    return list(dict.fromkeys(one for source in sources for one in _expanded(source, Path(), 0)))


def read_facts(source: str) -> tuple[str, frozenset[str]]:
    """A source without the facts that a list told about it, and those facts ("fork", "archived", ...)."""
    if not source.startswith("{"):
        return source, frozenset()
    given = json.loads(source)
    facts = frozenset(fact for name, fact in _FACTS if given.get(name))
    return str(given["clone_url"]), facts


def shown(source: str) -> str:
    """A source as it may be printed."""
    source = read_facts(source)[0]
    return without_secrets(source) if is_address(source) else source


def _expanded(source: str, folder: Path, depth: int) -> Iterator[str]:
    if source.startswith("@"):
        yield from _from_list(folder / source[1:], depth)
    elif source.startswith("{"):
        yield _described(source)
    elif source.startswith(("pypi:", "installed:")):
        if not source.partition(":")[2].strip():
            raise InputError(f"source '{source}': names no package")
        yield source
    elif source.startswith("archive:"):
        yield f"archive:{folder / source.removeprefix('archive:')}"
    elif is_address(source):
        yield source
    else:
        yield from _from_folder(source, folder / source)


def _from_folder(source: str, path: Path) -> Iterator[str]:
    if path.is_file() and path.name.endswith((".tar.gz", ".tgz", ".zip", ".tar.bz2", ".tar.xz", ".whl", ".tar")):
        yield f"archive:{path}"
        return
    if not path.is_dir():
        raise InputError(f"source '{source}': no such folder; give a folder, a URL, pypi:NAME, installed:NAME or @FILE")
    below = [] if is_checkout(path) else sorted(one for one in path.iterdir() if is_checkout(one))
    yield from map(str, below or [path])


def _from_list(file: Path, depth: int) -> Iterator[str]:
    if depth >= _MOST_LISTS:
        raise InputError(f"{file}: lists of sources name one another")
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"source '@{file}': cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        text = line.strip() if line.lstrip().startswith("{") else line.partition(" #")[0].strip()
        if text and not text.startswith("#"):
            try:
                yield from _expanded(text, file.parent, depth + 1)
            except InputError as error:
                raise InputError(f"{file}:{number}: {error}") from error


def _described(text: str) -> str:
    """A hosting service's description of a repository, with no more of it than is needed."""
    try:
        given: Mapping[str, Any] = json.loads(text)
        address = given.get("clone_url") or given["html_url"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"source '{text[:60]}': no JSON object with a clone_url") from error
    if not isinstance(address, str) or not is_address(address):
        raise InputError(f"source '{text[:60]}': its clone_url is no URL")
    return json.dumps({"clone_url": address, **{name: bool(given.get(name)) for name, _ in _FACTS}}, sort_keys=True)
