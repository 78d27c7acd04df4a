"""A README in short, by rule: what it opens with, then each section's heading with the first words under it.

The document is cleaned as a requirements document is (badges, changelogs, sponsors go); code blocks go too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engine.models.tokens import estimate_tokens
from nodes.preprocessing.document import normalize
from nodes.references.files import Files
from nodes.references.manifest import Manifest

_README = re.compile(r"readme(\.(?:md|markdown|rst|txt))?", re.IGNORECASE)
_LONGEST = 48_000  # characters that are looked at
_MOST_TOKENS = 1_200
_MOST_ITEMS = 6
_SHORT = 400  # characters of a paragraph
_FENCE = re.compile(r"(`{3,}|~{3,})")
_MARKER = re.compile(r"\s*\{#[^}\s]*\}\s*$")
_DIRECTIVE = re.compile(r"\s*\.\. ")


def readme_summary(files: Files, manifest: Manifest) -> str:
    """The README in short, or what the package's metadata say instead; "" without either."""
    path, text = _readme(files, manifest)
    return summarise(text, path)


def summarise(text: str, path: str = "README.md") -> str:
    """A document in short: at most some 1,200 tokens, no code."""
    if not text.strip():
        return ""
    document = normalize(text[:_LONGEST], path)
    lines: list[str] = []
    left = _MOST_TOKENS
    for number, section in enumerate(document["sections"]):
        for line in _section(section, whole=number < 2):
            left -= estimate_tokens(line) + 1
            if left < 0:
                return "\n".join(lines)
            lines.append(line)
    return "\n".join(lines)


def _readme(files: Files, manifest: Manifest) -> tuple[str, str]:
    for path in sorted(files.contents, key=lambda path: (path.count("/"), path)):
        if _README.fullmatch(path.rpartition("/")[2]) and path.count("/") == 0:
            text = files.text(path)
            if text and text.strip():
                return path, text
    suffix = "rst" if "rst" in manifest.description_type or not manifest.description_type else "md"
    return f"README.{suffix}", manifest.description


def _section(section: Mapping[str, Any], *, whole: bool) -> Iterator[str]:
    """A section's heading and its first paragraph and list; of an opening one all paragraphs."""
    head, _, body = section["text"].partition("\n") if section["heading"] else ("", "", section["text"])
    if head:
        yield _MARKER.sub("", head)
    items = paragraphs = 0
    for paragraph in _prose(body):
        if paragraph.startswith(("- ", "* ", "+ ")) or paragraph[:1].isdigit():
            items += 1
            if items > _MOST_ITEMS:
                continue
        else:
            paragraphs += 1
            if paragraphs > (4 if whole else 1):
                continue
        yield paragraph if len(paragraph) <= _SHORT else f"{paragraph[:_SHORT].rpartition(' ')[0]} ..."


def _prose(body: str) -> Iterator[str]:
    """The paragraphs and list items of a text, each as one line; code blocks and tables are passed over."""
    fence, gathered = "", list[str]()
    for line in [*body.split("\n"), ""]:
        opening = _FENCE.match(line.strip())
        if fence:
            fence = "" if opening and line.strip().startswith(fence) and not line.strip().strip(fence[0]) else fence
            continue
        if opening:
            fence = opening[1]
        starts_item = line.lstrip().startswith(("- ", "* ", "+ "))
        if gathered and (not line.strip() or opening or starts_item):
            yield " ".join(gathered)
            gathered = []
        if (
            line.strip()
            and not opening
            and not line.lstrip().startswith(("|", "+-", ">>>", "$ "))
            and not _DIRECTIVE.match(line)
        ):
            gathered.append(" ".join(line.split()))
