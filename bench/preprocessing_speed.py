"""How the time of preprocessing grows: `python -m bench.preprocessing_speed [FILE...]`.

For each kind of text the seconds for one size and for ten times as much, and their ratio: about 10 is linear. With
`--large` the seconds for 10 MB too.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from nodes.preprocessing.document import normalize

_SENTENCE = "The tool must read words and count them, then write a report."


KINDS: dict[str, Callable[[int], str]] = {
    "dense text": lambda size: (f"{_SENTENCE}\n" * 8 + "\n") * (size // 500),
    "headings": lambda size: "".join(
        f"## Part {n} of it\n\n{_SENTENCE}\n\n- {_SENTENCE}\n  - b\n\n" for n in range(size // 160)
    ),
    "table rows": lambda size: "| a | b |\n|---|---|\n" + f"| `value` | {_SENTENCE} |\n" * (size // 78),
    "links": lambda size: "".join(f"- [{n}](https://x.org/{n}) {_SENTENCE}\n" for n in range(size // 90)),
    "one line": lambda size: "words " * (size // 6),
    "short lines": lambda size: "short one\n" * (size // 10),
    "deep nesting": lambda size: "".join(f"{'  ' * (n % 200)}- an item\n" for n in range(size // 210)),
    "blanks": lambda size: "\n" * size,
    "trailing blanks": lambda size: ("x" + " " * 1000 + "\n") * (size // 1000),
    "brackets": lambda size: "[" * size,
    "images": lambda size: "![" * (size // 2),
    "tags": lambda size: "<a href='" * (size // 9),
    "comments": lambda size: "x <!--" * (size // 6),
    "code spans": lambda size: "` `` " * (size // 5),
    "dropped sections": lambda size: "# License\nx\n" * (size // 12),
    "references": lambda size: "".join(f"[a{n}]: b\n\n[a{n}] x\n\n" for n in range(size // 20)),
    "reStructuredText": lambda size: f"Part\n====\n\n{_SENTENCE}\n\n.. note:: x\n\n" * (size // 95),
}


def seconds(text: str) -> float:
    """Processor seconds of one run."""
    start = time.process_time()
    normalize(text, "x.rst" if text.startswith("Part\n") else "")
    return time.process_time() - start


def main(files: list[Path], *, large: bool) -> None:
    """Print one line per kind of text; files are repeated up to 10 MB."""
    for name, make in KINDS.items():
        small, ten = seconds(make(100_000)), seconds(make(1_000_000))
        line = f"{name:18} 0.1 MB {small:6.2f} s   1 MB {ten:6.2f} s   ratio {ten / max(small, 0.001):5.1f}"
        print(line + (f"   10 MB {seconds(make(10_000_000)):6.2f} s" if large else ""), flush=True)
    for file in files:
        text = file.read_text(encoding="utf-8")
        print(f"{file.name:18} 10 MB {seconds(text * (10_000_000 // len(text.encode()) + 1)):6.2f} s")


if __name__ == "__main__":
    main([Path(one) for one in sys.argv[1:] if one != "--large"], large="--large" in sys.argv)
