"""reStructuredText that docutils would be too long about, read line by line as the Markdown that it resembles.

docutils takes a fifth of a millisecond for a line, and the square of its length for a paragraph full of marks. In a
document beyond the limits here headings, code, links and directives are rewritten; the rest is alike in both languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from textwrap import dedent

MOST_LINES = 20_000
MOST_CHARACTERS = 1_000_000
_LONG_PARAGRAPH = 4000  # characters
_MOST_MARKS = 300  # in a long paragraph
_PARAGRAPHS = re.compile(r"(?:[^\n]+\n?)++")
_MARK = re.compile(r"[*`|]|_(?!\w)")
_UNDERLINE = re.compile(r"([=\-~^\"'*+#`:.<>_])\1{2,}\s*")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]*\| )?([\w-]+)::[ \t]*(.*)")
_EXPLICIT = re.compile(r"\.\.(?:\s|$)")
_OPTION = re.compile(r"\s+:[\w-]+:")
_CODE = ("code-block", "sourcecode", "code", "parsed-literal", "highlight")
_TITLED = ("note", "warning", "tip", "hint", "important", "caution", "attention", "danger", "error", "admonition")
_LINK = re.compile(r"`([^`<>]{1,500}?)\s*<([^<>`\s]{1,2000})>`_{1,2}")
_ROLE = re.compile(r"(?<!\w):[\w:-]{1,40}:(?=`)")
_LITERAL = re.compile(r"``([^`]{1,2000})``")
_SUBSTITUTION = re.compile(r"[^|\n]{0,30}\|[\w .-]{1,60}\|_{0,2}\s*")  # a badge, most likely
_REFERENCE = re.compile(r"`([^`]{1,500})`_{1,2}")


def is_too_much(text: str) -> bool:
    """Whether docutils would take more than seconds."""
    if len(text) > MOST_CHARACTERS or text.count("\n") > MOST_LINES:
        return True
    return any(
        len(found[0]) > _LONG_PARAGRAPH and len(_MARK.findall(found[0])) > _MOST_MARKS
        for found in _PARAGRAPHS.finditer(text)
    )


def to_markdown(text: str) -> str:
    """The text as Markdown, line for line."""
    lines = text.split("\n")
    return "\n".join(_Lines(lines).rewritten())


class _Lines:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._styles: list[tuple[str, bool]] = []

    def rewritten(self) -> Iterator[str]:
        index = 0
        while index < len(self._lines):
            made = list(self._heading(index) or self._explicit(index) or self._literal(index))
            if made:
                yield from made
                index += len(made)
            else:
                yield _inline(self._lines[index])
                index += 1

    def _line(self, index: int) -> str:
        return self._lines[index] if index < len(self._lines) else ""

    def _heading(self, index: int) -> list[str]:
        """A heading that begins here, with its lines, those above and below it left empty."""
        over = _UNDERLINE.fullmatch(self._line(index))
        title, under = self._line(index + bool(over)), _UNDERLINE.fullmatch(self._line(index + bool(over) + 1))
        if not title.strip() or not under or (over and over[1] != under[1]):
            return []
        if not over and (title[0].isspace() or (index and self._line(index - 1).strip())):
            return []
        style = (under[1], bool(over))
        if style not in self._styles:
            self._styles.append(style)
        level = min(self._styles.index(style) + 1, 6)
        return [*[""] * bool(over), f"{'#' * level} {_inline(title.strip())}", ""]

    def _explicit(self, index: int) -> list[str]:
        """A directive, a comment, a target or a footnote that begins here."""
        line = self._line(index)
        if not _EXPLICIT.match(line):
            return []
        end = self._block_end(index + 1)
        found = _DIRECTIVE.match(line)
        name, argument = (found[1], found[2]) if found else ("", "")
        if name in _CODE:
            return self._fenced(index, end, argument)
        if name in _TITLED:
            body = (one.strip() for one in self._lines[index + 1 : end])
            return [f"**{name.capitalize()}:** {_inline(argument)}".rstrip(), *map(_inline, body)]
        comment = line[2:].replace("--", "").strip()
        return [f"<!-- {comment} -->", *[""] * (end - index - 1)]

    def _literal(self, index: int) -> list[str]:
        """A paragraph's last line that ends in `::`, and the indented block behind it as code."""
        line = self._line(index)
        if not line.rstrip().endswith("::") or self._line(index + 1).strip():
            return []
        end = self._block_end(index + 1)
        if not any(one.strip() for one in self._lines[index + 1 : end]):
            return []
        return [_inline(line.rstrip()[:-1]), *self._fenced(index + 1, end, "")]

    def _fenced(self, start: int, end: int, language: str) -> list[str]:
        body = list(self._lines[start + 1 : end])
        options = next((n for n, one in enumerate(body) if not _OPTION.match(one)), len(body))
        body = [*body[options:], *[""] * options]
        lead = next((n for n, one in enumerate(body) if one.strip()), len(body))
        closing = next((n for n in range(len(body), lead, -1) if body[n - 1].strip()), lead)
        code = dedent("\n".join(body[lead:closing])).split("\n")
        return [*body[:lead], f"```{language.strip()}", *code, "```", *body[closing + 1 :]]

    def _block_end(self, index: int) -> int:
        """Behind the lines from here that are indented or empty."""
        while index < len(self._lines) and (not self._lines[index].strip() or self._lines[index][0].isspace()):
            index += 1
        return index


def _inline(line: str) -> str:
    if line.strip(" |") == "" or _SUBSTITUTION.fullmatch(line):
        return ""
    if "`" not in line:
        return line
    line = _LINK.sub(r"[\1](\2)", _ROLE.sub("", line))
    return _LITERAL.sub(r"`\1`", _REFERENCE.sub(r"\1", line) if "``" not in line else line)
