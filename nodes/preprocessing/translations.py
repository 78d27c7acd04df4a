"""A document that says everything twice, in two languages of different script: the second telling is dropped.

Only what names nothing new goes: a passage with a code span, an option, an address or a version number that the main
language does not have stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nodes.preprocessing.blocks import Block, Item
from nodes.preprocessing.sections import Section

_OTHER = re.compile(r"[\u0370-\u052f\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_CODE = re.compile(r"`[^`\n]{1,300}`|https?://[^\s)>\]]{1,500}")
_SPAN = re.compile(r"`([^`\n]{1,300})`")
_FACT = re.compile(
    r"(?<![\w-])--?[A-Za-z][\w-]*|https?://[\w./?=&%#~+-]{1,500}|\d+\.\d+(?:\.\d+)*|\w+(?:[_.]\w+)+", re.ASCII
)
_ASIDE = re.compile(r"\s*[（(]([^()（）]{1,200})[)）]")
_COMMENT = re.compile(r"\s*(?:#|//|--|;)\s*\S")
_FEWEST = 3


class Translations:
    """Knows a document's main script, if it has a second one beside it."""

    def __init__(self, sections: Sequence[Section]) -> None:
        texts = [text for section in sections for block in section.blocks for text in _prose(block)]
        scripts = [_script(text) for text in texts]
        other, latin = scripts.count("other"), scripts.count("latin")
        self.bilingual = min(other, latin) >= _FEWEST and min(other, latin) * 8 >= other + latin
        self.second = "other" if latin >= other else "latin"
        self._facts = _facts("\n".join(self._main(sections))) if self.bilingual else set()

    def _main(self, sections: Sequence[Section]) -> Iterable[str]:
        blocks = [block for section in sections for block in section.blocks]
        texts = (text for block in blocks for text in (block.lines if block.kind == "code" else _prose(block)))
        return (text for text in texts if _script(text) != self.second)

    def heading(self, text: str) -> str:
        """A heading without its translation in brackets."""
        if not self.bilingual:
            return text
        return _ASIDE.sub(lambda found: "" if _script(found[1]) == self.second else found[0], text).strip() or text

    def without(self, block: Block) -> Block | None:
        """What is left of a block; None if all of it was said in the main language."""
        if not self.bilingual:
            return block
        match block.kind:
            case "code":
                return self._without_comments(block)
            case "list":
                items = tuple(self._items(block.items))
                return replace(block, items=items) if items else None
            case "paragraph" | "quote":
                return None if self._repeats(block.text) else block
        return block

    def _items(self, items: Iterable[Item]) -> Iterable[Item]:
        for item in items:
            blocks = tuple(one for one in map(self.without, item.blocks) if one is not None)
            if blocks:
                yield replace(item, blocks=blocks)

    def _repeats(self, text: str) -> bool:
        return _script(text) == self.second and self._facts >= _facts(text)

    def _without_comments(self, block: Block) -> Block:
        kept: list[str] = []
        for before, line in zip(("", *block.lines), block.lines, strict=False):
            comments = _COMMENT.match(before) and _COMMENT.match(line)
            if not (comments and self._repeats(line) and _script(before) not in (self.second, None)):
                kept.append(line)
        return replace(block, lines=tuple(kept))


def _facts(text: str) -> set[str]:
    """What a passage names: code spans, options, addresses, version numbers, identifiers."""
    spans = (span for span in _SPAN.findall(text) if not _OTHER.search(span))
    return {*spans, *(fact.rstrip(".") for fact in _FACT.findall(text))}


def _prose(block: Block) -> Iterable[str]:
    if block.kind in ("paragraph", "quote"):
        yield block.text
    for item in block.items:
        for inner in item.blocks:
            yield from _prose(inner)


def _script(text: str) -> str | None:
    """What the words of a text are written in, "latin" or "other"; None without words. A name makes no sentence."""
    if text.isascii() or not _OTHER.search(text):
        return "latin" if _LATIN.search(text) else None
    bare = _CODE.sub("", text)
    other, latin = len(_OTHER.findall(bare)), len(_LATIN.findall(bare))
    return "other" if other * 4 >= latin else "latin"
