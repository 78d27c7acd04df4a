"""The generated Git repository, written with dulwich: no git program is needed, and the git program reads it.

The same content on the same parents gives the same commit id, whoever makes it and whenever: a run that was stopped and
goes on makes the same history again. A write goes to the objects first and to the branch last, so a stop in between
leaves the branch as it was.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Self, TypeVar, cast

from dulwich.errors import NotGitRepository, NotTreeError
from dulwich.file import FileLocked
from dulwich.graph import find_merge_base
from dulwich.index import commit_tree, index_entry_from_stat
from dulwich.object_store import iter_tree_contents, tree_lookup_path
from dulwich.objects import Blob, ObjectID
from dulwich.objects import Commit as GitCommit
from dulwich.refs import Ref, check_ref_format
from dulwich.repo import Repo

from engine import paths, worktree
from engine.errors import WorkspaceError
from engine.merging import three_way
from engine.workspace_log import Commit, describe, draw, history

T = TypeVar("T")

_COMMITTER = b"flowrun <flowrun@localhost>"
_EPOCH = 1767225600  # 2026-01-01T00:00:00Z, the date of a first commit
_STEP = 60  # seconds between a commit and the next
_REGULAR = 0o100644
_SHOWN = 12  # names in a message
_STALE_LOCK = 2.0  # seconds; nobody holds a lock of a branch or of the index that long


class Workspace:
    """A Git repository with a working tree at `path`.

    A `ref` is a branch name, "HEAD" or a full commit id. Paths are relative, with `/`. Raises WorkspaceError.
    """

    def __init__(self, path: Path, repository: Repo) -> None:
        self.path = path
        self._git = repository
        # What a commit holds never changes, and many files are written on the same one and look at the same ones.
        self._listing = lru_cache(8)(partial(_listing, repository))
        self._describe = lru_cache(1024)(partial(describe, repository))

    @classmethod
    def create(cls, path: Path | str, branch: str = "main") -> Self:
        """A new repository in a folder that is not there or is empty. HEAD is on `branch`, which has no commit yet."""
        path = Path(path)
        _check_name(branch)
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise WorkspaceError(f"{path}: a repository is made in a new or empty folder only")
        aside = path.with_name(f".{path.name}.new")  # built aside: a stop leaves no half repository at `path`
        shutil.rmtree(aside, ignore_errors=True)
        repository = Repo.init(aside, mkdir=True, default_branch=branch.encode(), symlinks=False)
        config = repository.get_config()
        config.set(b"core", b"autocrlf", b"false")  # a user's global setting must not make the tree look changed
        config.write_to_path()
        repository.close()
        path.mkdir(exist_ok=True)
        aside.replace(path)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """The repository at `path`."""
        try:
            return cls(Path(path), Repo(str(path)))
        except NotGitRepository:
            raise WorkspaceError(f"{path}: no Git repository is there") from None

    def release_locks(self) -> None:
        """Remove what a killed process left locked; only for who knows that nobody else is at work here."""
        with _told(self.path):
            for lock in (self.path / ".git").rglob("*.lock"):
                lock.unlink(missing_ok=True)

    def close(self) -> None:
        """Give back open files."""
        self._git.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading

    def branches(self) -> list[str]:
        """The names of all branches, sorted."""
        return sorted(name.decode() for name in self._git.refs.as_dict(Ref(b"refs/heads")))

    def tip(self, branch: str) -> str | None:
        """The commit that `branch` is at, or None where there is no such branch."""
        try:
            return self._git.refs[_ref(branch)].decode()
        except (KeyError, ValueError):  # none of that name, or no name at all
            return None

    def tree(self, ref: str) -> dict[str, str]:
        """Every path at `ref` with the id of its blob, sorted by path."""
        return dict(self._listing(self._commit(ref)))

    def files(self, ref: str) -> dict[str, bytes]:
        """Every path at `ref` with its content, sorted by path."""
        return {path: self._blob(blob) for path, blob in self.tree(ref).items()}

    def read(self, ref: str, path: str) -> bytes | None:
        """The content of a file at `ref`, or None where there is no such file."""
        commit = self._commit(ref)
        try:
            mode, blob = tree_lookup_path(self._git.object_store.__getitem__, commit.tree, path.encode())
        except (KeyError, NotTreeError, UnicodeEncodeError):
            return None
        return self._blob(blob.decode()) if stat.S_ISREG(mode) else None

    def log(self, ref: str, path: str | None = None) -> list[Commit]:
        """The commits behind `ref`, newest first; with `path`, those that changed that file or something below it."""
        ordered = history(self._git, self._commit(ref))
        if path is None:
            return ordered
        return [one for one in ordered if any(each == path or each.startswith(f"{path}/") for each in one.changed)]

    def show(self, ref: str) -> Commit:
        """The commit at `ref`."""
        return self._describe(self._commit(ref))

    def graph(self, ref: str) -> list[str]:
        """The history behind `ref` as lines for a terminal, like `git log --graph --oneline` with the authors."""
        return draw(self.log(ref))

    # Writing

    def commit(
        self,
        branch: str,
        files: Mapping[str, bytes | None],
        *,
        message: str,
        author: str,
        parents: Sequence[str] | None = None,
        allowed: Collection[str] | None = None,
    ) -> str:
        """Write `files` (None removes one) on top of the branch's tree; returns the commit that `branch` is at then.

        parents  commits to stand on instead of the branch's tip; the tree is that of the first. The branch moves to the
                 new commit, whatever it was at before, so making a commit again changes nothing. A branch that is not
                 there begins, without `parents`, at HEAD.
        allowed  the only paths that may be written

        Files that change nothing make no commit (unless it has several parents).
        """
        self._check_branch(branch)
        stand = [self._commit(one) for one in (self._stand(branch) if parents is None else parents)]
        before = self._listing(stand[0]) if stand else {}
        _check_paths(branch, author, files, before, allowed)
        after = {path: blob for path, blob in before.items() if files.get(path, b"") is not None}
        after |= {path: self._store(content) for path, content in files.items() if content is not None}
        if inside := paths.clash(after):
            raise WorkspaceError(f"branch '{branch}': '{inside}' cannot be both a file and a folder")
        unchanged = after == before and len(stand) == 1
        made = stand[0].id if unchanged else self._make(after, stand, message, author)
        self._move(branch, made)
        return made.decode()

    def merge(self, into: str, branch: str, *, message: str, author: str) -> str:
        """Merge `branch` into `into` by a commit with two parents; returns where `into` is then.

        Makes no commit when `into` has everything already. A file that both changed since they parted, in different
        ways, is refused by name.
        """
        ours, theirs = (self._commit(self._require(one)) for one in (into, branch))
        bases = find_merge_base(self._git, [ours.id, theirs.id])
        if theirs.id in bases:
            return ours.id.decode()
        known = [self._listing(cast("GitCommit", self._git[one])) for one in bases] or [{}]
        merged, conflicts = three_way(known, self._listing(ours), self._listing(theirs))
        if not conflicts and (inside := paths.clash(merged)):
            conflicts = [inside]
        if conflicts:
            names = ", ".join(conflicts)
            raise WorkspaceError(f"'{branch}' cannot be merged into '{into}': both changed {names}")
        made = self._make(merged, [ours, theirs], message, author)
        self._move(into, made)
        return made.decode()

    def set_branch(self, branch: str, commit_id: str) -> None:
        """Put `branch`, new or not, at a commit."""
        self._check_branch(branch)
        self._move(branch, self._commit(commit_id).id)

    def delete_branch(self, branch: str) -> None:
        """Remove a branch; its commits stay. One that is not there is no error; the one that HEAD is on is refused."""
        if self._head_branch() == branch:
            raise WorkspaceError(f"branch '{branch}' is checked out; check out another one before it is deleted")
        if self.tip(branch) is not None:
            _unlocked(lambda: self._git.refs.remove_if_equals(_ref(branch), None))

    # The working tree

    def checkout(self, ref: str) -> None:
        """Make HEAD, index and working tree exactly those of `ref`; whatever else lies in the folder is removed."""
        tree = self.tree(ref)
        with _told(self.path):
            worktree.write(self.path, tree, self._blob)
            index = self._git.open_index()
            index.clear()
            for path, blob in tree.items():
                found = (self.path / path).lstat()
                index[path.encode()] = index_entry_from_stat(found, blob.encode(), mode=_REGULAR)
            _unlocked(index.write)
            self._point_head(ref)

    def status(self) -> list[str]:
        """What differs in the working tree from HEAD: "modified: a", "missing: b", "untracked: c", sorted by path."""
        with _told(self.path):
            return worktree.differences(self.path, self.tree("HEAD") if self._head() else {})

    # Steps

    def _check_branch(self, branch: str) -> None:
        """Refuse what is no name, and a new name that another one is in the way of."""
        _check_name(branch)
        if self.tip(branch) is not None:
            return
        above = [branch[: slash.start()] for slash in re.finditer("/", branch)]
        below = self._git.refs.subkeys(Ref(_ref(branch) + b"/"))
        if inside := next((one for one in above if self.tip(one) is not None), branch if below else None):
            raise WorkspaceError(f"branch '{branch}': '{inside}' cannot be both a branch and a folder of branches")

    def _stand(self, branch: str) -> list[str]:
        if (tip := self.tip(branch)) is not None:
            return [tip]
        start = self._head()
        return [start] if start else []

    def _commit(self, ref: str) -> GitCommit:
        name = self._head() if ref == "HEAD" else self.tip(ref)
        if name is None and re.fullmatch(r"[0-9a-f]{40}", ref):
            name = ref
        try:
            found = self._git.object_store[ObjectID(name.encode())] if name else None
        except KeyError:
            found = None
        if not isinstance(found, GitCommit):
            raise WorkspaceError(f"'{ref}' is no commit of {self.path}; its branches: {', '.join(self.branches())}")
        return found

    def _require(self, branch: str) -> str:
        if (found := self.tip(branch)) is None:
            raise WorkspaceError(f"no branch '{branch}' in {self.path}; its branches: {', '.join(self.branches())}")
        return found

    def _blob(self, blob: str) -> bytes:
        found = self._git.object_store[ObjectID(blob.encode())]
        assert isinstance(found, Blob)
        return found.data

    def _store(self, content: bytes) -> str:
        blob = Blob.from_string(content)
        self._git.object_store.add_object(blob)
        return blob.id.decode()

    def _make(self, tree: Mapping[str, str], stand: Sequence[GitCommit], message: str, author: str) -> ObjectID:
        store = self._git.object_store
        made = GitCommit()
        entries = [(path.encode(), ObjectID(blob.encode()), _REGULAR) for path, blob in tree.items()]
        made.tree = commit_tree(store, entries)
        made.parents = [one.id for one in stand]
        made.author, made.committer = _signature(author), _COMMITTER
        made.author_time = made.commit_time = max((one.commit_time + _STEP for one in stand), default=_EPOCH)
        made.author_timezone = made.commit_timezone = 0
        made.encoding = None
        made.message = _clean(message.replace("\r\n", "\n"), keep="\n\t").strip().encode() + b"\n"
        store.add_object(made)
        return made.id

    def _move(self, branch: str, commit: ObjectID) -> None:
        if self.tip(branch) != commit.decode():
            _unlocked(lambda: self._git.refs.set_if_equals(_ref(branch), None, commit))

    def _head(self) -> str | None:
        """The commit that HEAD is at, or None where its branch has none yet."""
        try:
            return self._git.head().decode()
        except KeyError:
            return None

    def _head_branch(self) -> str | None:
        """The branch that HEAD is on, or None where it is at a commit."""
        target = self._git.refs.read_ref(Ref(b"HEAD")) or b""
        prefix = b"ref: refs/heads/"
        return target.removeprefix(prefix).decode() if target.startswith(prefix) else None

    def _point_head(self, ref: str) -> None:
        if ref == "HEAD":
            return
        if self.tip(ref) is not None:
            _unlocked(lambda: self._git.refs.set_symbolic_ref(Ref(b"HEAD"), _ref(ref)))
        else:
            aside = self.path / ".git" / "HEAD.new"
            aside.write_text(f"{ref}\n")
            aside.replace(aside.with_name("HEAD"))


def _listing(git: Repo, commit: GitCommit) -> dict[str, str]:
    found = {}
    for entry in iter_tree_contents(git.object_store, commit.tree):
        path = entry.path.decode("utf-8", "surrogateescape")
        if entry.mode != _REGULAR:
            raise WorkspaceError(f"commit {commit.id.decode()[:7]}: '{path}' is a link, a program or a submodule")
        found[path] = entry.sha.decode()
    return found


def _check_name(branch: str) -> None:
    try:
        good = check_ref_format(_ref(branch)) and branch.isprintable() and paths.fault(branch) is None
    except UnicodeEncodeError:
        good = False
    if not good or branch == "HEAD" or branch.startswith("-") or re.fullmatch(r"[0-9a-f]{40}", branch):
        raise WorkspaceError(f"{branch!r} is no name for a branch")


def _check_paths(
    branch: str,
    author: str,
    files: Mapping[str, bytes | None],
    before: Mapping[str, str],
    allowed: Collection[str] | None,
) -> None:
    for path in files:
        if why := paths.fault(path):
            raise WorkspaceError(f"branch '{branch}': {author} may not write {path!r}: {why}")
        if allowed is not None and path not in allowed:
            why = "it belongs to someone else" if path in before else "it is not in the contract's tree"
            names = sorted(allowed)
            may = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            raise WorkspaceError(f"branch '{branch}': {author} may not write '{path}': {why}; may write: {may or '-'}")


def _ref(branch: str) -> Ref:
    return Ref(b"refs/heads/" + branch.encode())


def _signature(author: str) -> bytes:
    name = _clean(author).translate(dict.fromkeys(map(ord, "<>"))).strip(" .,:;\"'\\") or "unknown"
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "unknown"
    return f"{name} <{slug}@flowrun.local>".encode()


def _clean(text: str, keep: str = "") -> str:
    """Without characters that Git refuses or that a terminal obeys."""
    return "".join(one if one in keep or unicodedata.category(one) not in {"Cc", "Cs"} else " " for one in text)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """A file or folder that cannot be read or written becomes a WorkspaceError."""
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"{error.filename or path}: {error.strerror}; {path} is not as it should be") from None


def _unlocked(action: Callable[[], T]) -> T:
    """Do something that takes a lock file of Git; one that a killed process left behind is removed."""
    while True:
        try:
            return action()
        except FileLocked as held:
            lock = Path(os.fsdecode(held.lockfilename))
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.stat().st_mtime > _STALE_LOCK:
                    lock.unlink()
                else:
                    time.sleep(0.05)
