from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.flow.units import seconds, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [("30s", 30), ("2h", 7200), ("1h30m", 5400), ("500ms", 0.5), ("1.5m", 90), ("1d", 86400), (90, 90), (0.25, 0.25)],
)
def test_seconds(text: str | float, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("512MB", 2**29),
        ("512MiB", 2**29),
        ("64KB", 65536),
        ("64kB", 65536),
        ("1 GB", 2**30),
        ("7B", 7),
        (7, 7),
        ("1.5KB", 1536),
    ],
)
def test_size(text: str | int, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "5", "5 minutes", "s", "m5", "5s!", "-5s"])
def test_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration such as"):
        seconds(text)


@pytest.mark.parametrize("text", ["", "5", "plenty", "MB", "-5MB", "5MBB", "5 5MB"])
def test_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size such as"):
        size(text)


@given(st.integers(0, 50), st.integers(0, 59), st.integers(0, 59))
def test_parts_of_a_duration_add_up(hours: int, minutes: int, rest: int) -> None:
    assert seconds(f"{hours}h{minutes}m{rest}s") == 3600 * hours + 60 * minutes + rest
