"""Sections as Markdown that reads back as the same sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodes.preprocessing.blocks import Block, Item
from nodes.preprocessing.sections import Section

_ARROW = "→"


def section_text(section: Section) -> str:
    """Heading with its marker, and the blocks, a blank line between any two."""
    heading = [f"{'#' * section.depth} {section.heading} {{#{section.marker}}}"] if section.heading else []
    return "\n\n".join([*heading, *("\n".join(lines) for lines in _merged(section.blocks))])


def _merged(blocks: Sequence[Block]) -> Iterator[list[str]]:
    """The lines of each block; lists that follow one another are one."""
    previous: tuple[Block, list[str]] | None = None
    for block in blocks:
        lines = list(_lines(block))
        if previous is not None and previous[0].kind == block.kind == "list":
            previous[1].extend(lines)
            continue
        if previous is not None:
            yield previous[1]
        previous = block, lines
    if previous is not None:
        yield previous[1]


def _lines(block: Block) -> Iterator[str]:
    match block.kind:
        case "code":
            longest = max((len(line.strip()) - len(line.strip().lstrip("`")) for line in block.lines), default=0)
            fence = "`" * max(3, longest + 1)
            yield fence + " ".join(block.info.replace("`", "").split())
            yield from block.lines
            yield fence
        case "list":
            for item in block.items:
                yield from _item(item)
        case _:
            yield from block.lines


def _item(item: Item) -> Iterator[str]:
    """An item on its line, deeper ones with an arrow per level; what else it holds is indented under it."""
    arrows = _ARROW * (item.depth - 1)
    number = f" {item.marker}" if item.marker[0].isdigit() else ""
    marker = f"- {arrows}{number}" if arrows else item.marker
    indent = "  " if arrows else " " * (len(marker) + 1)
    first, *rest = item.blocks
    head, *more = _lines(first)
    if first.kind == "code" or (arrows and first.kind == "quote"):
        yield marker
        yield from [indent + head] if first.kind == "code" else ["", indent + head]
    else:
        yield f"{marker} {head}"
    yield from ((indent + line).rstrip() for line in more)
    for block in rest:
        if block.kind != "code":
            yield ""
        yield from ((indent + line).rstrip() for line in _lines(block))
