"""The content of one file out of an answer that may wrap it in fences, chatter, thoughts or JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from engine.models.fences import Block, Fence, find_fences, outermost_blocks, possible_ends
from engine.models.languages import is_markdown, parses, suffix_of, tags_of
from engine.models.placeholders import placeholders
from engine.models.thinking import without_thinking

__all__ = ["file_content", "placeholders"]

_MARKDOWN_TAGS = {"markdown", "md", "mdx", "gfm"}
_MARKDOWN_START = re.compile(r"\s*(#{1,6} |<|\[|!\[|---\n|[^\n]+\n(=+|-+)\s*\n)")
_PROSE = re.compile(r"\A[A-Z][\w'’]*([!,.:]|,? [\w'’`*]).*[.:!?`*]\Z|\A(Sure|Certainly|Okay|Of course)\S*\Z", re.DOTALL)
_CONTENT_KEYS = {"content", "contents", "code", "source", "file_content", "text", "body"}
_PATH_KEYS = {"path", "file", "filename", "file_name", "file_path", "filepath", "name", "target", "target_file"}
_OTHER_KEYS = {"language", "explanation", "description", "notes", "summary", "reason", "encoding"}


def file_content(text: str, path: str) -> str:
    """The content for the file at `path`: with LF line ends, no blank lines around it, and one line end at its end.

    Taken off are: thoughts, a byte order mark, words before and after, a line with the file's name, the fence (of any
    length, with any tag), a JSON object around it all. Fences that belong to the content stay. Where a text could be
    read in several ways, the one that parses as the file's language is taken. Empty when there is no content.
    """
    body = _plain(without_thinking(text.lstrip("\ufeff")))
    wrapped = _from_json(body, path)
    return _trimmed(_unfenced(body if wrapped is None else _plain(wrapped), path))


def _plain(text: str) -> str:
    """Text with LF line ends and no byte order mark, which UTF-8 can hold."""
    return text.replace("\r\n", "\n").lstrip("\ufeff").encode("utf-8", "replace").decode("utf-8")


def _unfenced(body: str, path: str) -> str:
    lines = body.split("\n")
    fences = find_fences(lines)
    if not fences or parses(body, path):
        return _bare(body, path)
    if len(fences) == 1 and not fences[0].info:
        return _beside(lines, fences[0], path)
    blocks = outermost_blocks(fences, len(lines))
    if is_markdown(path):
        return _markdown(lines, fences, blocks, path)
    block = max(blocks, key=lambda one: _rank(one, lines, path))
    spans = [replace(one, end=end) for one in (block, blocks[0]) for end in possible_ends(one, fences, len(lines))]
    readings = [one.content(lines) for one in spans]
    sound = (one for one in readings if one.strip() and parses(one, path))
    return _without_name(next(sound, readings[0]), path)


def _rank(block: Block, lines: Sequence[str], path: str) -> tuple[bool, bool, int]:
    """How likely a block is the file: it is named as such, its tag is the file's language, it is long."""
    before = next((line for line in reversed(lines[: block.opening.line]) if line.strip()), "")
    named = path in before or PurePosixPath(path).name in block.opening.info
    return named, block.opening.tag in tags_of(path), block.end - block.opening.line


def _beside(lines: Sequence[str], fence: Fence, path: str) -> str:
    """The content before a fence that nothing opened, or after one that nothing closes."""
    sides = ["\n".join(lines[: fence.line]), Block(fence, len(lines)).content(lines)]
    sound = [one for one in sides if one.strip() and not _PROSE.match(one.strip()) and parses(one, path) is not False]
    return _without_name(max(sound or sides, key=len), path)


def _bare(body: str, path: str) -> str:
    """Content that stands in no fence: without chatter, where it is certain that it is some."""
    content = _without_name(body, path)
    if is_markdown(path):
        head, _, rest = content.strip().partition("\n\n")
        return rest if head.endswith(":") and "\n" not in head and rest.startswith("# ") else content
    if parses(content, path) is not False:
        return content
    parts = re.split(r"\n[ \t]*\n", content.strip())
    while parts and _PROSE.match(parts[0].strip()):
        parts.pop(0)
    while parts and _PROSE.match(parts[-1].strip()):
        parts.pop()
    rest = "\n\n".join(parts)
    return rest if rest and parses(rest, path) else content


