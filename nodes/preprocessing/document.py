"""The whole of preprocessing: text in, the normalised document out (CodeTeam, 3.2.1)."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from nodes.preprocessing import phrases, relevance, rough, writer
from nodes.preprocessing.blocks import Block, Item, Parsed, parse_markdown
from nodes.preprocessing.escaping import escape_line
from nodes.preprocessing.inline import Inline
from nodes.preprocessing.restructured import is_restructured, parse_restructured
from nodes.preprocessing.sections import Section, ancestors, set_depths, set_markers, split_sections
from nodes.preprocessing.translations import Translations

_FRONT_MATTER = re.compile(r"---[ \t]*\n((?:[^\n]*\n){0,200}?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_FRONT_TITLE = re.compile(r"^title:[ \t]*[\"']?([^\"'\n]+)", re.MULTILINE)
_ODD_BLANK = re.compile(r"[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]")  # Python takes them for line ends, Markdown does not
_FETCHING = "installation commands"
_CONTENTS = "table of contents"
_FRONT_KEY = re.compile(r"^[A-Za-z_][\w-]*:", re.MULTILINE)


def normalize(text: str, path: str = "") -> dict[str, Any]:
    """The document that schemas/document.schema.json describes, from Markdown or, as `path` or its look says, from
    reStructuredText. Takes any text at all; linear in its length.
    """
    with _without_collection():
        return _normalize(text, path)


@contextmanager
def _without_collection() -> Iterator[None]:
    """No search for cycles while a large document becomes a million objects, all of which stay until the end."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _normalize(text: str, path: str) -> dict[str, Any]:
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    text = _ODD_BLANK.sub(" ", text).replace("\0", "\ufffd")
    pipeline = _Pipeline()
    if is_restructured(text, path):
        with suppress(RecursionError):  # what is nested so deep that docutils gives up is read as Markdown too
            if not rough.is_too_much(text):
                return pipeline.run(text, parse_restructured(text), "")
        text = rough.to_markdown(text)
    text, title = pipeline.front_matter(text)
    return pipeline.run(text, parse_markdown(text), title)


@dataclass
class _Pipeline:
    dropped: list[dict[str, Any]] = field(default_factory=list)
    title: str = ""

    def run(self, text: str, parsed: Parsed, title: str) -> dict[str, Any]:
        inline = Inline(parsed.references)
        sections = split_sections(parsed.blocks, inline, text.count("\n") + 1)
        title = self.title = next((one.heading for one in sections if one.depth == 1), title)
        translations = Translations(sections)
        for section in sections:
            section.heading = translations.heading(section.heading)
        sections = self._by_heading(sections, title)
        for section in sections:
            section.blocks = self._by_content(section, translations, inline)
        sections = list(self._not_empty(sections))
        self._unused_references(parsed, inline)
        set_markers(sections)
        texts = [writer.section_text(section) for section in sections]
        return {
            "title": title,
            "text": "\n\n".join(filter(None, texts)) + "\n",
            "sections": [
                {"marker": one.marker, "heading": one.heading, "level": one.depth, "text": text}
                for one, text in zip(sections, texts, strict=True)
                if text
            ],
            "dropped": sorted(self.dropped, key=lambda one: one["lines"]),
            "states_requirements": relevance.states_requirements(b for one in sections for b in one.blocks),
        }

    def _drop(self, what: str, reason: str, first: int, last: int, heading: str | None = None) -> None:
        record = {"what": what, "reason": reason, "lines": [first, max(first, last)]}
        self.dropped.append(record if heading is None else {**record, "heading": heading})

    def front_matter(self, text: str) -> tuple[str, str]:
        found = _FRONT_MATTER.match(text)
        if not found or not _FRONT_KEY.search(found[1]):
            return text, ""
        self._drop("front matter", "about the page, not the program", 1, found[0].rstrip("\n").count("\n") + 1)
        title = _FRONT_TITLE.search(found[1])
        return "\n" * found[0].count("\n") + text[found.end() :], title[1].strip() if title else ""

    def _by_heading(self, sections: Sequence[Section], title: str) -> list[Section]:
        """Sections without those whose heading says that they are about something else, and all beneath them."""
        kept: list[Section] = []
        sole = sum(one.depth == 1 for one in sections) == 1
        gone = 0  # the depth of a dropped heading, while what stands under it goes by
        for section, above in zip(sections, ancestors(sections), strict=True):
            if gone and section.depth > gone:
                self.dropped[-1]["lines"][1] = section.last
                continue
            exempt = (sole and section.depth == 1) or any(phrases.functional(one.heading) for one in above)
            kind = None if exempt else _noise(section, title)
            if kind is not None:
                self._drop("section", kind, section.first, section.last, section.heading)
                gone = section.depth
                continue
            gone = 0
            doubt = None if exempt else _doubt(section, title)
            inherited = above[-1].doubt if above and above[-1].doubt != _CONTENTS else ""
            section.doubt = doubt or inherited
            kept.append(section)
        return kept

    def _by_content(self, section: Section, translations: Translations, inline: Inline) -> list[Block]:
        opening, kept, just_before = section.depth < 2, list[Block](), False
        for block in self._without_doubt(section):
            left = translations.without(block)
            if left is None:
                self._drop("translation", "says in a second language what is there already", block.first, block.last)
                continue
            cleaned = self._clean(left, inline)
            if cleaned is None:
                continue
            reason = _irrelevance(cleaned, opening, self.title)
            if reason is None:
                opening, just_before = False, True
                kept.append(cleaned)
                continue
            self._drop(*reason, block.first, block.last)
            if reason[1] == _FETCHING and just_before and relevance.introduces(kept[-1]):
                before = kept.pop()
                self._drop("paragraph", "introduces what was dropped", before.first, before.last)
            just_before = False
        return kept

    def _without_doubt(self, section: Section) -> list[Block]:
        """The blocks of a section; of a doubtful one only those that say something about the program."""
        if section.doubt in ("", _CONTENTS):
            return section.blocks
        said = [(block, relevance.what_it_says(block)) for block in section.blocks]
        kept = [left for _, left in said if left is not None]
        if kept:
            for block, left in said:
                if left is not block:
                    self._drop(block.kind, section.doubt, block.first, block.last)
        return kept

    def _clean(self, block: Block, inline: Inline) -> Block | None:
        """A block without images and layout tags; None if nothing is left. What went is recorded."""
        if block.kind == "comment":
            self._drop("comment", "not shown to a reader", block.first, block.last)
            return None
        if block.kind == "code":
            return block
        images, badges, comments = inline.images, inline.badges, inline.comments
        cleaned = _cleaned(block, inline)
        for what, count in (("image", inline.images - images), ("badge", inline.badges - badges)):
            if count:
                self._drop(what, f"{count} {what}{'s' if count > 1 else ''}", block.first, block.last)
        if inline.comments > comments:
            self._drop("comment", "not shown to a reader", block.first, block.last)
        return cleaned

    def _not_empty(self, sections: Sequence[Section]) -> Iterator[Section]:
        """Sections that still hold something, or a section that does, and headings that never held more."""
        kept: list[Section] = []
        tables = [
            one for one in sections if one.doubt == _CONTENTS and all(block.kind == "list" for block in one.blocks)
        ]
        for section in tables:  # what stands below a table of contents is no part of it
            self._drop("section", _CONTENTS, section.first, section.last, section.heading)
        sections = [one for one in sections if not any(one is table for table in tables)]
        set_depths(sections)
        needed = 0  # the depth below which a heading is needed by a kept one behind it
        for section in reversed(sections):
            parent = section.depth < needed
            if section.blocks or parent or (section.bare and not section.doubt and section.heading):
                kept.append(section)
                needed = section.depth
            elif section.depth == 1 and section is next(one for one in sections if one.heading):
                kept.append(section)
            elif section.heading:
                reason = section.doubt or "nothing is left in it"
                self._drop("section", reason, section.first, section.last, section.heading)
            needed = min(needed, section.depth)
        return reversed(kept)

    def _unused_references(self, parsed: Parsed, inline: Inline) -> None:
        for label, reference in parsed.references.items():
            if label not in inline.used:
                self._drop("link definition", "no kept text uses it", reference.first, reference.last)


