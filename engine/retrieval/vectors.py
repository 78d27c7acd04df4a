"""Unit vectors, and the texts that they are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows of length 1; what has no length stays zeros."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    """The cosine of two unit vectors; 0 if one is zeros."""
    return float(np.clip(one @ other, -1.0, 1.0))


def plain(text: str) -> str:
    """A text that can be stored and sent: lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()
