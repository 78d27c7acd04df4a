"""A new run that begins in the middle of an old one: both share everything before the fork, and pay for it once."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.errors import InputError
from engine.flow.model import Flow
from engine.history import Plan, Step
from engine.journal import Journal
from engine.runs import RunFolder, create_run


def fork_point(steps: Sequence[Step], at: str) -> tuple[Step, Plan]:
    """The step that `NODE` or `NODE:ROUND` names (the first visit without a round).

    Raises InputError naming where the run has been.
    """
    node, _, text = at.partition(":")
    if text and not text.isdigit():
        raise InputError(f"--at {at}: write it as NODE or NODE:ROUND, the round counted from 1")
    visit = int(text or 1)
    for index, step in enumerate(steps):
        if (step.node, step.visit) == (node, visit):
            return step, Plan(tuple(steps[:index]), step, "the fork begins here")
    visits: dict[str, int] = {}
    for step in steps:
        visits[step.node] = step.visit
    been = ", ".join(name + (f":1-{count}" if count > 1 else "") for name, count in visits.items())
    raise InputError(f"--at {at}: the run has not been there; it has been at: {been}")


def create_fork(
    parent: RunFolder, root: Path, flow: Flow, at: Step, plan: Plan, record: Mapping[str, Any]
) -> RunFolder:
    """The folder of a fork: journal, checkpoints and repository of the parent, and a record of its own.

    Of the journal's effects only those before the fork count as the fork's; the others are there to be reused.
    """
    told = parent.record()
    ancestry = {"run": parent.id, "node": at.node, "visit": at.visit}
    shared = {
        "inputs": told["inputs"],
        "thread": told["thread"],
        "reruns": told["reruns"],
        "approvals": told["approvals"],
        "parent": ancestry,
        "unprotected": told.get("unprotected", False) or record["unprotected"],
    }

    def fill(folder: Path) -> None:
        journal = Journal(parent.path / "journal.sqlite")
        with closing(journal):
            journal.copy_for_fork(folder / "journal.sqlite", [(step.node, step.visit) for step in plan.reused])
        with closing(sqlite3.connect(parent.path / "checkpoints.sqlite")) as checkpoints:
            checkpoints.execute("VACUUM INTO ?", (str(folder / "checkpoints.sqlite"),))
        if (parent.path / "repo").is_dir():
            shutil.copytree(parent.path / "repo", folder / "repo", symlinks=True)

    return create_run(root, flow, {**record, **shared}, fill)
