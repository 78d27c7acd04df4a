"""One repository as a reference: the chunk that was found, and as much of its other ones as fits."""

from __future__ import annotations

from collections.abc import Sequence

from engine.models.tokens import estimate_tokens
from engine.retrieval.base import Chunk

_SUPPLEMENT = ("tree", "roles", "manifest", "interfaces")  # what shows most of a design first


def compact_text(found: Chunk, chunks: Sequence[Chunk], tokens: int) -> str:
    """A text of at most `tokens` about the repository of `found`, whose chunks are `chunks`.

    A README is found most often, and says what a project does; the design is in the others. So it gets a third, another
    found chunk a half, and the rest is for those that were not found.
    """
    text = _cut(found.text, tokens // 3 if found.kind == "readme" else tokens // 2)
    others = [one for kind in _SUPPLEMENT for one in chunks if one.kind == kind and one.part != found.part]
    for one in others:
        head, _, rest = one.text.partition("\n")
        left = tokens - estimate_tokens(text) - 2
        part = _cut(f"{head.rpartition(' | ')[2]}:\n{rest}", min(left, tokens // 3))
        if "\n" in part:
            text += f"\n\n{part}"
    return text


def _cut(text: str, tokens: int) -> str:
    """As many of a text's lines as fit."""
    lines: list[str] = []
    for line in text.split("\n"):
        tokens -= estimate_tokens(line + "\n")
        if tokens < 0:
            break
        lines.append(line)
    return "\n".join(lines)
