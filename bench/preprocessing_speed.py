"""How the time of preprocessing grows: `python -m bench.preprocessing_speed [FILE...]`.

For each kind of text the seconds for one size and for ten times as much, and their ratio: about 10 is linear.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from nodes.preprocessing.document import normalize

KINDS: dict[str, Callable[[int], str]] = {
    "prose": lambda size: "The tool must read words.\nIt counts them.\n\n" * (size // 40),
    "sections": lambda size: "".join(f"## Part {n}\n\nIt must work.\n\n- a\n  - b\n\n" for n in range(size // 40)),
    "blanks": lambda size: "\n" * size,
    "trailing blanks": lambda size: ("x" + " " * 1000 + "\n") * (size // 1000),
    "brackets": lambda size: "[" * size,
    "images": lambda size: "![" * (size // 2),
    "tags": lambda size: "<a href='" * (size // 9),
    "comments": lambda size: "x <!--" * (size // 6),
    "code spans": lambda size: "` `` " * (size // 5),
    "dropped sections": lambda size: "# License\nx\n" * (size // 12),
    "references": lambda size: "".join(f"[a{n}]: b\n\n[a{n}] x\n\n" for n in range(size // 20)),
}


def seconds(text: str) -> float:
    """Processor seconds of one run."""
    start = time.process_time()
    normalize(text)
    return time.process_time() - start


def main(files: list[Path]) -> None:
    """Print one line per kind of text; files are repeated up to 10 MB."""
    for name, make in KINDS.items():
        small, large = seconds(make(100_000)), seconds(make(1_000_000))
        print(f"{name:18} 0.1 MB {small:6.2f} s   1 MB {large:6.2f} s   ratio {large / max(small, 0.001):5.1f}")
    for file in files:
        text = file.read_text(encoding="utf-8")
        print(f"{file.name:18} 10 MB {seconds(text * (10_000_000 // len(text.encode()) + 1)):6.2f} s")


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:]])
