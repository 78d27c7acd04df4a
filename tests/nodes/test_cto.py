from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from engine.errors import NodeError
from nodes.cto import adopt_sketch
from nodes.scoring import diversity, fan_out, ranked, score, tie_break
from tests.support.fake_context import FakeContext
from tests.support.sketches import GOOD, entry

DOCUMENT = {"text": "# Shop", "sections": [{"marker": "tax", "heading": "Tax", "level": 1, "text": "# Tax"}]}


def candidate(seat: int, *, valid: bool = True, first_try: bool = True, **changes: Any) -> dict[str, Any]:
    failed = [{"code": "unknown_owner", "place": "files[2].owner", "message": "owned by 9"}]
    tries = [[]] if valid and first_try else [failed, []] if valid else [failed]
    attempts = [{"digest": "", "parsed": True, "checks": one, "input_tokens": 5, "output_tokens": 7} for one in tries]
    sketch = {**copy.deepcopy(GOOD), **changes}
    return {"seat": seat, "preference": "", "valid": valid, "sketch": sketch, "attempts": attempts}


def judgement(structure: int, interface: int, implementable: int, team: int, assumptions: tuple[str, ...] = ()) -> Any:
    names = ("structural_validity", "interface_consistency", "implementability", "team_fitness")
    points = dict(zip(names, (structure, interface, implementable, team), strict=True))
    return {**points, "reasons": dict.fromkeys(names, "because"), "assumptions": list(assumptions)}


def adopt(context: FakeContext, *candidates: dict[str, Any]) -> dict[str, Any]:
    inputs = {"document": DOCUMENT, "candidates": list(candidates)}
    result: dict[str, Any] = asyncio.run(adopt_sketch(inputs, context.as_context()))
    return result


def scores(**by_seat: Any) -> str:
    return json.dumps({"scores": {seat.removeprefix("s"): one for seat, one in by_seat.items()}})


def test_the_best_score_wins_and_its_sketch_becomes_the_contract() -> None:
    context = FakeContext([scores(s0=judgement(2, 2, 1, 1), s3=judgement(2, 2, 2, 1))])
    result = adopt(context, candidate(0), candidate(1, valid=False), candidate(3))
    verdict = result["verdict"]
    assert verdict["winner"] == 3
    assert verdict["ranking"] == [3, 0]
    assert verdict["why"].startswith("candidate 3 with 7 of 8 points")
    assert verdict["rejected"] == [{"seat": 1, "why": "files[2].owner: owned by 9"}]
    assert [one["path"] for one in result["contract"]["files"]] == GOOD["repo_tree"]
    assert verdict["diagnostics"]["parse_rate"] == 1.0
    assert verdict["diagnostics"]["validity_rate"] == 0.6667
    assert verdict["diagnostics"]["failed_checks"] == {"unknown_owner": 1}


def test_computed_criteria_stand_against_what_the_model_says() -> None:
    untyped = copy.deepcopy(GOOD["files"])
    entry({"files": untyped}, "shop/price.py")["public_api"] = ["def with_tax(cents)"]
    found = score(candidate(0, first_try=False, files=untyped), judgement(0, 0, 2, 2))
    assert found["points"] == {
        "structural_validity": 1,
        "interface_consistency": 1,
        "implementability": 2,
        "team_fitness": 2,
    }
    assert found["asked"]["structural_validity"] == 0


def test_ties_go_to_fewer_assumptions_then_lower_fan_out() -> None:
    first, second = candidate(0), candidate(1)
    entry(second["sketch"], "shop/price.py")["depends_on"] = ["shop/__init__.py"]
    by_assumptions = ranked([score(first, judgement(2, 2, 2, 2, ("a",))), score(second, judgement(2, 2, 2, 2))])
    assert [one["seat"] for one in by_assumptions] == [1, 0]
    assert tie_break(by_assumptions) == "fewer undeclared assumptions (0 against 1)"
    by_fan_out = ranked([score(second, judgement(2, 2, 2, 2)), score(first, judgement(2, 2, 2, 2))])
    assert [one["seat"] for one in by_fan_out] == [0, 1]
    assert tie_break(by_fan_out) == "lower fan-out between modules (0.33 against 0.67)"


@pytest.mark.parametrize(
    "bad",
    [
        "candidate 7 is best",
        scores(s0=judgement(2, 2, 2, 2)),
        scores(s0=judgement(2, 2, 2, 2), s1=judgement(2, 2, 9, 2)),
        scores(s0=judgement(2, 2, 2, 2), s7=judgement(2, 2, 2, 2)),
    ],
)
def test_an_unusable_answer_is_asked_again_once_then_the_computed_order_stands_and_says_so(bad: str) -> None:
    context = FakeContext([bad, bad])
    verdict = adopt(context, candidate(0, first_try=False), candidate(1))["verdict"]
    assert len(context.requests) == 2
    assert verdict["winner"] == 1
    assert verdict["fallback"] is not None
    assert "computed order" in verdict["why"]
    good = FakeContext([bad, scores(s0=judgement(2, 2, 2, 2), s1=judgement(2, 2, 0, 0))])
    verdict = adopt(good, candidate(0), candidate(1))["verdict"]
    assert (verdict["winner"], verdict["fallback"]) == (0, None)


def test_none_valid_says_why_for_each() -> None:
    with pytest.raises(NodeError) as caught:
        adopt(FakeContext(), candidate(0, valid=False), candidate(2, valid=False))
    assert "candidate 0: files[2].owner: owned by 9" in str(caught.value)
    assert "candidate 2:" in str(caught.value)


def test_a_winner_that_cannot_be_normalised_gives_way_to_the_next() -> None:
    broken = candidate(0, repo_tree=[*GOOD["repo_tree"], "./README.md/"])
    context = FakeContext([scores(s0=judgement(2, 2, 2, 2), s1=judgement(2, 2, 1, 1))])
    broken["sketch"]["files"][1]["owner"] = 9
    verdict = adopt(context, broken, candidate(1))["verdict"]
    assert verdict["winner"] == 1
    assert verdict["rejected"][0]["seat"] == 0


def test_diversity_is_the_mean_jaccard_distance() -> None:
    assert diversity([{"a", "b"}, {"b", "c"}, {"a", "b"}]) == round((2 / 3 + 0 + 2 / 3) / 3, 4)
    assert diversity([{"a"}]) is None
    assert fan_out(GOOD) == round(1 / 3, 4)
