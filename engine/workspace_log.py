"""The history of a workspace: its commits in order, and the graph that a terminal shows."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime


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
