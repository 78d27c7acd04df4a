"""A Git repository behind a URL: its latest commit is fetched, and read without a checkout."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from engine.errors import InputError
from nodes.references.addresses import SCHEMES, is_address
from nodes.references.files import MOST_LISTED, Files, collect

if TYPE_CHECKING:
    from dulwich.client import FetchPackResult, GitClient
    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

_MOST_FETCHED = 256 * 2**20
_DEEPEST = 32
_SSH = "ssh -o BatchMode=yes -o ConnectTimeout=20"  # it asks nobody for a password
_SECONDS = 60.0  # without an answer


class Remote:
    """A repository elsewhere. Raises InputError for what cannot be reached, is empty, or is too large."""

    def __init__(self, address: str) -> None:
        self._address = address.removeprefix("git+")
        if not is_address(self._address):
            raise InputError(f"is no URL of a Git repository; use {', '.join(SCHEMES)}")

    def head(self) -> str:
        """The id of its latest commit, without fetching it."""
        found = self._talk(lambda client, path: client.get_refs(path.encode()))
        commit = found.refs.get(b"HEAD")
        if commit is None:
            raise InputError("an empty repository, or one without a default branch")
        return str(commit.decode())

    def read(self) -> Files:
        """The files of its latest commit."""
        from dulwich.repo import Repo

        with tempfile.TemporaryDirectory(prefix="flowrun-") as folder, Repo.init_bare(folder) as repository:
            return _read_tree(repository, self._fetch(repository))

    def _fetch(self, repository: Repo) -> bytes:
        heads: list[bytes] = []

        def only_head(refs: Any, depth: int | None = None) -> list[bytes]:
            heads.extend(refs[name] for name in (b"HEAD",) if name in refs)
            return list(heads)

        def fetch(client: GitClient, path: str) -> FetchPackResult:
            file, commit, abort = repository.object_store.add_pack()
            walker = repository.get_graph_walker()
            try:
                result = client.fetch_pack(path.encode(), only_head, walker, _bounded(file.write), depth=1)  # type: ignore[arg-type]
                commit()
            except BaseException:
                abort()
                raise
            return result

        self._talk(fetch)
        if not heads:
            raise InputError("an empty repository, or one without a default branch")
        return heads[0]

    def _talk(self, ask: Callable[[GitClient, str], Any]) -> Any:
        import urllib3.exceptions
        from dulwich.client import default_urllib3_manager, get_transport_and_path
        from dulwich.errors import GitProtocolError, NotGitRepository

        try:
            manager = None
            if self._address.startswith("http"):
                manager = default_urllib3_manager(None, timeout=_SECONDS)
            client, path = get_transport_and_path(self._address, pool_manager=manager, quiet=True, ssh_command=_SSH)  # type: ignore[arg-type]
            return ask(client, path)
        except (GitProtocolError, NotGitRepository, urllib3.exceptions.HTTPError) as error:
            raise InputError(f"cannot be fetched: {_reason(error)}") from error
        except (OSError, ValueError, KeyError, AssertionError, EOFError) as error:
            raise InputError(f"cannot be fetched: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return (str(error).strip().split("\n") or [""])[0][:200] or type(error).__name__


def _bounded(write: Callable[[bytes], int]) -> Callable[[bytes], int]:
    left = _MOST_FETCHED

    def bounded(data: bytes) -> int:
        nonlocal left
        left -= len(data)
        if left < 0:
            raise InputError(f"its latest commit is larger than {_MOST_FETCHED // 2**20} MB; refused")
        return write(data)

    return bounded


def _read_tree(repository: Repo, head: bytes) -> Files:
    from dulwich.objects import Blob, Commit

    commit = repository[head]
    if not isinstance(commit, Commit):
        raise InputError("its default branch is no commit")
    store = repository.object_store
    blobs = dict(_blobs(repository, commit.tree, "", 0))
    sizes = dict.fromkeys(blobs, 0)

    def read(paths: list[str]) -> dict[str, bytes]:
        found = ((path, store[blobs[path]]) for path in paths)
        return {path: blob.data for path, blob in found if isinstance(blob, Blob)}

    return collect(sizes, read)


def _blobs(repository: Repo, tree: bytes, prefix: str, depth: int) -> Iterator[tuple[str, ObjectID]]:
    """Regular files of a tree; links and submodules are none."""
    import stat

    from dulwich.objects import Tree

    left = MOST_LISTED
    found = repository[tree]
    if not isinstance(found, Tree) or depth > _DEEPEST:
        return
    for name, mode, sha in found.items():
        path = prefix + name.decode("utf-8", "replace")
        if stat.S_ISDIR(mode):
            yield from _blobs(repository, sha, f"{path}/", depth + 1)
        elif stat.S_ISREG(mode):
            yield path, sha
            left -= 1
        if left < 0:
            return
