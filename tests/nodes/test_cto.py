from __future__ import annotations

import json
from typing import Any

import pytest

from engine.errors import ModelError, NodeError, ReplayMiss
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.cto import adopt_sketch, diagnostics
from nodes.cto_scores import CRITERIA, asked_score, computed_score, tie_break
from nodes.requirement_markers import Markers
from nodes.sketch import check_json
from nodes.sketch_measures import Measures, diversity, points, team_points
from tests.support.fake_context import FakeContext, run_node
from tests.support.planning import make_document, make_sketch, with_file

DOCUMENT = make_document()
MARKERS = Markers(DOCUMENT)


def candidate(seat: int, sketch: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    sketch = make_sketch() if sketch is None else sketch
    checks = [one.to_json() for one in check_json(sketch)]
    attempt = {"digest": "", "parsed": True, "checks": checks, "input_tokens": 5, "output_tokens": 7}
    return {
        "seat": seat,
        "preference": f"style {seat}",
        "valid": not checks,
        "sketch": sketch,
        "attempts": [attempt],
        **changes,
    }


def record(seat: int, *given: Any, assumptions: tuple[str, ...] = ()) -> dict[str, Any]:
    criteria = {name: {"points": one, "reason": f"because {one}"} for name, one in zip(CRITERIA, given, strict=True)}
    return {"candidate": seat, **criteria, "undeclared_assumptions": list(assumptions)}


def answer(*records: dict[str, Any]) -> str:
    return json.dumps({"scores": list(records)})


def adopt(given: FakeContext, *candidates: dict[str, Any]) -> dict[str, Any]:
    result = run_node(adopt_sketch, {"document": DOCUMENT, "candidates": list(candidates)}, given)
    schema = json.loads(schema_file("verdict").read_text(encoding="utf-8"))
    assert schema_faults(result["verdict"], schema) == []
    return result


INVALID = with_file("shop/cli.py", owner=9)


def test_the_best_score_wins_and_its_sketch_becomes_the_contract() -> None:
    given = FakeContext([answer(record(0, 2, 2, 1, 1), record(3, 2, 2, 2, 1))])
    taxed = with_file("shop/tax.py", public_api=["def tax(x: int) -> int"], depends_on=["shop/items.py"])
    result = adopt(given, candidate(0), candidate(1, INVALID), candidate(3, taxed))
    verdict = result["verdict"]
    assert (verdict["winner"], verdict["ranking"]) == (3, [3, 0])
    assert verdict["why"] == "seat 3 (style 3; 7 files, 2 developers) with 7 of 8 points, before seat 0 with 6"
    assert [(one["seat"], one["total"]) for one in verdict["scores"]] == [(0, 6), (3, 7)]
    assert verdict["rejected"] == [{"seat": 1, "why": "'shop/cli.py' is owned by 9, who is not in developer_plan"}]
    assert "shop/tax.py" in result["contract"]["repo_tree"]
    assert "## Candidate 3 (style 3)" in given.requests[0].messages[-1].content
    assert "Candidate 1" not in given.requests[0].messages[-1].content
    assert verdict["fallback"] is None


def test_a_single_valid_candidate_is_scored_too() -> None:
    given = FakeContext([answer(record(2, 1, 1, 2, 2))])
    verdict = adopt(given, candidate(2))["verdict"]
    assert len(given.requests) == 1
    assert verdict["scores"][0]["asked"] == {
        "structural_validity": 1,
        "interface_consistency": 1,
        "implementability": 2,
        "team_fitness": 2,
    }
    assert verdict["why"] == "seat 2 (style 2; 6 files, 2 developers) with 8 of 8 points"


def test_computed_criteria_stand_against_what_the_model_says_and_both_are_kept() -> None:
    sketch = with_file("shop/cli.py", public_api=["def main(argv)", "def a(x)", "def b(x)"])
    score = asked_score(computed_score(candidate(0, sketch), MARKERS), record(0, 0, 2, 1, 2))
    assert score.points == {
        "structural_validity": 2,
        "interface_consistency": 0,
        "implementability": 1,
        "team_fitness": 2,
    }
    assert score.asked is not None
    assert (score.asked["structural_validity"], score.asked["interface_consistency"]) == (0, 2)
    assert score.reasons["interface_consistency"].startswith("shop/cli.py: main is not fully typed")
    assert "because 2" in score.reasons["interface_consistency"]


def test_ties_go_to_fewer_assumptions_then_lower_fan_out_then_the_earlier_seat() -> None:
    wide = with_file("shop/__init__.py", depends_on=["shop/items.py", "shop/cli.py"])

    def order(*pairs: tuple[dict[str, Any], tuple[str, ...]]) -> tuple[list[int], str | None]:
        scores = [
            asked_score(computed_score(one, MARKERS), record(one["seat"], 2, 2, 2, 2, assumptions=found))
            for one, found in pairs
        ]
        ranked = sorted(scores, key=lambda score: score.rank)
        return [one.seat for one in ranked], tie_break(ranked)

    assert order((candidate(0), ("a database",)), (candidate(1, wide), ())) == (
        [1, 0],
        "fewer undeclared assumptions (0 against 1)",
    )
    assert order((candidate(0, wide), ()), (candidate(1), ())) == ([1, 0], "lower dependency fan-out (0.333 against 1)")
    assert order((candidate(1), ()), (candidate(0), ())) == ([0, 1], "the earlier seat, all else being equal")


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ("candidate 1 is best", "there is no JSON"),
        (answer(record(0, 2, 2, 2, 2)), "candidate 1 has no records"),
        (answer(record(0, 2, 2, 2, 2), record(1, 2, 2, 9, 2)), "9 is not one of"),
        (answer(record(0, 2, 2, 2, 2), record(1, 2, 2, 2, 2), record(7, 2, 2, 2, 2)), "there is no candidate 7"),
        (answer(record(0, 2, 2, 2, 2), record(0, 2, 2, 2, 2), record(1, 2, 2, 2, 2)), "candidate 0 has 2 records"),
        ('{"winner": 0}', "'scores' is a required property"),
    ],
)
def test_unusable_scores_are_asked_for_again_once_then_the_computed_order_stands_and_says_so(
    bad: str, fault: str
) -> None:
    untyped = with_file("shop/cli.py", public_api=["def main(argv)", "def other(x) -> int"])
    given = FakeContext([bad, bad])
    verdict = adopt(given, candidate(0, untyped), candidate(1))["verdict"]
    assert len(given.requests) == 2
    assert fault in given.requests[1].messages[-1].content
    assert (verdict["winner"], verdict["ranking"]) == (1, [1, 0])
    assert fault in verdict["fallback"]
    assert "computed scores, since the CTO's scores could not be used, twice" in verdict["why"]
    assert all(one["asked"] is None for one in verdict["scores"])
    mended = FakeContext([bad, answer(record(0, 2, 2, 2, 2), record(1, 2, 2, 0, 0))])
    verdict = adopt(mended, candidate(0, untyped), candidate(1))["verdict"]
    assert (verdict["winner"], verdict["fallback"]) == (0, None)


