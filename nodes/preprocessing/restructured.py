"""reStructuredText as the blocks that Markdown makes: docutils reads it, inline markup is written as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from nodes.preprocessing.blocks import Block, Item, Kind, Parsed
from nodes.preprocessing.escaping import escape_line

if TYPE_CHECKING:
    from docutils import nodes

_SETTINGS: dict[str, Any] = {
    "file_insertion_enabled": False,  # the document is not trusted: it includes nothing
    "raw_enabled": False,
    "_disable_config": True,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "syntax_highlight": "none",
    "line_length_limit": 10**9,
    "report_level": 5,
    "halt_level": 6,
    "warning_stream": "",
}
_DIRECTIVE = re.compile(r"^\.\. (?:[\w-]+::|\|[^|\n]+\| \w+::|_[^\n]+:)", re.MULTILINE)
_SPHINX_CODE = re.compile(r"\.\. (?:code-block|sourcecode|code):: *(\S*)\n(?:[ \t]+:[\w-]+:[^\n]*\n)*")
_UNDERLINE = re.compile(r"^(?!\s)[^\n]+\n([=~^\"'*+#-])\1{2,}[ \t]*$", re.MULTILINE)
_MARKDOWN = re.compile(r"^(?:#{1,6} |```|\[!\[)", re.MULTILINE)
_SILENT = ("target", "substitution_definition", "pending", "topic", "transition", "meta", "raw", "decoration", "label")
_TITLED = ("note", "warning", "tip", "hint", "important", "caution", "attention", "danger", "error", "admonition")


def is_restructured(text: str, path: str) -> bool:
    """Whether a document is reStructuredText: its name says so, or it has directives and nothing of Markdown."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if suffix in ("rst", "rest"):
        return True
    if suffix in ("md", "markdown", "mkd"):
        return False
    return bool(_DIRECTIVE.search(text) and _UNDERLINE.search(text)) and not _MARKDOWN.search(text)


def parse_restructured(text: str) -> Parsed:
    """The blocks of a reStructuredText; a block ends before the next one begins."""
    from docutils.core import publish_doctree

    tree = publish_doctree(text, settings_overrides=_SETTINGS)
    found = list(_blocks(tree.children, 0, 1))
    lines = text.count("\n") + 1
    blocks: list[Block] = []
    for index, block in enumerate(found):
        first = min(max(block.first, blocks[-1].first if blocks else 1), lines)
        following = found[index + 1].first - 1 if index + 1 < len(found) else lines
        blocks.append(replace(block, first=first, last=min(max(first, following), lines)))
    return Parsed(blocks, {})


def _blocks(children: Iterable[nodes.Node], level: int, line: int) -> Iterator[Block]:
    for node in children:
        line = node.line or line
        yield from _block(node, level, line)


def _block(node: nodes.Node, level: int, line: int) -> Iterator[Block]:
    match type(node).__name__:
        case "section":
            yield from _blocks(node.children, level + 1, line)
        case "title":
            yield _of("heading", line, [" ".join(_inline(node).split())], level=min(level, 6))
        case "paragraph" | "rubric" | "attribution" | "caption":
            yield from _paragraph(_inline(node), line)
        case "literal_block" | "doctest_block" | "math_block":
            classes = [one for one in _classes(node) if one not in ("code", "code-block")]
            yield _of("code", line, node.astext().strip("\n").split("\n"), info=classes[0] if classes else "")
        case "bullet_list" | "enumerated_list" | "definition_list" | "field_list" | "option_list":
            items = tuple(_items(node, 1, line))
            if items:
                yield replace(_of("list", line, []), items=items)
        case "image":
            yield from _paragraph(_image(node), line)
        case "figure" | "container" | "compound" | "tgroup" | "footnote" | "citation" | "sidebar":
            yield from _blocks(node.children, level, line)
        case "line_block":
            yield from _paragraph("\n".join(_inline(one) for one in node.children), line)
        case "block_quote":
            yield from _quote(_blocks(node.children, level, line), "", line)
        case "table":
            yield _of("paragraph", line, list(_table(node)))
        case "comment":
            yield _of("comment", line, [])
        case "system_message":
            for one in node.children:
                if type(one).__name__ == "literal_block":
                    yield _unknown_directive(one.astext(), line)
        case "reference":
            yield from _paragraph(_reference(node), line)
        case name if name in _TITLED:
            yield from _quote(_blocks(node.children, level, line), name.capitalize(), line)
        case name if name not in _SILENT:
            yield from _paragraph(node.astext(), line)


