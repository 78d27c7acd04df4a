"""HTML inside Markdown, as Markdown. Only tags that lay text out are touched: `<path>` is a placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterator

TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]*)((?:\s(?:[^<>\"']|\"[^\"]*\"|'[^']*'){0,2000})?)/?>")
_ATTRIBUTE = re.compile(r"([A-Za-z-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_HEADING = re.compile(r"h[1-6]")
_LINK_AROUND = re.compile(r"\[(\s{0,200}(?:!\[[^\[\]]{0,200}\]\([^()\s]{0,2000}\)\s{0,200})?)\](?=\()")

_UNSAFE = re.compile(r"[\[\]()<>\s`\\]+")

_FENCE = "`" * 12
_INVISIBLE = frozenset({"script", "style"})
_DROPPED = frozenset({"picture", "source", "video", "iframe", "svg", "wbr"})
_BREAKING = frozenset(
    {"p", "div", "center", "section", "article", "header", "footer", "details", "blockquote", "dl", "dt", "dd", "hr"}
    | {"ul", "ol", "table", "thead", "tbody", "tfoot", "nav", "figure", "figcaption"}
)
_PAIRED = frozenset(
    {"b", "strong", "i", "em", "u", "s", "del", "ins", "strike", "font", "span", "small", "big", "sub", "sup", "kbd"}
    | {"abbr", "mark", "tt", "samp", "var", "code", "a", "summary"}
)


def to_markdown(content: str) -> str:
    """An HTML block as Markdown text; empty when there is nothing in it to read."""
    content = _without(content)
    if "<" not in content:
        return content
    markdown = _LINK_AROUND.sub(lambda found: f"[{found[1].strip()}]", "".join(_converted(content)))
    return "\n".join(line.strip() for line in markdown.split("\n"))


def inline_to_markdown(text: str) -> str:
    """Text of a paragraph with its layout tags taken out; links and code become Markdown. Code spans stay."""
    if "<" not in text:
        return text
    if "<!--" in text:
        text = remove_comments(text)
    closed = {found[2].lower() for found in TAG.finditer(text) if found[1]}
    target: list[str] = []

    def convert(found: re.Match[str]) -> str:
        closing, name, attributes = found[1], found[2].lower(), found[3]
        if name == "img" and attributes.strip():
            return _image(attributes)
        if name in _DROPPED and (attributes.strip() or closing):
            return ""
        if name == "br":
            return " "
        if name == "a" and name in closed:
            return _link(closing, attributes, target)
        if name == "code" and name in closed:
            return "`"
        layout = name in _BREAKING or name in {"li", "tr", "td", "th"} or _HEADING.fullmatch(name)
        return "" if (name in _PAIRED and name in closed) or (layout and (closing or name in closed)) else found[0]

    return TAG.sub(convert, text)


def remove_comments(text: str) -> str:
    """Text without `<!-- ... -->`; a comment that never ends is text."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start + 4)
        if end < 0:
            break
        pieces.append(text[position:start])
        position = end + 3
    return "".join(pieces) + text[position:].replace("<!--", "")


def _without(content: str) -> str:
    content = remove_comments(content)
    for name in _INVISIBLE:
        lowered = content.lower()
        while (start := lowered.find(f"<{name}")) >= 0 and (end := lowered.find(f"</{name}>", start)) >= 0:
            content = content[:start] + content[end + len(name) + 3 :]
            lowered = content.lower()
    return content


def _converted(content: str) -> Iterator[str]:
    """Pieces of Markdown for pieces of HTML. Inside a heading line ends are blanks, inside `<pre>` all is code."""
    position, single_line, fenced = 0, False, False
    target: list[str] = []
    for found in TAG.finditer(content):
        text = content[position : found.start()]
        yield " ".join(text.split()) if single_line else text
        position = found.end()
        closing, name, attributes = found[1], found[2].lower(), found[3]
        if name == "pre":
            opens = not closing and "align" not in attributes
            if opens != fenced:
                yield f"\n{_FENCE}\n"
            fenced = opens
        elif fenced:
            yield "" if name in {"code", "span"} else found[0]
        elif _HEADING.fullmatch(name):
            single_line = not closing
            yield "\n\n" if closing else f"\n\n{'#' * int(name[1])} "
        elif name == "br":
            yield " " if single_line else "\n"
        else:
            yield _piece(found[0], closing, name, attributes, target)
    rest = content[position:]
    yield " ".join(rest.split()) if single_line else rest
    if fenced:
        yield f"\n{_FENCE}\n"


def _piece(tag: str, closing: str, name: str, attributes: str, target: list[str]) -> str:
    if name == "img":
        return _image(attributes)
    if name in _DROPPED:
        return ""
    if name in _BREAKING:
        return "\n\n"
    if name == "summary":
        return "**\n\n" if closing else "\n\n**"
    if name == "li":
        return "" if closing else "\n- "
    if name in {"tr", "td", "th"}:
        return "" if closing else ("\n" if name == "tr" else " | ")
    if name == "a":
        return _link(closing, attributes, target)
    if name == "code":
        return "`"
    return "" if name in _PAIRED else tag


def _image(attributes: str) -> str:
    alternative, source = attribute(attributes, "alt"), attribute(attributes, "src")
    return f"![{_UNSAFE.sub(' ', alternative)}]({_UNSAFE.sub('', source)})"


def _link(closing: str, attributes: str, target: list[str]) -> str:
    if not closing:
        target.append(attribute(attributes, "href"))
        return "["
    return f"]({_UNSAFE.sub('', target.pop())})" if target else ""


def attribute(attributes: str, name: str) -> str:
    """The value of an attribute, or empty."""
    for found in _ATTRIBUTE.finditer(attributes):
        if found[1].lower() == name:
            return found[2] or found[3] or found[4] or ""
    return ""
