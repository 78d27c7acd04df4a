from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.workspace_log import Commit, draw, newest_first

START = datetime(2026, 1, 1, tzinfo=UTC)


def commits(parents: dict[str, str], minutes: dict[str, int] | None = None) -> dict[str, Commit]:
    order = list(parents)
    return {
        one: Commit(
            one, tuple(parents[one].split()), "A", START + timedelta(minutes=(minutes or {}).get(one, index)), one, ()
        )
        for index, one in enumerate(order)
    }


@st.composite
def histories(draw_: st.DrawFn) -> dict[str, Commit]:
    parents: dict[str, str] = {}
    for number in range(draw_(st.integers(1, 12))):
        known = list(parents)
        chosen = draw_(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
        parents[f"c{number:02}"] = " ".join(chosen)
    tips = parents.keys() - set(" ".join(parents.values()).split())
    return commits(parents | {"c99": " ".join(sorted(tips))})


@given(histories())
def test_a_commit_comes_before_its_parents(history: dict[str, Commit]) -> None:
    ordered = newest_first(history)
    place = {one.id: index for index, one in enumerate(ordered)}
    assert place.keys() == history.keys() and len(ordered) == len(history)
    assert all(place[one.id] < place[parent] for one in ordered for parent in one.parents)


@given(histories())
def test_following_the_lines_of_a_graph_leads_to_the_parents(history: dict[str, Commit]) -> None:
    ordered = newest_first(history)
    assert followed(draw(ordered)) == {one.id: sorted(one.parents) for one in ordered}


def followed(rows: list[str]) -> dict[str, list[str]]:
    """Read a drawn graph back: what each line of history has seen goes down with it, row by row."""
    parents: dict[str, list[str]] = {}
    lines: dict[int, set[str]] = {}  # column -> the commits that this line comes from
    for row in rows:
        if "*" in row:
            column = row.index("*") // 2
            name = next(word for word in row.split() if word[0] == "c")
            parents[name] = []
            for child in lines.pop(column, set()):
                parents[child].append(name)
            lines[column] = {name}
            continue
        lines = moved(row, lines)
    return {name: sorted(found) for name, found in parents.items()}


def moved(row: str, lines: dict[int, set[str]]) -> dict[int, set[str]]:
    new: dict[int, set[str]] = {}
    padded = row.ljust(2 * (max(lines, default=0) + 3))
    for column, seen in lines.items():
        here, left, right = padded[2 * column], padded[2 * column - 1] if column else " ", padded[2 * column + 1]
        if here == "|":
            new.setdefault(column, set()).update(seen)
        if right == "\\":
            new.setdefault(column + 1, set()).update(seen)
        elif here == " " and left == "/":
            target = column - 1
            while target and padded[2 * target - 1] == "_":
                target -= 1
            new.setdefault(target, set()).update(seen)
    return new


@pytest.mark.parametrize(
    ("parents", "rows"),
    [
        ({}, []),
        ({"c0": "", "c1": "c0"}, ["* c1 A: c1", "* c0 A: c0"]),
        (
            {"c0": "", "c1": "c0", "c2": "c0", "c3": "c1 c2"},
            ["* c3 A: c3", "|\\", "| * c2 A: c2", "* | c1 A: c1", "|/", "* c0 A: c0"],
        ),
        (
            {"c0": "", "c1": "c0", "c2": "c0", "c3": "c0", "c4": "c1 c2", "c5": "c4 c3"},
            [
                "* c5 A: c5",
                "|\\",
                "* | c4 A: c4",
                "|\\ \\",
                "| | * c3 A: c3",
                "| * | c2 A: c2",
                "* | | c1 A: c1",
                "|_|/",
                "|/",
                "* c0 A: c0",
            ],
        ),
        ({"c0": "", "c1": "", "c2": "c0 c1"}, ["* c2 A: c2", "|\\", "| * c1 A: c1", "* c0 A: c0"]),
        (
            {"c0": "", "c1": "", "c2": "c0", "c3": "c1 c2"},
            ["* c3 A: c3", "|\\", "| * c2 A: c2", "* | c1 A: c1", " /", "* c0 A: c0"],
        ),
    ],
)
def test_drawn(parents: dict[str, str], rows: list[str]) -> None:
    assert draw(newest_first(commits(parents))) == rows
