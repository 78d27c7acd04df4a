"""Blocks under headings: depth without gaps, markers that do not move when the text around them does."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from nodes.preprocessing import html
from nodes.preprocessing.blocks import Block
from nodes.preprocessing.inline import Inline, plain

_MARKER = re.compile(r"\{#[^{}\s]{1,300}\}$")
_LONGEST_MARKER = 303
_BARE = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9 ,.()'/&-]*[A-Za-z0-9.()])?)?")  # nothing to take off
_NUMBER = re.compile(r"(?:\d+(?:\.\d+)*[.):、．]?)[\s_-]+(?=\S)")
_ASCII_GAP = re.compile(r"[^a-z0-9_]+")
_ALT = re.compile(r"!\[([^\[\]]{1,200})\]")
_MOST_LAYERS = 5  # of emphasis around links around images in a heading
_LONGEST_SLUG = 48
PREAMBLE = "preamble"


@dataclass
class Section:
    """A heading and the blocks up to the next one.

    level  in the source, 1 to 6; 0 is the text before any heading
    depth  the number of headings it stands under, itself included
    doubt  what the section is if its heading says that it is hardly about the program ("installation")
    bare   whether it is a heading with nothing below it in the source
    """

    heading: str
    level: int
    first: int
    last: int
    blocks: list[Block] = field(default_factory=list)
    depth: int = 0
    marker: str = ""
    doubt: str = ""
    bare: bool = False


def split_sections(blocks: Sequence[Block], inline: Inline, lines: int) -> list[Section]:
    """The sections of a document of `lines` lines, in order. A heading without any text is none."""
    sections = [Section("", 0, 1, lines)]
    for block in blocks:
        heading = heading_text(block.text, inline) if block.kind == "heading" else ""
        if heading:
            sections[-1].last = block.first - 1
            sections.append(Section(heading, block.level, block.first, lines))
        elif block.kind != "heading":
            sections[-1].blocks.append(block)
    set_depths(sections)
    for section, following in zip(sections, [*sections[1:], None], strict=True):
        leaf = following is None or following.depth <= section.depth
        section.bare = leaf and all(one.kind == "comment" for one in section.blocks)
    return sections


def set_depths(sections: Sequence[Section]) -> None:
    """Count for each section how many headings it stands under; skipped levels leave no gap."""
    levels: list[int] = []
    for section in sections:
        while levels and levels[-1] >= section.level:
            levels.pop()
        if section.heading:
            levels.append(section.level)
        section.depth = len(levels)


def heading_text(text: str, inline: Inline) -> str:
    """What a heading says: without markers, links, images (their alternative text if there is nothing else)."""
    if _BARE.fullmatch(text):
        return text
    heading, before = _unmarked(text), ""
    for _ in range(_MOST_LAYERS):
        if heading == before:
            break
        heading, before = _unmarked(plain(inline.clean(heading))), heading
    if not heading and (alternative := _ALT.search(html.inline_to_markdown(text))):
        heading = plain(alternative[1])
    return heading


def _unmarked(text: str) -> str:
    end = len(text.rstrip())
    while found := _MARKER.search(text, max(0, end - _LONGEST_MARKER), end):
        end = found.start()
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def set_markers(sections: Sequence[Section]) -> None:
    """Name each section by its heading and the one above it: `usage/options`.

    The first heading, the title, is part of no other name. Only sections with the very same name get a number.
    """
    path: list[str] = []
    seen: dict[str, int] = {}
    for index, section in enumerate(sections):
        if not section.heading:
            section.marker = PREAMBLE
            continue
        first = index == 0 or (index == 1 and not sections[0].heading)
        path[section.depth - 1 :] = ["" if first else slug(section.heading)]
        marker = "/".join(filter(None, path[-2:])) or slug(section.heading)
        seen[marker] = seen.get(marker, 0) + 1
        section.marker = marker if seen[marker] == 1 else f"{marker}-{seen[marker]}"


def slug(heading: str) -> str:
    """A heading as a name: lower case, words joined by `-`, no leading number, cut at a word after 48 characters."""
    text = heading.lower() if heading.isascii() else unicodedata.normalize("NFKC", heading).casefold()
    text = _NUMBER.sub("", text, count=1) if _NUMBER.match(text) else text
    if heading.isascii():
        kept = _ASCII_GAP.sub(" ", text)
    else:
        kept = "".join(one if one == "_" or unicodedata.category(one)[0] in "LNM" else " " for one in text)
    words: list[str] = []
    for word in kept.split():
        if words and sum(map(len, words)) + len(words) + len(word) > _LONGEST_SLUG:
            break
        words.append(word)
    return "-".join(words)[:_LONGEST_SLUG] or "section"


def ancestors(sections: Sequence[Section]) -> Iterator[list[Section]]:
    """For each section the headings above it, the outermost first."""
    open_: list[Section] = []
    for section in sections:
        while open_ and open_[-1].depth >= section.depth:
            open_.pop()
        yield list(open_)
        open_.append(section)
