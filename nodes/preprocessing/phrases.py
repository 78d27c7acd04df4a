"""What headings say: whole phrases of headings.txt, never substrings, so `License manager` is no licence."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from pathlib import Path

_FILE = Path(__file__).with_name("headings.txt")

_AND = re.compile(r"\s*(?:[&/|,+]|\b(?:and|und|et|y|e|и)\b|和|与|與|及|・)\s*")
_ASIDE = re.compile(r"[(（\[【][^()（）\[\]【】]*[)）\]】]")
_INSTALL = re.compile(
    r"(?:install|installing|installation)(?: [\w.+-]+)? (?:from|via|with|using|on|for|in|through|by)\b.*"
)
_CONTRIBUTE = re.compile(r"(?:contributing|how to contribute|contribute|contributions) to\b.*")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_NUMBER = re.compile(r"^(?:\d+(?:\.\d+)*|[ivx]+)[.)、．:]?\s+", re.IGNORECASE)


@lru_cache(maxsize=4096)
def noise(heading: str, title: str = "") -> str | None:
    """What an undoubtedly dropped section is ("licence"), or None. `title` names the project, which may stand in it."""
    if _says_nothing(heading):
        return None
    return _match(heading, title, _table("noise")) or (
        "contributors" if _CONTRIBUTE.fullmatch(_words(heading)) else None
    )


@lru_cache(maxsize=4096)
def doubtful(heading: str, title: str = "") -> str | None:
    """What a section is that usually says nothing about the program ("installation"), or None."""
    if _says_nothing(heading):
        return None
    found = _match(heading, title, _table("noise") | _table("doubtful"))
    return found or ("installation" if _INSTALL.fullmatch(_words(heading)) else None)


def functional(heading: str) -> bool:
    """Whether what is below this heading are parts of the program: commands, options, features."""
    return not _table("functional").keys().isdisjoint(_words(heading).split())


def _says_nothing(heading: str) -> bool:
    """Whether a heading surely holds no phrase, as most headings of a large document, which takes no time to see."""
    return heading.isascii() and _longest_words().isdisjoint(_words(heading).split())


@cache
def _longest_words() -> frozenset[str]:
    phrases = [*_table("noise"), *_table("doubtful"), "installing", "contribute", "contributions"]
    return frozenset(max(phrase.split(), key=len, default="") for phrase in phrases)


def _match(heading: str, title: str, table: dict[str, str]) -> str | None:
    text = heading.casefold()
    spellings = {text, _ASIDE.sub(" ", text), _without(text, title)}
    for spelling in spellings:
        words = _words(spelling)
        if found := table.get(words) or table.get(re.sub(r"^(?:the|our|my) ", "", words)):
            return found
        parts = [part for part in _AND.split(_NUMBER.sub("", spelling.strip())) if part.strip()]
        kinds = [table.get(_words(part)) for part in parts]
        if len(parts) > 1 and all(kinds):
            return kinds[0]
    return None


def _without(text: str, title: str) -> str:
    name = title.split()[0].casefold() if title.split() else ""
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", " ", text) if len(name) > 2 else text


@lru_cache(maxsize=4096)
def _words(text: str) -> str:
    """Lower-case words with single blanks between them; punctuation, emoji and a leading number are gone."""
    if text.isascii():
        return " ".join(_ASCII_WORD.findall(_NUMBER.sub("", text.lower().replace("'", "").strip())))
    text = _NUMBER.sub("", unicodedata.normalize("NFKC", text).casefold().replace("'", "").replace("’", "").strip())
    kept = (one if unicodedata.category(one)[0] in "LNM" else " " for one in text)
    return " ".join("".join(kept).split())


@cache
def _table(sureness: str) -> dict[str, str]:
    """Kind by phrase, of the phrases of one sureness."""
    table: dict[str, str] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        head, _, phrases = line.partition(": ")
        sure, _, kind = head.partition(" ")
        if sure == sureness:
            table.update({_words(phrase): kind for phrase in phrases.split("|")})
    return table
