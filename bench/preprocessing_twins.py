"""How near preprocessing comes to hand-cleaned documents: `python -m bench.preprocessing_twins FOLDER`.

FOLDER holds one folder per document with `original.md` and `cleaned.md`. Recall is the share of the cleaned lines that
were kept, precision the share of the kept lines that are in the cleaned document; markup and blanks do not count.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nodes.preprocessing.document import normalize

_MARKER = re.compile(r"\{#[^{}\s]+\}\s*$")
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_LINK = re.compile(r"\[([^\[\]]*)\](?:\([^()\s]*(?:\([^()]*\)[^()\s]*)*\)|\[[^\[\]]*\])?")
_TAG = re.compile(r"</?(?:br|span|kbd|details|summary|p|b|h1|pre|a|img)\b[^<>]*>")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LEAD = re.compile(r"^[\s>#*+→-]*(?:\d+(?:\.\d+)*[.)]\s+)?[\s>#*+→-]*")


def lines(text: str) -> Counter[str]:
    """The lines of a document without their markup, each with how often it is there."""
    found: Counter[str] = Counter()
    for line in text.split("\n"):
        bare = _LEAD.sub("", _LINK.sub(r"\1", _IMAGE.sub("", _TAG.sub("", _MARKER.sub("", line)))))
        bare = " ".join(re.sub(r"[*_`\\]", "", bare).split()).rstrip(":").casefold()
        if re.search(r"\w", bare) and not line.lstrip().startswith(("```", "~~~")):
            found[bare] += 1
    return found


def is_translation(document: Path) -> bool:
    """Whether a cleaned document tells the original in another script: then no line can be the same."""
    shares = []
    for name in ("original.md", "cleaned.md"):
        text = (document / name).read_text(encoding="utf-8")
        shares.append(len(_CJK.findall(text)) / max(len(text), 1))
    return (shares[0] > 0.2) != (shares[1] > 0.2)


def compare(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    """Each document, with how many lines were wanted, were kept, and are in both."""
    for cleaned in sorted(folder.glob("*/cleaned.md")):
        wanted, kept = _pair(cleaned.parent)
        count = {"wanted": wanted.total(), "kept": kept.total(), "common": (wanted & kept).total()}
        yield cleaned.parent.name, Counter(count)


def _pair(document: Path) -> tuple[Counter[str], Counter[str]]:
    wanted = lines((document / "cleaned.md").read_text(encoding="utf-8"))
    return wanted, lines(normalize((document / "original.md").read_text(encoding="utf-8"))["text"])


def main(folder: Path, detail: str | None = None) -> None:
    """Print recall and precision per document and over all of them; of the one named, what differs."""
    total: Counter[str] = Counter()
    same: Counter[str] = Counter()  # without translations
    for name, count in compare(folder):
        total += count
        same += Counter() if is_translation(folder / name) else count
        print(_shares(name, count))
        if detail == name:
            wanted, kept = _pair(folder / name)
            for sign, lost in (("- ", wanted - kept), ("+ ", kept - wanted)):
                print(*(sign + one[:150] for one in lost.elements()), sep="\n")
    print(_shares("all", total))
    print(_shares("no translations", same))


def _shares(name: str, count: Counter[str]) -> str:
    common = count["common"]
    return f"{name:20} recall {common / count['wanted']:.3f}  precision {common / count['kept']:.3f}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
