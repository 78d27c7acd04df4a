from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import AnswerError, InputError, ModelError, ReplayMiss
from engine.models.base import Answer
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.architect import claim_modules, draft_sketch
from tests.support.fake_context import FakeContext, run_node
from tests.support.planning import make_document, make_sketch, with_file

PARAMS = {"self_check": 1, "hierarchical_over": 40, "preferences": ["small", "layered", "functional", "classes"]}
DOCUMENT = {**make_document(), "text": "# Shop {#shop}\n\nPrices in {cents} and ${dollars}.\n"}
CLAIMS = [
    {"seat": 0, "preference": "small", "modules": ["shop"], "intent": "One module."},
    {"seat": 1, "preference": "layered", "modules": ["store", "till"], "intent": "Two layers."},
]
GOOD = json.dumps(make_sketch())
BAD = json.dumps(with_file("shop/cli.py", owner=9))


def context(*answers: Any, **changes: Any) -> FakeContext:
    return FakeContext(list(answers), params={**PARAMS, **changes.pop("params", {})}, node="architect", **changes)


def claim(seat: int, given: FakeContext) -> dict[str, Any]:
    found: dict[str, Any] = run_node(claim_modules, {"document": DOCUMENT, "seat": seat}, given)["claims"]
    return found


def draft(given: FakeContext, seat: int = 0) -> dict[str, Any]:
    inputs = {"document": DOCUMENT, "claims": CLAIMS, "seat": seat}
    found: dict[str, Any] = run_node(draft_sketch, inputs, given)["candidates"]
    schema = json.loads(schema_file("candidates").read_text(encoding="utf-8"))
    assert schema_faults([found], schema) == []
    return found


def test_a_claim_sees_the_earlier_claims_and_nothing_else() -> None:
    answer = json.dumps({"modules": ["shop", " till  box "], "intent": "Small\nand plain."})
    given = context(answer, upstream={"0": {"claims": CLAIMS[0]}, "1": {"claims": CLAIMS[1]}})
    found = claim(2, given)
    asked = given.requests[0].messages[-1].content
    assert "- architect 1: store, till. Two layers." in asked
    assert "Prices in {cents} and ${dollars}." in asked
    assert (found["seat"], found["modules"], found["intent"]) == (2, ["shop", "till box"], "Small and plain.")
    with pytest.raises(AnswerError):
        claim(0, context("no", "no"))


def test_which_seat_gets_which_preference_is_drawn_from_the_seed() -> None:
    def drawn(seed: int) -> list[str]:
        empty = json.dumps({"modules": [], "intent": ""})
        return [claim(seat, context(empty, seed=seed))["preference"] for seat in range(5)]

    assert sorted(drawn(1)[:4]) == sorted(PARAMS["preferences"])  # type: ignore[call-overload]
    assert drawn(1)[4] == drawn(1)[0]
    assert drawn(1) == drawn(1)
    assert len({tuple(drawn(seed)) for seed in range(8)}) > 3
    with pytest.raises(InputError, match=r"params\.preferences"):
        claim(0, context(params={"preferences": []}))


def test_a_valid_draft_is_submitted_and_sees_claims_but_no_sketch() -> None:
    given = context(GOOD)
    candidate = draft(given, seat=1)
    assert (candidate["seat"], candidate["valid"], candidate["sketch"]) == (1, True, make_sketch())
    assert [one["checks"] for one in candidate["attempts"]] == [[]]
    assert len(candidate["attempts"][0]["digest"]) == 64
    assert candidate["attempts"][0]["input_tokens"] > 100
    asked = given.requests[0].messages[-1].content
    assert "- architect 0: shop. One module." in asked
    assert asked.rstrip().count("architect 1: store, till. Two layers.") == 2
    assert "You are architect 1." in asked
    assert given.requests[0].schema is not None


def test_a_draft_that_fails_is_sent_back_with_the_failed_checks() -> None:
    given = context(BAD, GOOD)
    candidate = draft(given)
    assert candidate["valid"]
    assert [len(one["checks"]) for one in candidate["attempts"]] == [1, 0]
    retry = given.requests[1].messages
    assert [one.role for one in retry] == ["system", "user", "assistant", "user"]
    assert (
        "unknown_owner at files[4].owner: 'shop/cli.py' is owned by 9, who is not in developer_plan"
        in retry[-1].content
    )
    assert given.requests[0].place != given.requests[1].place


def test_tries_are_bounded_and_an_invalid_candidate_is_kept_on_record() -> None:
    given = context("no JSON", BAD, GOOD)
    candidate = draft(given)
    assert (candidate["valid"], len(given.requests)) == (False, 2)
    assert [one["parsed"] for one in candidate["attempts"]] == [False, True]
    assert candidate["sketch"] == json.loads(BAD)
    once = context("no JSON", GOOD, params={"self_check": 0})
    assert (draft(once)["sketch"], len(once.requests)) == (None, 1)


def test_a_model_that_cannot_be_asked_does_not_end_planning() -> None:
    candidate = draft(context(ModelError("the endpoint is down")))
    assert not candidate["valid"]
    assert candidate["attempts"][0]["checks"] == [{"code": "no_answer", "place": "", "message": "the endpoint is down"}]
    with pytest.raises(ReplayMiss):
        draft(context(ReplayMiss("nothing is recorded for this")))


def test_a_draft_that_was_cut_off_says_so() -> None:
    cut = Answer('{"tech_stack": {', "m", finish_reason="length", output_tokens=8192)
    candidate = draft(context(*[cut] * 4, params={"self_check": 0}))
    assert "cut off" in candidate["attempts"][0]["checks"][0]["message"]


def test_claims_and_drafts_of_all_seats_share_the_prompt_up_to_the_rules() -> None:
    empty = json.dumps({"modules": [], "intent": ""})
    claiming = context(empty)
    claim(0, claiming)
    drafting = [context(GOOD), context(GOOD)]
    for seat, given in enumerate(drafting):
        draft(given, seat=seat)
    asked = [given.requests[0].messages for given in (claiming, *drafting)]
    assert len({one[0].content for one in asked}) == 1
    head = (
        f"# Requirements\nHeadings carry markers such as {{#usage}}, which name their sections.\n\n{DOCUMENT['text']}"
    )
    assert all(one[1].content.startswith(head) for one in asked)
    before = [one[1].content.partition("# Your task")[0] for one in asked[1:]]
    assert before[0] == before[1]


def test_the_architects_prompt_is_short_and_its_example_about_something_else() -> None:
    text = (Path(__file__).parents[2] / "nodes" / "prompts" / "architect.md").read_text(encoding="utf-8")
    assert len(text) / 4 < 900
    example = text[text.index('{"tech_stack"') : text.index("...]}")]
    assert json.loads(example.rstrip().rstrip(",") + "]}")["files"][0]["path"].startswith("tidewatch/")
