"""Each ablation is one change against the full flow: in its file, and in what its recorded run asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from engine.flow import load_flow
from engine.models.recording import read_recording
from engine.places import read_place
from tests.support.command import ROOT

CHANGES = {
    "codeteam-no-rag": {"params.rag.enabled": False},
    "codeteam-no-alloc": {"params.allocation.mode": "round_robin"},
    "codeteam-no-git": {"params.git.enabled": False},
}
_REFERENCES = re.compile(r"# Design references\n.*?(?=# Claims)", re.DOTALL)
_BRIEFS = re.compile(r"# Briefs of the files it depends on\n.*?(?=\nWrite |\n# )", re.DOTALL)


@cache
def asked(arm: str) -> Mapping[str, str]:
    """What an arm's recorded run asked, by place."""
    entries = read_recording(ROOT / "examples" / "cronwhen" / f"{arm}.jsonl").entries
    return {one.request.place: "\n".join(message.content for message in one.request.messages) for one in entries}


def same_places(arm: str, node: str, step: str = "") -> Iterator[tuple[str, str, str]]:
    """Place, question of the full flow and of the arm, where both asked something at one place."""
    for place, text in asked("codeteam").items():
        found = read_place(place)
        if found.node == node and found.step.startswith(step) and place in asked(arm):
            yield place, text, asked(arm)[place]


def differences(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in {**one, **other}:
            yield from differences(one.get(name), other.get(name), f"{path}.{name}" if path else name)
    elif one != other:
        yield path, other


@pytest.mark.parametrize("arm", CHANGES)
def test_an_arm_s_flow_differs_in_nothing_else(arm: str) -> None:
    full, ablated = (load_flow(str(ROOT / "flows" / f"{name}.yaml")) for name in ("codeteam", arm))
    assert dict(differences({"params": full.params}, {"params": ablated.params})) == CHANGES[arm]
    for part in ("nodes", "model", "models", "budget", "sandbox", "start", "finish"):
        assert _plain(getattr(full, part)) == _plain(getattr(ablated, part)), part


def _plain(value: Any) -> str:
    """A part of a flow without the places in files that its pieces know."""
    return re.sub(r"Place\([^)]*\)", "", repr(value))


def test_without_retrieval_architects_are_asked_the_same_without_references() -> None:
    pairs = list(same_places("codeteam-no-rag", "architect", "draft 1"))
    assert len(pairs) == 4
    for place, full, ablated in pairs:
        assert "# Design references" in full
        assert _REFERENCES.sub("", full) == ablated, place
    for place, full, ablated in same_places("codeteam-no-rag", "claim"):
        assert full == ablated, place


@pytest.mark.parametrize("arm", ["codeteam-no-alloc", "codeteam-no-git"])
def test_the_other_arms_plan_with_the_same_questions(arm: str) -> None:
    for node, count in (("claim", 4), ("architect", 4), ("cto", 1)):
        pairs = list(same_places(arm, node))
        assert len(pairs) >= count
        assert all(full == ablated for _, full, ablated in pairs)


def test_a_fixed_allocation_asks_developers_and_qa_the_same() -> None:
    pairs = [pair for pair in same_places("codeteam-no-alloc", "develop") if "What QA found" not in pair[1]]
    assert len(pairs) > 10
    assert [place for place, full, ablated in pairs if full != ablated] == []


def test_without_git_coordination_only_the_briefs_differ() -> None:
    asked_for = (":briefs", "What QA found")  # what follows from answers, which are each arm's own
    pairs = [
        pair for pair in same_places("codeteam-no-git", "develop") if not any(one in "".join(pair[:2]) for one in asked_for)
    ]
    assert len(pairs) > 10
    for place, full, ablated in pairs:
        assert _BRIEFS.sub("", full) == _BRIEFS.sub("", ablated), place
    assert any(full != ablated for _, full, ablated in pairs)
    assert not any("latest update" in ablated for _, _, ablated in pairs)