def _markdown(lines: Sequence[str], fences: Sequence[Fence], blocks: Sequence[Block], path: str) -> str:
    """A Markdown file, whose own fences may be as long as the one around it."""
    block = blocks[0]
    after = [one for one in fences if one.line > block.end]
    if after and not after[0].info:  # what closed the block opens an untagged one inside it
        block = replace(block, end=max(possible_ends(block, fences, 0)))
    if _wraps_markdown(lines, block, fences, path):
        return _without_name(block.content(lines), path)
    return _bare("\n".join(lines), path)


def _wraps_markdown(lines: Sequence[str], block: Block, fences: Sequence[Fence], path: str) -> bool:
    """Whether a block is the file, and not one of the file's own."""
    before = [line for line in lines[: block.opening.line] if line.strip()]
    if any(_MARKDOWN_START.match(line) and not _names(line.lstrip("# "), path) for line in before):
        return False
    content = block.content(lines)
    if block.opening.tag in _MARKDOWN_TAGS or PurePosixPath(path).name in block.opening.info:
        return 2 * len(content) > len("\n".join(lines))
    inner = [one for one in fences if block.opening.line < one.line < block.end]
    balanced = all(one.end < block.end for one in outermost_blocks(inner, block.end))
    return not block.opening.info and balanced and _MARKDOWN_START.match(content) is not None


def _without_name(content: str, path: str) -> str:
    """The content without a first line that is nothing but the file's name."""
    head, _, rest = content.lstrip("\n").partition("\n")
    comment = head.startswith(("# ", "//", "--", "/*", ";"))
    return rest if rest.strip() and not comment and _names(head, path) else content


def _names(line: str, path: str) -> bool:
    """Whether a line only says the file's name, with or without decoration."""
    plain = re.sub(
        r"^[\s*_`#>\-=]*((new |full |updated )?(file ?name|file ?path|file|path)\s*:)?", "", line, flags=re.I
    )
    plain = re.sub(r"\((new|updated|modified)[^)]*\)", "", plain, flags=re.I).strip("*_`:-= \t")
    return plain in (path, f"./{path}", PurePosixPath(path).name)


def _from_json(body: str, path: str) -> str | None:
    """The content out of a JSON object around it, or None if there is no such object."""
    lines = body.strip().split("\n")
    blocks = outermost_blocks(find_fences(lines), len(lines))
    fenced = len(blocks) == 1 and blocks[0].opening.line == 0 and blocks[0].end == len(lines) - 1
    try:
        data = json.loads(blocks[0].content(lines) if fenced else body)
    except (ValueError, RecursionError):
        return None
    if isinstance(data, dict) and isinstance(data.get("files"), dict | list):
        data = data["files"]
    if isinstance(data, list):
        return next((found for one in data if (found := _one_file(one, path, exact=True)) is not None), None)
    return _one_file(data, path, exact=suffix_of(path) == ".json")


def _one_file(data: Any, path: str, *, exact: bool) -> str | None:
    """The content in `{"path": ..., "content": ...}` or `{path: content}`; `exact` wants the path to be there."""
    if not isinstance(data, dict):
        return None
    if isinstance(data.get(path), str):
        return str(data[path])
    content = [name for name in data if name in _CONTENT_KEYS and isinstance(data[name], str)]
    if len(content) != 1 or data.keys() - {*content} - _PATH_KEYS - _OTHER_KEYS:
        return None
    named = any(str(data[name]).removeprefix("./") == path for name in data.keys() & _PATH_KEYS)
    return str(data[content[0]]) if named or not exact else None


def _trimmed(content: str) -> str:
    lines = content.split("\n")
    while lines and not lines[0].strip():
        lines.pop(0)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines) + "\n" if lines else ""
