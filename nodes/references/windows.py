"""Cuts a text into pieces of at most 768 tokens that share 128 with the one before (CodeTeam, 3.3.3).

Tokens are those of `engine.models.tokens.estimate_tokens`, so that a text is cut alike whatever embeds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.models.tokens import estimate_tokens

TOKENS, OVERLAP = 768, 128


def windows(lines: Sequence[str], head: str = "", *, tokens: int = TOKENS, overlap: int = OVERLAP) -> Iterator[str]:
    """Pieces of whole lines, each under `head`; a line that is longer than the overlap is cut between words."""
    room = tokens - (_cost(head) if head else 0)
    piece: list[str] = []
    fresh = used = 0
    for line in _bounded(lines, overlap - 1):
        cost = _cost(line)
        if piece and used + cost > room:
            yield _joined(head, piece)
            piece = _tail(piece, min(overlap, room - cost))
            used, fresh = sum(map(_cost, piece)), 0
        piece.append(line)
        used += cost
        fresh += 1
    if fresh:
        yield _joined(head, piece)


def _cost(line: str) -> int:
    return estimate_tokens(line + "\n")


def _joined(head: str, piece: Sequence[str]) -> str:
    return "\n".join([*([head] if head else []), *piece])


def _tail(piece: Sequence[str], most: int) -> list[str]:
    """As many of the last lines as fit in `most` tokens."""
    kept: list[str] = []
    for line in reversed(piece):
        most -= _cost(line)
        if most < 0:
            break
        kept.insert(0, line)
    return kept


def _bounded(lines: Sequence[str], most: int) -> Iterator[str]:
    """Lines of at most `most` tokens."""
    for line in lines:
        rest = line
        while _cost(rest) > most:
            bytes_ = rest.encode("utf-8", "surrogatepass")[: most * 4 - 5]
            part = bytes_.decode("utf-8", "ignore")
            end = part.rfind(" ")
            part = part if end <= 0 else part[: end + 1]
            yield part.rstrip()
            rest = rest[len(part) :]
        yield rest
