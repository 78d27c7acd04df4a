"""Markdown as a flat sequence of blocks with their source lines; nested lists come out flattened, with their depth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal

from nodes.preprocessing import html
from nodes.preprocessing.escaping import escape_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Kind = Literal["heading", "paragraph", "code", "list", "quote", "comment"]

_MOST_NESTING = 100  # what markdown-it opens inside one another; deeper text is not parsed
_LIST_MARKER = re.compile(r"(?:[-+*]|\d{1,9}[.)])(?:[ \t]+|$)")
_TAG_LINE = re.compile(r"^([ \t]*)<(?=[A-Za-z][\w-]*[\s>/]|[/!?])", re.MULTILINE)


@dataclass(frozen=True)
class Item:
    """One item of a flattened list: its depth from 1, its marker ("-" or "3."), and what it holds (no lists)."""

    depth: int
    marker: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Block:
    """A piece of a document.

    first, last  its lines in the source, counted from 1, both included
    lines        its text without the indentation of what it stands in; of a comment and a list nothing
    level        of a heading, 1 to 6
    info         the info string of a code block
    """

    kind: Kind
    first: int
    last: int
    lines: tuple[str, ...] = ()
    level: int = 0
    info: str = ""
    items: tuple[Item, ...] = ()

    @cached_property
    def text(self) -> str:
        """Its lines as one string; of a list the text of all items."""
        if self.kind == "list":
            return "\n".join(block.text for item in self.items for block in item.blocks)
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Reference:
    """The definition of a reference link: where it points, and its source lines."""

    target: str
    first: int
    last: int


@dataclass(frozen=True)
class Parsed:
    """Blocks in source order, and link definitions by their normalised label."""

    blocks: list[Block]
    references: Mapping[str, Reference]


def parse_markdown(text: str) -> Parsed:
    """The blocks of a Markdown text whose lines end in `\\n`. Linear in its length."""
    environment: dict[str, Any] = {}
    tokens = _parser().parse(text, environment)
    source = text.split("\n")
    references = _references(environment)
    blocks = list(_Reader(source, tokens, references).blocks(0, len(tokens), 1))
    return Parsed(blocks, references)


@cache
def _parser() -> MarkdownIt:
    from nodes.preprocessing.plain_text import Parser

    return Parser(_MOST_NESTING)


class _Reader:
    def __init__(self, source: Sequence[str], tokens: Sequence[Token], references: dict[str, Reference]) -> None:
        self._source, self._tokens, self._references = source, tokens, references
        self._closing = _closings(tokens)

    def blocks(self, start: int, end: int, depth: int) -> Iterator[Block]:
        """The blocks of tokens[start:end]; lists in them are at `depth`."""
        index = start
        while index < end:
            token = self._tokens[index]
            after = self._closing.get(index, index) + 1
            yield from self._block(token, index, after, depth)
            index = after

    def _block(self, token: Token, index: int, after: int, depth: int) -> Iterator[Block]:
        first, last = self._range(token)
        match token.type:
            case "plain_text":
                yield Block("paragraph", first, last, tuple(map(str.strip, token.content.split("\n"))))
            case "plain_list":
                yield Block("list", first, last, items=tuple(_plain_items(token.content, first, depth)))
            case "plain_heading":
                title = token.content.lstrip("#")
                yield _heading(title, len(token.content) - len(title), first, last, depth)
            case "heading_open":
                yield _heading(self._tokens[index + 1].content, int(token.tag[1]), first, last, depth)
            case "paragraph_open":
                lines = self._tokens[index + 1].content.split("\n")
                opening = lines[0].strip()
                if self._source[first - 1].lstrip(" \t")[:1].isspace():  # a wide blank, which is no indentation
                    opening = escape_line(opening, first=True)
                yield Block(
                    "paragraph", first, last, (opening, *(_continuation(line, depth > 1) for line in lines[1:]))
                )
            case "fence" | "code_block":
                content = token.content.removesuffix("\n")
                yield Block("code", first, last, tuple(content.split("\n")), info=" ".join(token.info.split()))
            case "bullet_list_open" | "ordered_list_open":
                items = tuple(self._items(index, after, depth))
                yield Block("list", first, last, items=items)
            case "blockquote_open":
                opening, *more = self._source[first - 1 : last]
                opening = opening[opening.index(">") :].strip()
                yield Block("quote", first, last, (opening, *map(_quoted, more)))
            case "html_block":
                yield from self._from_html(token.content, first, last, depth)

    def _items(self, start: int, end: int, depth: int) -> Iterator[Item]:
        index = start + 1
        while index < end - 1:
            token, after = self._tokens[index], self._closing[index] + 1
            marker = f"{token.info}{token.markup}" if token.info else "-"
            yield from self._item(marker, index, after, depth)
            index = after

    def _item(self, marker: str, index: int, after: int, depth: int) -> Iterator[Item]:
        """An item and, flattened behind it, the items below it. What follows a nested list is an item of its own."""
        own: list[Block] = []
        for block in self.blocks(index + 1, after - 1, depth + 1):
            if block.kind != "list":
                own.append(block)
                continue
            if own:
                yield Item(depth, marker, tuple(own))
                own, marker = [], "-"
            yield from block.items
        if own:
            yield Item(depth, marker, tuple(own))
        elif after == index + 2:
            yield from self._unparsed(self._tokens[index], depth)

    def _unparsed(self, token: Token, depth: int) -> Iterator[Item]:
        """The lines of an item that is empty, or so deep that nothing in it was parsed."""
        first, last = self._range(token)
        for number in range(first, last + 1):
            line = self._source[number - 1].strip()
            while found := _LIST_MARKER.match(line):
                line = line[found.end() :]
            if line:
                yield Item(depth, "-", (Block("paragraph", number, number, (line,)),))

    def _from_html(self, content: str, first: int, last: int, depth: int) -> Iterator[Block]:
        """An HTML block as the blocks that its Markdown makes."""
        if html.remove_comments(content) != content:
            yield Block("comment", first, last)
        markdown = html.to_markdown(content)
        markdown = _TAG_LINE.sub(r"\1\\<", markdown)  # a tag that is left is text
        environment: dict[str, Any] = {}
        tokens = _parser().parse(markdown, environment)
        for label, found in _references(environment).items():
            self._references.setdefault(label, replace(found, first=first, last=last))
        reader = _Reader(markdown.split("\n"), tokens, self._references)
        for block in reader.blocks(0, len(tokens), depth):
            yield _moved(block, first, last)

    def _range(self, token: Token) -> tuple[int, int]:
        assert token.map is not None
        first, end = token.map
        while end > first + 1 and not self._source[end - 1].strip():
            end -= 1
        return first + 1, end


def _heading(text: str, level: int, first: int, last: int, depth: int) -> Block:
    """A heading; in a list it is none."""
    text = " ".join(text.split())
    if depth > 1:
        return Block("paragraph", first, last, (escape_line(text, first=True),))
    return Block("heading", first, last, (text,), level=level)


def _plain_items(content: str, first: int, depth: int) -> Iterator[Item]:
    for number, line in enumerate(content.split("\n"), first):
        text = line.lstrip(" ")
        block = Block("paragraph", number, number, (text[2:].strip(),))
        yield Item((len(line) - len(text)) // 2 + depth, "-", (block,))


def _references(environment: Mapping[str, Any]) -> dict[str, Reference]:
    return {
        label: Reference(found["href"], found["map"][0] + 1, found["map"][1])
        for label, found in environment.get("references", {}).items()
    }


def _closings(tokens: Sequence[Token]) -> dict[int, int]:
    """For each opening token the index of its closing one."""
    closings, open_ = {}, []
    for index, token in enumerate(tokens):
        if token.nesting == 1:
            open_.append(index)
        elif token.nesting == -1:
            closings[open_.pop()] = index
    return closings


def _continuation(line: str, in_list: bool) -> str:
    """A further line of a paragraph; where its indentation made it one, it may look like the start of another block."""
    text = line.strip()
    moved = line[:4].isspace() or "\t" in line[:4] or not text.strip("=") or (in_list and not text.startswith("<"))
    return escape_line(text) if moved else text


def _quoted(line: str) -> str:
    """A line of a block quote, its lazy continuation lines marked too."""
    text = line.strip()
    return text if text.startswith(">") or not text else f"> {escape_line(text)}"


def _moved(block: Block, first: int, last: int) -> Block:
    items = tuple(
        replace(item, blocks=tuple(_moved(inner, first, last) for inner in item.blocks)) for item in block.items
    )
    return replace(block, first=first, last=last, items=items)
