"""Prompt templates: files with named slots, turned into messages.

A template is a text file. A comment at its top documents its slots; lines `=== system ===` and `=== user ===` begin
the messages; `${slot}` is where a value goes. Values are put in once and never looked at again, so braces and dollar
signs in a requirements document or in code stay as they are.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from engine.models.base import Message, Role

_PART = re.compile(r"^=== (system|user|assistant) ===\n", re.MULTILINE)
_SLOT = re.compile(r"\$\{([a-z_]+)\}")


def render(template: Path, **slots: str) -> list[Message]:
    """The messages of a template with its slots filled.

    Raises KeyError naming a slot that is missing or not in the template: both are faults of the calling node.
    """
    parts = _parts(template)
    known = {name for _, text in parts for name in _SLOT.findall(text)}
    if known != slots.keys():
        raise KeyError(f"{template.name}: slots {sorted(known ^ slots.keys())} are missing or unknown")
    return [Message(role, _SLOT.sub(lambda found: slots[found[1]], text).strip() + "\n") for role, text in parts]


@cache
def _parts(template: Path) -> tuple[tuple[Role, str], ...]:
    pieces = _PART.split(template.read_text(encoding="utf-8"))
    return tuple(zip(pieces[1::2], pieces[2::2], strict=True))  # type: ignore[arg-type]
