"""The order of hits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.retrieval.base import Chunk, Hit
from engine.retrieval.ranking import distinct, fused, ranked


def hit(repository: str, part: int = 0, score: float = 0.5) -> Hit:
    return Hit(Chunk(repository, "", "", "readme", part, ""), score, 0.25)


hits = st.lists(
    st.builds(hit, st.sampled_from("abcde"), st.integers(0, 3), st.sampled_from([0.1, 0.2, 0.9])),
    unique_by=lambda one: one.chunk,
)


def test_equal_hits_come_by_repository_and_part() -> None:
    given_hits = [hit("b", 1), hit("a", 2), hit("b", 0), hit("a", 0, score=0.6)]
    assert ranked(given_hits) == [hit("a", 0, score=0.6), hit("a", 2), hit("b", 0), hit("b", 1)]


def test_a_hit_of_both_rankings_is_above_the_first_of_one() -> None:
    found = fused([[hit("a"), hit("b")], [hit("c"), hit("b")]])
    assert [one.chunk.repository for one in found] == ["b", "a", "c"]
    assert found[0].score == 2 / 62
    assert found[1].score == found[2].score == 1 / 61


@given(hits, hits)
def test_fusion_keeps_every_hit_once_and_does_not_mind_which_ranking_is_first(one: list[Hit], other: list[Hit]) -> None:
    found = fused([one, other])
    assert {hit.chunk for hit in found} == {hit.chunk for hit in one} | {hit.chunk for hit in other}
    assert len(found) == len({hit.chunk for hit in found})
    assert found == fused([other, one]) == ranked(found)


@given(hits)
def test_the_first_of_each_repository_is_kept(given_hits: list[Hit]) -> None:
    found = distinct(given_hits)
    assert len({one.chunk.repository for one in found}) == len(found)
    for one in given_hits:
        assert any(kept.chunk.repository == one.chunk.repository for kept in found)
    assert found == [one for one in given_hits if one in found]
