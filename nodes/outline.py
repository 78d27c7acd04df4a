"""A requirements document that is larger than the model's window: its outline, and the sections that are asked for."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import ContextTooLong, ModelError
from engine.models.tokens import estimate_tokens
from engine.prompts import render

_PROMPTS = Path(__file__).parent / "prompts"
_RESERVE = 24_000  # tokens for the prompt's own words, the claims, an answer that is sent back, and the next answer
_SIGNATURE = re.compile(r"\s*(?:@[\w.]+|(?:async\s+)?def\s|class\s)|.*\b(?:async\s+)?def\s+\w+\s*\(")
_PATH = re.compile(r"[├└│]|(?:^|[\s`(])[\w.-]+/[\w./-]*\w|(?<![\w-])[\w-]++\.(?:py|toml|cfg|ini|md|txt|ya?ml|json)\b")
_LONGEST = 160
_CHOICE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["markers"],
    "properties": {"markers": {"type": "array", "items": {"type": "string"}}},
}


def budget(ctx: Context) -> int:
    """How many tokens of the model's window the document may take."""
    return ctx.max_input_tokens - min(_RESERVE, ctx.max_input_tokens // 3)


async def tellings(
    document: Mapping[str, Any], ctx: Context, choose: Callable[[str], Awaitable[Sequence[str]]] | None = None
) -> AsyncIterator[str]:
    """The document as a model may read it, each telling shorter than the one before.

    Whole; its outline with the sections in full whose markers `choose` gives for it; its outline; the outline without
    first lines. What surely does not fit is left out. Raises ModelError if nothing fits.
    """
    text, room = str(document["text"]), budget(ctx)
    shortest = estimate_tokens(text)
    fits = shortest <= room
    if fits:
        yield text
        room = shortest // 2  # whoever asks for more found the whole too long, whatever was estimated
    for first_lines in (True, False):
        outlined = outline(document["sections"], first_lines=first_lines)
        size = estimate_tokens(outlined)
        if size > budget(ctx) or size >= shortest:
            continue
        shortest = size
        if choose is not None:
            try:
                full = _in_full(document["sections"], await choose(outlined), room - size)
            except ContextTooLong:
                if first_lines:
                    continue
                raise
            choose = None
            if full:
                yield f"{outlined}\n# In full\n\n{full}\n"
        yield outlined
    if not fits and size > budget(ctx):
        raise ModelError(
            f"the outline of the requirements alone is {size} tokens, over the {budget(ctx)} that the model's window "
            f"of {ctx.max_input_tokens} leaves for it; take another model or raise model.max_input_tokens"
        )


def asked_sections(ctx: Context) -> Callable[[str], Awaitable[Sequence[str]]]:
    """Chooses sections by asking the model which ones it has to read in full."""

    async def choose(outlined: str) -> Sequence[str]:
        asked = await ctx.ask_json(render(_PROMPTS / "sections.md", outline=outlined), _CHOICE, step="sections")
        return list(asked["markers"])

    return choose


def _in_full(sections: Sequence[Mapping[str, Any]], markers: Sequence[str], room: int) -> str:
    """The sections of these markers, as many as there is room for, in tokens."""
    wanted = {one.strip().strip("{}# ") for one in markers}
    full: list[str] = []
    for section in sections:
        cost = estimate_tokens(section["text"]) + 1
        if section["marker"] in wanted and cost <= room:
            full.append(section["text"])
            room -= cost
    return "\n\n".join(full)


def outline(sections: Sequence[Mapping[str, Any]], *, first_lines: bool = True) -> str:
    """All headings with their markers, every signature and path, and the first line of each section."""
    parts = ["(The document is longer than fits here: this is its outline, with all signatures and paths.)"]
    for section in sections:
        head, _, body = section["text"].partition("\n") if section["heading"] else ("", "", section["text"])
        parts.append("\n".join([*([head] if head else []), *_kept(body.split("\n"), first_lines)]))
    return "\n\n".join(filter(None, parts)) + "\n"


def _kept(lines: Iterable[str], first_lines: bool) -> Iterable[str]:
    opened, brackets = not first_lines, 0  # brackets: of a signature that goes on over several lines
    for line in lines:
        if brackets > 0 or _SIGNATURE.match(line):
            brackets += line.count("(") - line.count(")")
            yield line.rstrip()
        elif _PATH.search(line):
            yield line.rstrip()
        elif not opened and line.strip() and not line.startswith(("```", "|")):
            yield line.strip() if len(line.strip()) <= _LONGEST else line.strip()[: _LONGEST - 3] + "..."
        opened = opened or bool(line.strip())
