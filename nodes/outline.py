"""A requirements document that is larger than the model's window: its outline, and the sections that are asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import ModelError
from engine.models.tokens import estimate_tokens
from engine.prompts import render

_PROMPTS = Path(__file__).parent / "prompts"
_RESERVE = 24_000  # tokens for the prompt's own words, the claims, an answer that is sent back, and the next answer
_SIGNATURE = re.compile(r"\s*(?:@[\w.]+|(?:async\s+)?def\s|class\s)|.*\b(?:async\s+)?def\s+\w+\s*\(")
_PATH = re.compile(r"[├└│]|(?:^|[\s`(])[\w.-]+/[\w./-]*\w|[\w-]+\.(?:py|toml|cfg|ini|md|txt|ya?ml|json)\b")
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


def fitting_text(document: Mapping[str, Any], ctx: Context) -> str:
    """The document if it fits into the window, else its outline. Raises ModelError if not even that fits."""
    text = str(document["text"])
    if estimate_tokens(text) <= budget(ctx):
        return text
    for first_lines in (True, False):
        outlined = outline(document["sections"], first_lines=first_lines)
        if estimate_tokens(outlined) <= budget(ctx):
            return outlined
    raise ModelError(
        f"the outline of the requirements alone is {estimate_tokens(outlined)} tokens, over the {budget(ctx)} that the "
        f"model's window of {ctx.max_input_tokens} leaves for it; take another model or raise model.max_input_tokens"
    )


async def chosen_text(document: Mapping[str, Any], ctx: Context) -> str:
    """The document if it fits, else its outline with the sections that the model asks to read in full."""
    text = fitting_text(document, ctx)
    if text == document["text"]:
        return text
    asked = await ctx.ask_json(render(_PROMPTS / "sections.md", outline=text), _CHOICE, step="sections")
    wanted = {one.strip().strip("{}# ") for one in asked["markers"]}
    left = budget(ctx) - estimate_tokens(text)
    full: list[str] = []
    for section in document["sections"]:
        cost = estimate_tokens(section["text"]) + 1
        if section["marker"] in wanted and cost <= left:
            full.append(section["text"])
            left -= cost
    return f"{text}\n# In full\n\n" + "\n\n".join(full) + "\n" if full else text


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
