"""Turns the requirements document into what every later node reads (CodeTeam, 3.2.1). Rules only, no model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.context import Context
from engine.errors import InputError
from engine.node import node
from nodes.preprocessing.document import normalize


@node(reads=("requirements",), writes=("document",))
async def normalize_requirements(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """The normalised document. Raises InputError for one that is empty or states no requirement."""
    path, text = inputs["requirements"]["path"], inputs["requirements"]["text"]
    if not text.strip():
        raise InputError(f"{path}: the document is empty")
    document = normalize(text, path)
    if not document["states_requirements"]:
        raise InputError(
            f"{path}: the document states no requirement: {_what(document)}. "
            "Say in a sentence or two what the program has to do"
        )
    ctx.event("note", text=f"{len(document['sections'])} sections, {len(document['dropped'])} pieces dropped")
    return {"document": document}


def _what(document: Mapping[str, Any]) -> str:
    if document["text"].strip():
        return "what is left of it is headings and lists of links"
    dropped = sorted({one.get("heading", one["what"]) for one in document["dropped"]})
    return f"nothing is left of it ({', '.join(dropped[:5])} dropped)" if dropped else "nothing is left of it"
