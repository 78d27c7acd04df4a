"""The history of a workspace: its commits in order, and the graph that a terminal shows."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from dulwich.diff_tree import TreeChange, tree_changes
from dulwich.objects import Commit as GitCommit
from dulwich.repo import Repo


@dataclass(frozen=True)
class Commit:
    """One commit.

    author   the name alone
    date     of the commit, in UTC
    message  without the line end
    changed  paths that differ from its parent; for a merge, from every parent
    """

    id: str
    parents: tuple[str, ...]
    author: str
    date: datetime
    message: str
    changed: tuple[str, ...]

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.split("\n", 1)[0]


def history(git: Repo, last: GitCommit) -> list[Commit]:
    """A commit and all that it stands on, newest first."""
    found: dict[str, Commit] = {}
    waiting = [last]
    while waiting:
        one = waiting.pop()
        if one.id.decode() not in found:
            found[one.id.decode()] = describe(git, one)
            waiting += _parents(git, one)
    return newest_first(found)


def _parents(git: Repo, one: GitCommit) -> list[GitCommit]:
    return [cast("GitCommit", git[parent]) for parent in one.parents]


def describe(git: Repo, one: GitCommit) -> Commit:
    """One commit as a `Commit`."""
    trees = [parent.tree for parent in _parents(git, one)] or [None]
    changes = [{_path(each) for each in tree_changes(git.object_store, tree, one.tree)} for tree in trees]
    return Commit(
        id=one.id.decode(),
        parents=tuple(parent.decode() for parent in one.parents),
        author=one.author.decode("utf-8", "replace").rsplit(" <", 1)[0],
        date=datetime.fromtimestamp(one.commit_time, UTC),
        message=one.message.decode("utf-8", "replace").rstrip("\n"),
        changed=tuple(sorted(set.intersection(*changes))),
    )


def _path(change: TreeChange) -> str:
    side = change.new or change.old
    assert side is not None and side.path is not None
    return side.path.decode("utf-8", "replace")


def newest_first(commits: Mapping[str, Commit]) -> list[Commit]:
    """All commits, each before its parents; among those that could come next, the latest date, then the id."""
    children = dict.fromkeys(commits, 0)
    for commit in commits.values():
        for parent in commit.parents:
            children[parent] += 1
    ready = [(-commits[key].date.timestamp(), key) for key, count in children.items() if not count]
    heapq.heapify(ready)
    ordered = []
    while ready:
        commit = commits[heapq.heappop(ready)[1]]
        ordered.append(commit)
        for parent in commit.parents:
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-commits[parent].date.timestamp(), parent))
    return ordered


def draw(commits: Sequence[Commit]) -> list[str]:
    """The lines of a graph, as `git log --graph` draws it; `commits` has each commit before its parents.

    A column per line of history, left to right: `*` a commit, `|\\` a merge, `|/` two lines meeting at their parent.
    """
    rows: list[str] = []
    columns: list[str] = []
    for commit in commits:
        if commit.id not in columns:
            columns.append(commit.id)
        column = columns.index(commit.id)
        while columns.count(commit.id) > 1:
            other = len(columns) - 1 - columns[::-1].index(commit.id)
            rows.append(_meet(column, other, len(columns)))
            del columns[other]
        marks = "".join("* " if place == column else "| " for place in range(len(columns)))
        rows.append(f"{marks}{commit.id[:7]} {commit.author}: {commit.subject}")
        if not commit.parents:
            rows += _end(column, len(columns))
            del columns[column]
            continue
        columns[column] = commit.parents[0]
        for offset, parent in enumerate(commit.parents[1:]):
            rows.append(_part(column + offset, len(columns)))
            columns.insert(column + offset + 1, parent)
    return rows


def _meet(column: int, other: int, count: int) -> str:
    """Column `other` joins `column` on its left; those further right move one to the left."""
    between = "_|" * (other - column - 1)
    return ("| " * column + "|" + between + "/" + " /" * (count - other - 1)).rstrip()


def _part(column: int, count: int) -> str:
    """A new column opens to the right of `column`; those further right move one to the right."""
    return ("| " * column + "|\\" + " \\" * (count - column - 1)).rstrip()


def _end(column: int, count: int) -> list[str]:
    """Column `column` ends; those further right move one to the left."""
    right = count - column - 1
    return ["| " * column + " /" * right] if right else []
