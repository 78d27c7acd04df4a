"""What an error's text says in Python's and pytest's words: names that are missing, types that were seen."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FROM = re.compile(r"cannot import name '(\w+)' from (?:partially initialized module )?'([\w.]+)'")

_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")

_MODULE = re.compile(r"No module named '([\w.]+)'")

_MEMBER = re.compile(r"'(\w+)' object (?:has no )?attribute '(\w+)'|type object '(\w+)' has no attribute '(\w+)'")

_BARE = re.compile(r"^AttributeError: (\w+)$", re.MULTILINE)  # an enum's member, as Python 3.11 says it

_ABSTRACT = re.compile(r"Can't instantiate abstract class (\w+)")

_FIXTURE = re.compile(r"fixture '(\w+)' not found")

_KEY = re.compile(r"^KeyError: '([^']+)'", re.MULTILINE)

_CALL = re.compile(r"(?:(\w+)\.)?(\w+)\(\) (?:got an unexpected|got multiple|got some positional|missing \d|takes )")

_PAIR = re.compile(
    r"unsupported operand type\(s\) for ([^:]+): '(\w+)' and '(\w+)'|"
    r"'([<>=]+)' not supported between instances of '(\w+)' and '(\w+)'"
)

_TYPES = (
    re.compile(r"'(\w+)' object (?:has|is|does|cannot|can't|attribute)"),
    re.compile(r"object of type '(\w+)' has no len"),
    re.compile(r"argument of type '(\w+)' is not"),
    re.compile(r"cannot unpack non-iterable (\w+) object"),
    re.compile(r"(string|list|tuple|range) indices must be"),
    re.compile(r"(?:not \"?|, )(\w+)\"?\)? (?:to str|found)|must be \w+, not (\w+)|, not '(\w+)'$", re.MULTILINE),
    re.compile(r"(?:argument|parameter) .* not '(\w+)'"),
)

_SHOWN = {"string": "str"}


def missing_names(text: str) -> Iterator[tuple[str, str]]:
    """A module, and the name that was not found in it."""
    if found := _FROM.search(text):
        yield found[2], found[1]
    if found := _ATTRIBUTE.search(text):
        yield found[1], found[2]


def missing_module(text: str) -> str | None:
    """The module that was not found."""
    return _first(_MODULE, text)


def missing_member(text: str) -> tuple[str, str] | None:
    """A class, and the member that its objects lack."""
    found = _MEMBER.search(text)
    return (found[1] or found[3], found[2] or found[4]) if found else None


def bare_member(text: str) -> str | None:
    """The member that a class lacks which is not named."""
    return _first(_BARE, text)


def abstract_class(text: str) -> str | None:
    """The class that cannot be made, since it leaves out what its base wants."""
    return _first(_ABSTRACT, text)


def missing_fixture(text: str) -> str | None:
    """The fixture that was not found."""
    return _first(_FIXTURE, text)


def missing_key(text: str) -> str | None:
    """The key that was not found."""
    return _first(_KEY, text)


def called(text: str) -> str | None:
    """What was called with other arguments than it takes: `f`, `Store.add`, a class."""
    found = _CALL.search(text)
    if not found:
        return None
    return (f"{found[1]}.{found[2]}" if found[1] else found[2]).removesuffix(".__init__")


def loading(text: str) -> bool:
    """Whether a name is missing because its module is still being loaded, in a ring of imports."""
    return "partially initialized module" in text


def operand_types(text: str) -> tuple[str, str] | None:
    """The types of the two operands that do not go together."""
    found = _PAIR.search(text)
    return ((found[2], found[3]) if found[2] else (found[5], found[6])) if found else None


def seen_type(text: str) -> str | None:
    """The type of the value that could not be used."""
    seen = next((word for one in _TYPES if (found := one.search(text)) for word in found.groups() if word), None)
    return _SHOWN.get(seen, seen) if seen else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[1] if found else None