def test_a_cto_that_cannot_be_asked_leaves_the_computed_order() -> None:
    verdict = adopt(FakeContext([ModelError("down")]), candidate(0))["verdict"]
    assert verdict["fallback"] == "the CTO could not be asked: down"
    small = FakeContext([], max_input_tokens=100)
    assert "over the 100 of the model" in adopt(small, candidate(0))["verdict"]["fallback"]
    assert small.requests == []
    with pytest.raises(ReplayMiss):
        adopt(FakeContext([ReplayMiss("nothing is recorded for this")]), candidate(0))


def test_none_valid_says_why_for_each() -> None:
    with pytest.raises(NodeError) as caught:
        adopt(FakeContext(), candidate(0, INVALID), candidate(2, make_sketch(repo_tree=[])))
    assert "seat 0: 'shop/cli.py' is owned by 9, who is not in developer_plan" in str(caught.value)
    assert "seat 2: 'pyproject.toml' is not in repo_tree" in str(caught.value)
    with pytest.raises(NodeError, match="no architect submitted a sketch"):
        adopt(FakeContext())


def test_a_winner_that_cannot_be_normalised_gives_way_to_the_next() -> None:
    torn = with_file("shop/__init__.py", public_api=["class main"], depends_on=["shop/cli.py"])
    given = FakeContext([answer(record(0, 2, 2, 2, 2), record(1, 2, 2, 1, 1))])
    result = adopt(given, candidate(0, torn), candidate(1))
    assert result["verdict"]["winner"] == 1
    assert result["verdict"]["ranking"] == [0, 1]
    assert result["verdict"]["rejected"][0]["seat"] == 0
    assert "makes no contract" in result["verdict"]["rejected"][0]["why"]
    with pytest.raises(NodeError, match="makes no contract"):
        adopt(FakeContext([answer(record(0, 2, 2, 2, 2))]), candidate(0, torn))