def _noise(section: Section, title: str) -> str | None:
    """What a section is if it is undoubtedly not about the program."""
    kind = None if "`" in section.heading else phrases.noise(section.heading, title)
    return None if kind == _CONTENTS else kind


def _doubt(section: Section, title: str) -> str | None:
    return None if "`" in section.heading else phrases.doubtful(section.heading, title)


def _irrelevance(block: Block, opening: bool, title: str) -> tuple[str, str] | None:
    """What a block is, and why nothing is lost with it."""
    if block.kind == "code" and not block.text.strip():
        return "code block", "empty"
    if relevance.is_citation(block):
        return "code block", "citation"
    if opening and relevance.is_banner(block):
        return "code block", "banner"
    if relevance.is_contents(block):
        return "list", "table of contents"
    if relevance.is_navigation(block):
        return "paragraph", "links only"
    if relevance.is_caption(block):
        return "paragraph", "caption of a picture"
    if relevance.is_fetching(block, title):
        return "code block", _FETCHING
    if relevance.is_preparation(block):
        return "paragraph", "installation"
    if relevance.is_credit(block):
        return "paragraph", "credit"
    return ("paragraph", "appeal to readers") if relevance.is_appeal(block) else None


def _cleaned(block: Block, inline: Inline) -> Block | None:
    if block.kind == "list":
        items = tuple(item for item in (_cleaned_item(one, inline) for one in block.items) if item is not None)
        return None if not items else block if items == block.items else replace(block, items=items)
    if block.kind == "code":
        return block
    text = inline.clean(block.text)
    if text == block.text:
        return block if text.strip(" >") else None
    lines = tuple(line.strip() for line in text.split("\n") if line.strip(" >*_\t"))
    if block.kind != "quote":
        lines = tuple(escape_line(line, first=index == 0) for index, line in enumerate(lines))
    return replace(block, lines=lines) if lines else None


def _cleaned_item(item: Item, inline: Inline) -> Item | None:
    blocks = tuple(block for block in (_cleaned(one, inline) for one in item.blocks) if block is not None)
    return None if not blocks else item if blocks == item.blocks else replace(item, blocks=blocks)
