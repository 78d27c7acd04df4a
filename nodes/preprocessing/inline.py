"""The text inside a block: images and badges out, reference links resolved, layout tags gone. Code spans stay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from nodes.preprocessing import html
from nodes.preprocessing.blocks import Reference

_BACKTICKS = re.compile(r"`+")
_HELD = re.compile("\0(\\d+)\0")
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_TARGET = re.compile(r"\((?:[^()\\\n]|\\.|\([^()\n]{0,500}\)){0,2000}\)")
_LABEL = re.compile(r"\[((?:[^\[\]\\\n]|\\.){0,500})\]")
_SHORTCODE = re.compile(r":(?=[a-z])[a-z0-9_+-]{2,40}:")
_BADGE = re.compile(
    r"badge|shields\.io|travis-ci|codecov|coveralls|circleci|appveyor|readthedocs\.org/projects|/workflows/|pepy\.tech"
    r"|codacy|codeclimate|snyk\.io|star-history|contrib\.rocks|opencollective|zenodo|repography|deepsource|lgtm\.com",
    re.IGNORECASE,
)
_MOST_NESTED = 10  # links around an image that went
_EMPTY_LINK = re.compile(r"\[\s*\](?:\([^()\s]{0,2000}\)|\[[^\[\]]{0,500}\])")


@dataclass
class Inline:
    """Cleans texts of one document and counts what it takes out; `used` are the labels of references it resolved."""

    references: Mapping[str, Reference]
    used: set[str] = field(default_factory=set)
    images: int = 0
    badges: int = 0
    comments: int = 0

    def clean(self, text: str) -> str:
        """`text`, which may have several lines, without images, badges and layout tags, its links written out."""
        if "[" not in text and "<" not in text:
            return text
        text, spans = _hold_code(text)
        if "<!--" in text:
            self.comments += html.remove_comments(text) != text
        text = html.inline_to_markdown(text)
        if "[" in text:
            text = self._links(text)
            for _ in range(_MOST_NESTED):
                text, removed = _EMPTY_LINK.subn("", text)
                if not removed:
                    break
        return _HELD.sub(lambda found: spans[int(found[1])], text)

    def _links(self, text: str, nesting: int = 0) -> str:
        closing = _pairs(text)
        pieces: list[str] = []
        position = 0
        for start in sorted(closing):
            if start < position:
                continue
            end, target = self._target(text, start, closing[start])
            image = start > 0 and text[start - 1] == "!" and (start < 2 or text[start - 2] != "\\")
            if target is None:
                continue
            if image:
                pieces.append(text[position : max(start - 1, position)])
                self._count(target)
                position = end
            elif text[closing[start] + 1 : closing[start] + 2] != "(":
                pieces.append(text[position:start])
                inner = text[start + 1 : closing[start]]
                inner = self._links(inner, nesting + 1) if "![" in inner and nesting < 2 else inner
                pieces.append(f"[{inner}]({target})" if inner.strip() else "")
                position = end
        return "".join(pieces) + text[position:]

    def _target(self, text: str, start: int, close: int) -> tuple[int, str | None]:
        """Where the link or image that opens at `start` ends, and where it points (None: it is neither)."""
        if found := _TARGET.match(text, close + 1):
            return found.end(), found[0][1:-1]
        label, end = text[start + 1 : close], close + 1
        if found := _LABEL.match(text, close + 1):
            label, end = found[1] or label, found.end()
        elif text[end : end + 1] == ":":
            return end, None
        reference = self._reference(label)
        return (end, None) if reference is None else (end, _written(reference.target))

    def _reference(self, label: str) -> Reference | None:
        if not self.references or len(label) > 999:
            return None
        from markdown_it.common.utils import normalizeReference

        known = normalizeReference(label)
        if known in self.references:
            self.used.add(known)
        return self.references.get(known)

    def _count(self, target: str) -> None:
        if _BADGE.search(target):
            self.badges += 1
        else:
            self.images += 1


def plain(text: str) -> str:
    """The text of a heading: links as their text, a whole-heading emphasis taken off, emoji at the ends gone."""
    text, spans = _hold_code(text)
    text = _SHORTCODE.sub("", text)
    closing = _pairs(text)
    pieces, position = [], 0
    for start in sorted(closing):
        found = _TARGET.match(text, closing[start] + 1)
        if start < position or not found:
            continue
        pieces += [text[position:start], text[start + 1 : closing[start]]]
        position = found.end()
    text = " ".join(("".join(pieces) + text[position:]).split())
    for mark in ("**", "*"):
        inner = text[len(mark) : -len(mark)]
        if text.startswith(mark) and text.endswith(mark) and inner.strip("* ") and "*" not in inner:
            text = inner.strip()
    text = text.strip("".join(set(filter(_decoration, text))) + " \t")
    return _HELD.sub(lambda found: spans[int(found[1])], text)


def _decoration(character: str) -> bool:
    import unicodedata

    return unicodedata.category(character) in {"So", "Sk", "Cf"} or character in "\ufe0f\u20e3:："


def _hold_code(text: str) -> tuple[str, list[str]]:
    """Text with its code spans replaced by numbers between NULs, and the spans. Linear."""
    if "`" not in text:
        return text, []
    runs = [(found.start(), found.end()) for found in _BACKTICKS.finditer(text)]
    last: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        last.setdefault(runs[index][1] - runs[index][0], []).append(index)
    pieces: list[str] = []
    spans: list[str] = []
    position = index = 0
    while index < len(runs):
        start, end = runs[index]
        same = last[end - start]
        while same and same[-1] <= index:
            same.pop()
        if same:
            pieces += [text[position:start], f"\0{len(spans)}\0"]
            position = runs[same[-1]][1]
            spans.append(text[start:position])
            index = same[-1]
        index += 1
    return "".join(pieces) + text[position:], spans


def _pairs(text: str) -> dict[int, int]:
    """For each `[` that is closed, where."""
    open_: list[int] = []
    pairs: dict[int, int] = {}
    for found in _BRACKET.finditer(text):
        if found[0] == "[":
            open_.append(found.start())
        elif found[0] == "]" and open_:
            pairs[open_.pop()] = found.start()
    return pairs


def _written(target: str) -> str:
    return f"<{target}>" if any(one in target for one in "() ") else target
