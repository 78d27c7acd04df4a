from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from engine.errors import ModelError
from nodes.architect import claim_modules, draft_sketch
from tests.support.fake_context import FakeContext
from tests.support.sketches import GOOD, entry

PARAMS = {"architects": 4, "self_check": 1, "preferences": ["small", "layered", "functional", "classes"]}
DOCUMENT = {"text": "# Shop {#shop}\n\nPrices in {cents} and ${dollars}.\n", "sections": []}
CLAIMS = [
    {"seat": 0, "preference": "small", "modules": ["shop"], "intent": "one module"},
    {"seat": 1, "preference": "layered", "modules": ["store", "till"], "intent": "two layers"},
]


def invalid() -> dict[str, Any]:
    sketch = copy.deepcopy(GOOD)
    entry(sketch, "shop/cart.py")["owner"] = 9
    return sketch


def draft(context: FakeContext, seat: int = 0) -> dict[str, Any]:
    inputs = {"document": DOCUMENT, "claims": CLAIMS, "seat": seat}
    found: dict[str, Any] = asyncio.run(draft_sketch(inputs, context.as_context()))["candidates"]
    return found


def test_a_claim_sees_the_earlier_claims_and_gets_a_preference_by_seed() -> None:
    context = FakeContext(
        [json.dumps({"modules": ["shop"], "intent": "x"})], params=PARAMS, upstream={"0": {"claims": CLAIMS[1]}}
    )
    found = asyncio.run(claim_modules({"document": DOCUMENT, "seat": 2}, context.as_context()))["claims"]
    asked = context.requests[0].messages[-1].content
    assert "- store, till: two layers" in asked
    assert "Prices in {cents} and ${dollars}." in asked
    assert found["modules"] == ["shop"]
    assert {claimed_preference(seat) for seat in range(4)} == {"small", "layered", "functional", "classes"}


def claimed_preference(seat: int) -> str:
    context = FakeContext([json.dumps({"modules": [], "intent": ""})], params=PARAMS, seed=7)
    claim = asyncio.run(claim_modules({"document": DOCUMENT, "seat": seat}, context.as_context()))["claims"]
    return str(claim["preference"])


def test_a_valid_draft_is_submitted_and_never_sees_another_sketch() -> None:
    context = FakeContext([json.dumps(GOOD)], params=PARAMS)
    candidate = draft(context, seat=1)
    assert (candidate["seat"], candidate["valid"], candidate["sketch"]) == (1, True, GOOD)
    assert [one["checks"] for one in candidate["attempts"]] == [[]]
    asked = context.requests[0].messages[-1].content
    assert "- store, till: two layers" in asked.partition("# What you claimed")[2].partition("# What the others")[0]
    assert "- shop: one module" in asked.partition("# What the others claimed")[2]


def test_a_draft_that_fails_is_sent_back_with_the_failed_checks() -> None:
    context = FakeContext([json.dumps(invalid()), json.dumps(GOOD)], params=PARAMS)
    candidate = draft(context)
    assert candidate["valid"] is True
    assert [len(one["checks"]) for one in candidate["attempts"]] == [2, 0]
    retry = context.requests[1].messages
    assert [one.role for one in retry] == ["system", "user", "assistant", "user"]
    assert "files[2].owner: 'shop/cart.py' is owned by 9, who is not in developer_plan" in retry[-1].content


def test_tries_are_bounded_and_an_invalid_candidate_is_kept_on_record() -> None:
    context = FakeContext(["no JSON", json.dumps(invalid()), json.dumps(GOOD)], params=PARAMS)
    candidate = draft(context)
    assert (candidate["valid"], len(context.requests)) == (False, 2)
    assert [one["parsed"] for one in candidate["attempts"]] == [False, True]
    assert candidate["sketch"] == invalid()


def test_without_self_check_there_is_one_try() -> None:
    context = FakeContext(["no JSON"], params={**PARAMS, "self_check": 0})
    assert (draft(context)["sketch"], len(context.requests)) == (None, 1)


def test_a_model_that_cannot_be_asked_is_the_seats_failure() -> None:
    with pytest.raises(ModelError):
        draft(FakeContext([ModelError("down")], params=PARAMS))
    candidate = draft(FakeContext([json.dumps(invalid()), ModelError("down")], params=PARAMS))
    assert candidate["valid"] is False
    assert candidate["attempts"][-1]["checks"][0]["code"] == "no_answer"
