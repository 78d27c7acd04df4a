"""What the requests of one run have in common stands at their beginning, where an endpoint's cache can hold it."""

from __future__ import annotations

import os.path
from collections.abc import Iterator

import pytest

from engine.models.base import Message, Request
from engine.models.recording import read_recording
from engine.places import read_place
from tests.support.command import ROOT

RECORDED = {
    arm: [one.request for one in read_recording(ROOT / "examples" / "cronwhen" / f"{arm}.jsonl").entries]
    for arm in ("codeteam", "codeteam-no-rag")
}


def requests(node: str, step: str = "", arm: str = "codeteam") -> Iterator[Request]:
    for one in RECORDED[arm]:
        place = read_place(one.place)
        if place.node == node and place.step.startswith(step):
            yield one


def text(messages: tuple[Message, ...]) -> str:
    return "".join(f"<{one.role}>{one.content}" for one in messages)


def shared(asked: list[Request]) -> str:
    assert len(asked) > 1
    return os.path.commonprefix([text(one.messages) for one in asked])  # noqa: RUF071 - of characters


def test_developers_share_rules_stack_and_tree() -> None:
    first = [one for one in requests("develop") if "You write one file" in one.messages[0].content]
    assert len(first) > 5
    prefix = shared(first)
    assert prefix.startswith("<system>") and "# Stack" in prefix
    assert prefix.endswith("# Your file: ")
    tree = prefix.partition("# The repository's tree")[2]
    assert all(read_place(one.place).item in tree for one in first)
    lengths = sorted(len(text(one.messages)) for one in first)
    assert len(prefix) > 0.2 * lengths[len(lengths) // 2]


@pytest.mark.parametrize(("node", "step", "least"), [("claim", "", 0.8), ("architect", "draft 1", 0.9)])
def test_architects_share_almost_all(node: str, step: str, least: float) -> None:
    asked = list(requests(node, step))
    assert len(shared(asked)) > least * min(len(text(one.messages)) for one in asked)


def test_a_second_question_begins_with_the_whole_first_one() -> None:
    [again] = requests("architect", "draft 2", "codeteam-no-rag")
    asked = requests("architect", "draft 1", "codeteam-no-rag")
    first = next(one for one in asked if one.place.split(":")[0] == again.place.split(":")[0])
    assert text(again.messages).startswith(text(first.messages))
