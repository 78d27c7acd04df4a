"""An answer that was cut off and its continuation become one, without loss and without repetition."""

from __future__ import annotations

import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engine.models.joining import join, overlap

WHOLE = (
    "```python\nimport math\n\n\ndef area(radius: float) -> float:\n    return math.pi * radius**2\n\n\n"
    "def volume(radius: float, height: float) -> float:\n    base = area(radius)\n    return base * height\n```\n"
)


@pytest.mark.parametrize("cut", range(20, len(WHOLE) - 4))
def test_going_on_exactly(cut: int) -> None:
    assert join(WHOLE[:cut], WHOLE[cut:]) == WHOLE


@pytest.mark.parametrize("cut", range(60, len(WHOLE) - 4))
@pytest.mark.parametrize("again", [24, 40, 60])
def test_repeating_the_end(cut: int, again: int) -> None:
    assert join(WHOLE[:cut], WHOLE[cut - again :]) == WHOLE


def test_repeating_the_unfinished_line() -> None:
    cut = WHOLE.index("base * height")
    start = WHOLE.rindex("\n", 0, cut) + 1
    assert join(WHOLE[:cut], WHOLE[start:]) == WHOLE


@pytest.mark.parametrize("before", ["```python\n", "Continuing where I stopped:\n\n```python\n", "```\n"])
def test_opening_the_fence_again(before: str) -> None:
    cut = WHOLE.index("    base =")
    assert join(WHOLE[:cut], before + WHOLE[cut:]) == WHOLE
    assert join(WHOLE[:cut], before + WHOLE[cut - 40 :]) == WHOLE


def test_a_fence_of_the_text_itself_is_kept() -> None:
    readme = "# Tool\n\nInstall:\n\n```bash\npip install tool\n```\n\nUse it.\n"
    cut = readme.index("```bash")
    assert join(readme[:cut], readme[cut:]) == readme


def test_beginning_all_over() -> None:
    assert join(WHOLE[:230], WHOLE) == WHOLE
    assert join(WHOLE[:230], WHOLE[:210] + "other()\n```\n") == WHOLE[:210] + "other()\n```\n"


@pytest.mark.parametrize("cut", [136, 150, 340, 350, 512])
def test_equal_lines_are_no_repetition(cut: int) -> None:
    rows = '    {"kind": "row", "height": 10},\n' * 20
    assert join(rows[:cut], rows[cut:]) == rows


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="`~"), max_size=200)


@given(words, words)
def test_what_has_nothing_in_common_is_put_together(text: str, more: str) -> None:
    assume(overlap(text, more) == 0)
    assert join(text, more) == text + more


@given(words, words, st.permutations(string.ascii_letters), st.integers(24, 52))
def test_a_repeated_end_is_said_once(head: str, more: str, letters: list[str], again: int) -> None:
    text = head + "".join(letters)
    assert join(text, text[-again:] + more) == text + more
