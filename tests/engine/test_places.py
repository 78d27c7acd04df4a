from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.places import Place, read_place

NAMES = st.from_regex(r"[a-z][a-z_0-9]{0,8}", fullmatch=True)


@given(NAMES, st.integers(1, 99), st.none() | st.text(), NAMES | st.just(""), st.integers(0, 3))
def test_a_place_reads_back(node: str, visit: int, item: str | None, step: str, rerun: int) -> None:
    place = Place(node, visit, item, step, rerun)
    assert read_place(str(place)) == place


def test_how_a_place_looks() -> None:
    assert str(Place("develop", 2, "src/core.py", "complete")) == "develop/src/core.py#2:complete"
    assert str(Place("cto", 1, rerun=1)) == "cto#1~1"
    assert read_place("develop#10").visit == 10