def _items(node: nodes.Node, depth: int, line: int) -> Iterator[Item]:
    start = int(node.get("start", 1)) if type(node).__name__ == "enumerated_list" else None  # type: ignore[attr-defined]
    for number, child in enumerate(node.children):
        marker = "-" if start is None else f"{start + number}."
        line = child.line or line
        head, body = _head(child)
        own: list[Block] = list(_paragraph(head, line))
        for block in _blocks(body, 1, line):
            if block.kind != "list":
                own.append(_within_item(block))
                continue
            if own:
                yield Item(depth, marker, tuple(own))
                own, marker = [], "-"
            yield from (replace(item, depth=item.depth + depth) for item in block.items)
        if own:
            yield Item(depth, marker, tuple(own))


def _head(item: nodes.Node) -> tuple[str, Sequence[nodes.Node]]:
    """What a definition, a field or an option is called, in one line with its first paragraph, and the rest."""
    kind = type(item).__name__
    if kind not in ("definition_list_item", "field", "option_list_item"):
        return "", item.children
    *names, body = item.children
    name = ", ".join(_inline(one) for one in names)
    if kind == "option_list_item":
        name = f"`{', '.join(_option(one) for one in names[0].children)}`"
    if body.children and type(body.children[0]).__name__ == "paragraph":
        return f"{name}: {_inline(body.children[0])}", body.children[1:]
    return name, body.children


def _option(option: Any) -> str:
    """`--out=FILE` as it was written."""
    return "".join(one.astext() for one in option.children)


def _unknown_directive(text: str, line: int) -> Block:
    """What docutils does not take: code with options of Sphinx as the code, anything else as it stands."""
    if found := _SPHINX_CODE.match(text):
        return _of("code", line, dedent(text[found.end() :]).strip("\n").split("\n"), info=found[1])
    return _of("code", line, text.strip("\n").split("\n"))


def _within_item(block: Block) -> Block:
    return replace(block, kind="paragraph") if block.kind == "heading" else block


def _paragraph(text: str, line: int) -> Iterator[Block]:
    lines = [one.strip() for one in text.split("\n") if one.strip()]
    if lines:
        yield _of("paragraph", line, [escape_line(one, first=index == 0) for index, one in enumerate(lines)])


def _quote(inner: Iterator[Block], title: str, line: int) -> Iterator[Block]:
    lines = [f"**{title}:**"] if title else []
    for block in inner:
        text = block.text.split("\n") if block.kind != "code" else ["```" + block.info, *block.lines, "```"]
        lines += ([""] if lines and not (title and len(lines) == 1) else []) + text
    if lines:
        yield _of("quote", line, [f"> {one}".rstrip() for one in lines])


def _table(node: nodes.Node) -> Iterator[str]:
    from docutils import nodes as kinds

    for index, row in enumerate(node.findall(kinds.row)):
        cells = [" ".join(_inline_of_blocks(entry).split()) for entry in row.children]
        yield "| " + " | ".join(cells) + " |"
        if index == 0:
            yield "|" + "---|" * len(cells)


def _inline_of_blocks(node: nodes.Node) -> str:
    return " ".join(_inline(child) if child.children else child.astext() for child in node.children)


def _inline(node: nodes.Node) -> str:
    """The text of an element with its markup written as Markdown."""
    pieces: list[str] = []
    for child in node.children:
        match type(child).__name__:
            case "literal" | "math":
                pieces.append(f"`{child.astext()}`" if "`" not in child.astext() else f"`` {child.astext()} ``")
            case "strong":
                pieces.append(f"**{_inline(child)}**")
            case "emphasis" | "title_reference":
                pieces.append(f"*{_inline(child)}*")
            case "reference":
                pieces.append(_reference(child))
            case "image":
                pieces.append(_image(child))
            case "Text":
                pieces.append(child.astext())
            case "system_message" | "target":
                pass
            case _:
                pieces.append(_inline(child) if child.children else child.astext())
    return "".join(pieces)


def _reference(node: Any) -> str:
    text, target = _inline(node), node.get("refuri", "")
    return f"[{text}]({target})" if target and target != text and not re.search(r"[()\s]", target) else text


def _image(node: Any) -> str:
    alternative = re.sub(r"[][]", " ", node.get("alt", ""))
    return f"![{' '.join(alternative.split())}]({re.sub(r'[()<> ]', '', node.get('uri', ''))})"


def _classes(node: Any) -> list[str]:
    return list(node.get("classes", []))


def _of(kind: Kind, line: int, lines: list[str], *, level: int = 0, info: str = "") -> Block:
    return Block(kind, line, line, tuple(lines), level=level, info=info)
