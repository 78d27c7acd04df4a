from __future__ import annotations

import subprocess
import sys

import pytest

from engine.sandbox import owner

PROGRAM = "from engine.sandbox import owner; print(owner.mark(), flush=True); input()"


def test_a_process_lives_until_it_has_ended() -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert other.stdout and other.stdin
    mark = other.stdout.readline().strip()
    assert mark != owner.mark() and not owner.is_dead(mark) and not owner.is_dead(owner.mark())
    other.communicate("\n")
    assert owner.is_dead(mark)


@pytest.mark.parametrize(
    ("part", "text", "dead"),
    [
        (0, "another-boot", True),
        (1, "pid:[1]", False),  # of another namespace nothing can be said
        (2, "4194999", True),
        (3, "1", True),  # the number was given to a process that began later
        (2, "no number", False),
    ],
)
def test_a_mark_that_differs(part: int, text: str, dead: bool) -> None:
    parts = owner.mark().split(" ")
    parts[part] = text
    assert owner.is_dead(" ".join(parts)) is dead


def test_no_mark_is_nobody_s() -> None:
    assert not owner.is_dead("")
