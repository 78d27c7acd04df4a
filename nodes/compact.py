"""Compact contexts: a request stays below a bound, and what matters least is cut first (CodeTeam, 3.2.5)."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ContextTooLong
from engine.models.base import Answer, Message
from engine.models.tokens import estimate_messages
from engine.prompts import render

Slots = Mapping[str, str]
Cut = tuple[str, Callable[[str], str]]  # a slot, and how its text gets shorter

_CUT_MARK = "\n(cut)"


@dataclass(frozen=True)
class Prompt:
    """A template with its slots, and what is cut, in this order, when the whole is over the bound."""

    template: Path
    slots: Slots
    cuts: Sequence[Cut]

    def within(self, limit: int) -> list[Message]:
        """The messages, cut to at most `limit` estimated tokens. Raises ContextTooLong when nothing is left to cut."""
        slots = dict(self.slots)
        messages = render(self.template, **slots)
        for slot, cut in self.cuts:
            if estimate_messages(messages) <= limit:
                break
            slots[slot] = cut(slots[slot])
            messages = render(self.template, **slots)
        if (needed := estimate_messages(messages)) > limit:
            raise ContextTooLong(
                f"the request is about {needed} tokens with all cut that may be, over {limit}; "
                "raise params.context.max_tokens or take a model with a larger window",
                limit=limit,
            )
        return messages


async def ask_within(
    prompt: Prompt, limit: int, ask: Callable[[Sequence[Message]], Awaitable[Answer]]
) -> tuple[Answer, list[Message]]:
    """Ask within a bound; where the model reads still less, again with less. Returns the answer and what was asked.

    Raises ContextTooLong when nothing is left to cut.
    """
    while True:
        messages = prompt.within(limit)
        try:
            return await ask(messages), messages
        except ContextTooLong as error:
            named = error.limit if error.limit is not None else limit
            limit = min(named, estimate_messages(messages) * 3 // 4)


def shortened(share: float, between: str = r"\n\n") -> Callable[[str], str]:
    """Each block of a text cut to a share of its lines, and marked so. `between` is a pattern of what parts blocks."""

    def cut(text: str) -> str:
        return "\n\n".join(_head(block, share) for block in re.split(between, text))

    return cut


def dropped(text: str) -> str:
    """Nothing but a mark that something was there."""
    return "(left out)" if text else ""


def _head(block: str, share: float) -> str:
    lines = block.removesuffix(_CUT_MARK).split("\n")
    kept = lines[: max(2, int(len(lines) * share))]
    return block if len(kept) == len(lines) else "\n".join(kept) + _CUT_MARK
