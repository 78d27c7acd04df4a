"""How near preprocessing comes to hand-cleaned documents, and how its time grows with the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, Skipped
from bench.preprocessing_speed import KINDS, seconds
from bench.preprocessing_twins import compare, is_translation


def measure(twins: Path | None) -> Iterator[Figure | Skipped]:
    """`twins` is a folder with one folder per document that holds `original.md` and `cleaned.md`."""
    what = "preprocessing: cleaned documents"
    if twins is None:
        yield Skipped(what, "there is no folder of them; give one: make bench TWINS=FOLDER")
    elif not any(twins.glob("*/cleaned.md")):
        yield Skipped(what, "the folder holds no */cleaned.md")
    else:
        counts = dict(compare(twins))
        total = sum(counts.values(), Counter[str]())
        translated = {name: one for name, one in counts.items() if is_translation(twins / name)}
        same = total - sum(translated.values(), Counter[str]())
        detail = f"{same['common'] / same['wanted']:.3f} and {same['common'] / same['kept']:.3f} without"
        detail += f" {len(translated)} translated documents; {total['common']:,} lines in common"
        yield Figure("preprocessing: recall of cleaned lines", total["common"] / total["wanted"], "", detail=detail)
        yield Figure("preprocessing: precision of kept lines", total["common"] / total["kept"], "", detail=detail)
    growth = {name: _least(make(1_000_000)) / max(_least(make(100_000)), 0.001) for name, make in KINDS.items()}
    worst = max(growth, key=lambda name: growth[name])
    yield Figure("preprocessing: time of ten times the text", growth[worst], "x", detail=f"the worst: {worst}")


def _least(text: str) -> float:
    return min(seconds(text) for _ in range(2))
