"""Durations and sizes as people write them in a flow file."""

from __future__ import annotations

import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?(B|[kKMGT]i?B)")
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def seconds(value: str | int | float) -> float:
    """Seconds of a number or of text such as "500ms", "30s", "1h30m". Raises ValueError."""
    if isinstance(value, int | float):
        return float(value)
    parts = _DURATION.findall(value)
    if not parts or "".join(number + unit for number, unit in parts) != value:
        raise ValueError(f"expected a duration such as 30s, 5m or 1h30m, not '{value}'")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def size(value: str | int) -> int:
    """Bytes of a number or of text such as "512MB" or "64KiB"; units are powers of 1024. Raises ValueError."""
    if isinstance(value, int):
        return value
    found = _SIZE.fullmatch(value)
    if not found:
        raise ValueError(f"expected a size such as 512MB or 64KiB, not '{value}'")
    prefix = found[2].rstrip("B").rstrip("i").upper()
    return int(float(found[1]) * 1024 ** _POWERS[prefix])
