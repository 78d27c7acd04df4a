"""Block rules for markdown-it that see at once what can only be a heading, text, or a plain list.

Most lines of most documents begin with a letter, or with a dash and a letter. Trying every other rule on each of them
first is what takes the time with large documents. What is not as plain as that is left to markdown-it's own rules, and
what is taken here makes the same blocks as there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import heading, lheading, paragraph

if TYPE_CHECKING:
    from markdown_it.rules_block import StateBlock

# How a line begins that no rule but that of paragraphs takes, save that `[` may define a link.
_START = (
    r"(?:[^\s#>+*_=`~<\-\d]|[*_]{1,2}[^\s*_]|[-+]{1,2}[^\s\-+]|`{1,2}[^\s`]|\d{1,9}(?![\d.)])|\d{10})"  # no setext line
)
_ITEM = r"[-+*] +[^\s\-+*]|\#{1,6}[ \t]"  # ends any paragraph
_PARAGRAPH = re.compile(rf"(?:{_START}[^\n]*(?:\n|\Z))*+(?=[ \t]*(?:\n|\Z)|{_ITEM})")
_HEADING = re.compile(r"(#{1,6})[ \t]+([^\s#\\][^\n#\\]*)(?=\n|\Z)")
_FIRST = re.compile(_START)
_NEXT = re.compile(_ITEM)
_SIBLING = re.compile(rf"{_ITEM}|\d{{1,9}}[.)] +\S")  # ends a paragraph that stands deeper
# Items two columns deeper each, all with the same sign, and behind a blank line something that is outside.
_LIST = re.compile(
    rf"([-+*]) {_START}[^\n]*\n(?: *+\1 {_START}[^\n]*(?:\n|\Z))*+(?=\Z|(?:[ \t]*\n)+(?:[^\s\-+*\d]|\Z))"
)


_ADDRESS = re.compile(r"(?:https?://[a-z0-9-]+(?:\.[a-z0-9-]+)*(?:/[\w./#?&=+~-]*)?)?", re.ASCII)


class Parser(MarkdownIt):
    """markdown-it with the rules of this file, block structure only: inline markup stays as it is written."""

    def __init__(self, nesting: int) -> None:
        super().__init__("commonmark", {"maxNesting": nesting})
        self.core.ruler.disable(["inline", "text_join"])
        self.block.ruler.before("code", "plain_text", plain_text)
        self.block.ruler.before("plain_text", "plain_list", plain_list)

    def normalizeLink(self, url: str) -> str:
        """An address as it is where there is nothing to encode, which is half of the time of link definitions."""
        return url if _ADDRESS.fullmatch(url) else super().normalizeLink(url)


def plain_text(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Push one token, whose content is the source: `plain_text` or `plain_heading`; or those of markdown-it."""
    start = state.bMarks[line] + state.tShift[line]
    if silent or not 0 <= state.sCount[line] - state.blkIndent < 4:
        return False
    if state.src[start] == "#":
        title = _HEADING.match(state.src, start, state.eMarks[line]) if not state.level else None
        return _push(state, line, "plain_heading", title[0]) if title else heading(state, line, end, silent)
    if not _FIRST.match(state.src, start):
        return False
    may_define = state.src[start] == "["  # a link, over several lines perhaps
    if state.level == state.tShift[line] == 0 and not may_define:
        found = _PARAGRAPH.match(state.src, start)
        if found is not None:
            return _push(state, line, "plain_text", found[0])
    text = state.src[start : state.eMarks[line]]
    if _ends(state, line + 1) and not (may_define and "]:" in text):
        return _push(state, line, "plain_text", text)
    return not may_define and (lheading(state, line, end, silent) or paragraph(state, line, end, silent))


def plain_list(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Push one token `plain_list` for such a list; its content are the lines, each an item."""
    if silent or state.level or state.tShift[line] or state.src[state.bMarks[line]] not in "-+*":
        return False
    found = _LIST.match(state.src, state.bMarks[line])
    if found is None or "]:" in found[0]:
        return False
    deepest = 0
    for one in found[0].splitlines():
        depth, odd = divmod(len(one) - len(one.lstrip(" ")), 2)
        if odd or depth > deepest:
            return False
        deepest = depth + 1
    return _push(state, line, "plain_list", found[0])


def _push(state: StateBlock, line: int, name: str, content: str) -> bool:
    content = content.rstrip()
    state.line = line + content.count("\n") + 1
    token = state.push(name, "p", 0)
    token.content = content
    token.map = [line, state.line]
    return True


def _ends(state: StateBlock, line: int) -> bool:
    """Whether a paragraph surely ends before a line: at the end, a blank line, or an item that is not empty."""
    if line >= state.lineMax or state.isEmpty(line):
        return True
    indent = state.sCount[line]
    outside = indent < state.blkIndent
    if not 0 <= indent <= state.blkIndent + 3 or (outside and 0 <= state.listIndent <= indent - 4):
        return False
    start = state.bMarks[line] + state.tShift[line]
    return (_SIBLING if outside else _NEXT).match(state.src, start) is not None
