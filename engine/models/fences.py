"""Fenced blocks in a model's answer, which nests them more freely than Markdown allows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LINE = re.compile(r"^( {0,3})(`{3,}|~{3,})[ \t]*([^\n]*?)[ \t]*$")


@dataclass(frozen=True)
class Fence:
    """A line that opens or closes a block: its number from 0, its indentation, the marks, and what follows them."""

    line: int
    indent: int
    marks: str
    info: str

    @property
    def tag(self) -> str:
        """The language that an opening fence names, in lower case, or empty."""
        return re.split(r"[\s:{}=,]", self.info.lower().lstrip("{."), maxsplit=1)[0]

    def closes(self, opening: Fence) -> bool:
        """Whether this line can end the block that `opening` begins."""
        return not self.info and self.marks.startswith(opening.marks)


@dataclass(frozen=True)
class Block:
    """A fenced block; `end` is the number of its closing line, or the number of lines if it is never closed."""

    opening: Fence
    end: int

    def content(self, lines: Sequence[str]) -> str:
        """What is inside, without the opening fence's own indentation."""
        return "\n".join(_dedented(line, self.opening.indent) for line in lines[self.opening.line + 1 : self.end])


def find_fences(lines: Sequence[str]) -> list[Fence]:
    """All fence lines."""
    found = (_fence(number, line) for number, line in enumerate(lines))
    return [one for one in found if one is not None]


def outermost_blocks(fences: Sequence[Fence], lines: int) -> list[Block]:
    """The outermost blocks in order. A tagged fence inside a block opens a nested one, which is closed first."""
    blocks: list[Block] = []
    stack: list[Fence] = []
    for fence in fences:
        if stack and fence.closes(stack[-1]):
            opening = stack.pop()
            if not stack:
                blocks.append(Block(opening, fence.line))
        elif not stack or (fence.info and fence.marks.startswith(stack[-1].marks)):
            stack.append(fence)
    if stack:
        blocks.append(Block(stack[0], _last_closing(fences, stack[0], lines)))
    return blocks


def possible_ends(block: Block, fences: Sequence[Fence], lines: int) -> list[int]:
    """Where a block could end: at its closing fence, or at any other that could be it, or nowhere."""
    others = [one.line for one in fences if one.line > block.opening.line and one.closes(block.opening)]
    return list(dict.fromkeys([block.end, *others, lines]))


def _last_closing(fences: Sequence[Fence], opening: Fence, lines: int) -> int:
    """The end of a block whose nested ones do not add up."""
    return next((one.line for one in reversed(fences) if one.line > opening.line and one.closes(opening)), lines)


def _fence(number: int, line: str) -> Fence | None:
    found = _LINE.match(line)
    if found is None or ("`" in found[3] and found[2][0] == "`"):
        return None
    return Fence(number, len(found[1]), found[2], found[3])


def _dedented(line: str, indent: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(indent, spaces) :]
