"""A model that reads less than it was said to: every planning node says less, in its own order, and goes on."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import pytest

from engine.errors import ContextTooLong
from engine.models.base import Request
from nodes.architect import claim_modules, draft_sketch
from nodes.cto import adopt_sketch
from nodes.cto_scores import CRITERIA
from nodes.preprocessing.document import normalize
from tests.nodes.test_hierarchy import Architect
from tests.support.fake_context import FakeContext, run_node
from tests.support.planning import make_sketch

TEXT = "# Shop\n\nThe program must sell things.\n" + "".join(
    f"\n## Part {number}\n\nIt must hold {number} things{', and more of them' * 6}.\n\n"
    f"{'Words that say more of it. ' * 40}\n\n"
    f"```python\ndef make_{number}(value: int) -> Box: ...\n```\n"
    for number in range(40)
)
DOCUMENT = normalize(TEXT)
PARAMS = {"self_check": 1, "hierarchical_over": 40, "preferences": ["small"]}
CLAIM = json.dumps({"modules": ["shop"], "intent": "Small."})
GOOD = json.dumps(make_sketch())


class Reader:
    """Answers what `says` says, and reads no more than `most` characters of the conversation."""

    def __init__(self, most: int, *says: str) -> None:
        self.most, self.says = most, list(says)

    def __call__(self, request: Request) -> Any:
        if sum(len(one.content) for one in request.messages) > self.most:
            return ContextTooLong("too long for this model", limit=self.most // 4)
        return json.dumps({"markers": ["part-3"]}) if ":sections" in request.place else self.says.pop(0)


@pytest.fixture
def references(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    module = ModuleType("nodes.references.prompt")
    module.references_text = lambda given: given["text"]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nodes.references", ModuleType("nodes.references"))
    monkeypatch.setitem(sys.modules, "nodes.references.prompt", module)
    return {"text": "# Designs of others\n" + "A project with modules.\n" * 200}


def drafted(reader: Any, document: dict[str, Any] = DOCUMENT, **more: Any) -> tuple[dict[str, Any], list[str]]:
    context = FakeContext(reader, params=PARAMS, node="architect")
    inputs = {"document": document, "claims": [], "seat": 0, **more}
    found: dict[str, Any] = run_node(draft_sketch, inputs, context)["candidates"]
    return found, [one.messages[1].content for one in context.requests]


def test_architects_read_the_design_references_and_claims_do_not(references: dict[str, Any]) -> None:
    _, (asked,) = drafted(Reader(10**6, GOOD), references=references)
    assert "\n\n# Designs of others\nA project" in asked
    assert asked.index("# Designs of others") < asked.index("# Claims")
    _, (without,) = drafted(Reader(10**6, GOOD))
    _, (empty,) = drafted(Reader(10**6, GOOD), references={"text": ""})
    assert without == empty == asked.replace(f"\n{references['text'].strip()}\n", "")
    large = normalize(f"# Shop\n\nIt must sell.\n\n{' '.join(f'`shop/file_{n}.py`' for n in range(50))}\n")
    _, asked_in_parts = drafted(Architect(), large, references=references)
    assert ["# Designs of others" in one for one in asked_in_parts] == [True] + [False] * 7
    context = FakeContext([CLAIM], params=PARAMS)
    run_node(claim_modules, {"document": DOCUMENT, "seat": 0, "references": references}, context)
    assert "# Designs of others" not in context.requests[0].messages[1].content


def test_an_architect_says_less_until_it_is_read_references_first(references: dict[str, Any]) -> None:
    whole = len(DOCUMENT["text"])
    _, asked = drafted(Reader(whole + 6000, GOOD), references=references)
    assert ["# Designs of others" in one for one in asked] == [True, False]
    assert all(DOCUMENT["text"] in one for one in asked)
    candidate, asked = drafted(Reader(whole // 2, GOOD), references=references)
    assert candidate["valid"]
    assert DOCUMENT["text"] not in asked[-1]
    assert "# In full" in asked[-1]
    assert asked[-1].count("Words that say more of it.") == 40
    assert all(f"def make_{number}(value: int) -> Box" in asked[-1] for number in range(40))
    candidate, asked = drafted(Reader(9000, GOOD))
    assert candidate["valid"]
    assert "It must hold 7 things" not in asked[-1]
    assert "def make_7(value: int) -> Box" in asked[-1]
    assert sorted(map(len, asked), reverse=True)[0] == len(asked[0])


def test_what_was_too_long_once_is_not_tried_again_when_a_draft_is_sent_back() -> None:
    _, asked = drafted(Reader(20_000, "no JSON", GOOD))
    assert sum(DOCUMENT["text"] in one for one in asked) == 1


def test_when_nothing_is_left_to_cut_the_candidate_says_so() -> None:
    candidate, asked = drafted(Reader(1000, GOOD))
    assert not candidate["valid"]
    assert candidate["attempts"][-1]["checks"] == [
        {"code": "no_answer", "place": "", "message": "too long for this model"}
    ]
    assert len(asked) <= 4


def test_a_claim_says_less_too() -> None:
    context = FakeContext(Reader(12_000, CLAIM), params=PARAMS)
    assert run_node(claim_modules, {"document": DOCUMENT, "seat": 0}, context)["claims"]["modules"] == ["shop"]
    assert len(context.requests) > 1
    assert [kind for kind, _ in context.events] == ["note"] * (len(context.requests) - 1)
    with pytest.raises(ContextTooLong):
        run_node(claim_modules, {"document": DOCUMENT, "seat": 0}, FakeContext(Reader(10), params=PARAMS))


def test_packages_of_a_large_project_say_less_too() -> None:
    tree = " ".join(f"`shop/file_{n}.py`" for n in range(50))
    large = normalize(f"{TEXT}\n## Files\n\n{tree}\n")
    architect = Architect()

    def script(request: Request) -> Any:
        if sum(len(one.content) for one in request.messages) > 25_000:
            return ContextTooLong("too long for this model")
        return json.dumps({"markers": []}) if ":sections" in request.place else architect(request)

    candidate, asked = drafted(script, large)
    assert candidate["valid"]
    assert sum(large["text"] in one for one in asked) == 8
    assert all("`shop/file_49.py`" in one for one in asked)


def record(seat: int) -> dict[str, Any]:
    return {
        "candidate": seat,
        **{name: {"points": 2, "reason": "r"} for name in CRITERIA},
        "undeclared_assumptions": [],
    }


def test_the_cto_reads_the_outline_then_candidates_without_purposes() -> None:
    sketch = make_sketch()
    for file in sketch["files"]:
        file["purpose"] = "A purpose that goes on. " * 100
    attempt = {"digest": "", "parsed": True, "checks": [], "input_tokens": 0, "output_tokens": 0}
    candidates = [
        {"seat": seat, "preference": "p", "valid": True, "sketch": sketch, "attempts": [attempt]} for seat in (0, 1)
    ]

    def verdict(most: int) -> tuple[dict[str, Any], list[str]]:
        context = FakeContext(Reader(most, json.dumps({"scores": [record(0), record(1)]})), params=PARAMS)
        result = run_node(adopt_sketch, {"document": DOCUMENT, "candidates": candidates}, context)
        return result["verdict"], [one.messages[1].content for one in context.requests]

    found, asked = verdict(10**6)
    assert (found["fallback"], len(asked)) == (None, 1)
    found, asked = verdict(45_000)
    assert (found["fallback"], len(asked)) == (None, 2)
    assert DOCUMENT["text"] not in asked[1]
    assert "A purpose that goes on." in asked[1]
    found, asked = verdict(15_000)
    assert (found["fallback"], len(asked)) == (None, 3)
    assert "A purpose that goes on." not in asked[2]
    assert "def Inventory.add(self, item: Item) -> None" in asked[2]
    found, asked = verdict(100)
    assert found["fallback"] == "the CTO could not be asked: too long for this model"
    assert len(asked) == 3