def test_what_is_measured_of_a_sketch() -> None:
    loose = with_file(
        "shop/tax.py", with_file("shop/money/notes.py", public_api=["def f(x: Item, y: Money) -> Path"]), public_api=[]
    )
    loose = with_file("tests/test_tax.py", loose)
    loose["tech_stack"]["framework"] = "flask"
    found = Measures(loose)
    assert found.structure_faults == (
        "shop/money/notes.py has nothing to do with any other file",
        "shop/tax.py exports nothing",
        "shop/tax.py has nothing to do with any other file",
        "tests/test_tax.py tests no file",
        "shop/money/ has no __init__.py",
    )
    assert found.interface_faults == ("shop/money/notes.py: f uses Item of shop/items.py without depending on it",)
    assert found.assumptions == (
        "Money, a type of shop/money/notes.py, is declared nowhere",
        "the framework flask is no dependency",
    )
    good = Measures(make_sketch())
    assert (good.structure_faults, good.interface_faults, good.assumptions, good.fan_out) == ((), (), (), 0.333)


def test_points_of_computed_criteria() -> None:
    assert [points([], 4), points(["a"], 4), points(["a", "b"], 4), points(["a"], 0)] == [2, 1, 0, 0]
    assert [team_points(6, 2), team_points(8, 1), team_points(12, 1), team_points(4, 4), team_points(40, 2)] == [
        2,
        2,
        1,
        0,
        0,
    ]


def test_cover_of_the_requirements_counts_what_stands_above_a_section() -> None:
    headings = [("shop", "Shop", 1), ("items", "Items", 2), ("items/prices", "Prices", 3), ("command", "Command", 2)]
    document = {"sections": [{"marker": one, "heading": two, "level": three} for one, two, three in headings]}
    markers = Markers(document)
    assert markers.uncovered(["{#items}"]) == ["command"]
    assert markers.uncovered(["items/prices", "Command"]) == ["items"]
    assert markers.uncovered([]) == ["items", "items/prices", "command"]
    assert (markers.resolve("the Prices"), markers.resolve("Prices"), markers.sections) == (None, "items/prices", 3)


def test_diagnostics_and_diversity() -> None:
    lost: dict[str, Any] = {
        "seat": 2,
        "preference": "",
        "valid": False,
        "sketch": None,
        "attempts": [
            {
                "digest": "",
                "parsed": False,
                "input_tokens": 1,
                "output_tokens": 2,
                "checks": [{"code": "not_json", "place": "", "message": "x"}],
            }
        ],
    }
    shapeless = candidate(4, {"files": 3})
    found = diagnostics([candidate(0), candidate(1, INVALID), lost, shapeless])
    assert found == {
        "candidates": 4,
        "parse_rate": 0.75,
        "validity_rate": 0.25,
        "failed_checks": {"not_json": 1, "schema": 1, "unknown_owner": 1},
        "validity_by_check": {"not_json": 0.75, "schema": 0.75, "unknown_owner": 0.75},
        "path_diversity": 0.0,
        "api_diversity": 0.0,
        "input_tokens": 16,
        "output_tokens": 23,
    }
    for sketch in ({"files": [1] * 100_000}, {"files": 3}, []):
        shapeless["sketch"] = sketch
        shapeless["attempts"][-1]["checks"] = [{"code": "no_answer", "place": "", "message": "x"}]
        assert diagnostics([candidate(0), shapeless])["path_diversity"] is None
    assert diversity([{"a", "b"}, {"b", "c"}, {"a", "b"}]) == round((2 / 3 + 0 + 2 / 3) / 3, 4)
    assert diversity([{"a"}]) is None
