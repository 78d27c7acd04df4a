"""Reads a flow file's YAML.

It is read event by event, so that depth, aliases, duplicate keys and keys that are no strings are judged before
anything is built from them. Only what JSON knows comes out: no dates, no tags, no objects.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import yaml
from yaml.constructor import SafeConstructor
from yaml.reader import ReaderError
from yaml.resolver import Resolver

from engine.errors import Diagnostic, FlowError, InputError
from engine.flow.source import Source, Spot, display
from engine.flow.suggestion import suggestion

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 100
MAX_WEIGHT = 250_000  # values with every alias written out; forty characters of text weigh as much as a value
MAX_INTEGER = 2**63

Mark: TypeAlias = Any  # libyaml's or PyYAML's: line, column and index, counted from 0
Event: TypeAlias = Any  # libyaml's events have no types of their own

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MERGE = "<<"
_PREFIX = "tag:yaml.org,2002:"
_CONSTRUCTOR = SafeConstructor()
_READS_AS = {bool: "a boolean", int: "a number", float: "a number", type(None): "null"}


def read_source(path: Path) -> Source:
    """Read one flow file. Raises FlowError with every fault of its YAML, InputError when it cannot be read."""
    name = display(path)
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise InputError(f"{name}: cannot read the flow: {error.strerror or error}") from None
    if size > MAX_BYTES:
        raise InputError(f"{name}: a flow file of {size} bytes is more than the {MAX_BYTES} that are read")
    return parse(_decode(name, data), name, path)


def parse(text: str, name: str, path: Path | None = None) -> Source:
    """A document from text. Raises FlowError."""
    source = Source(name, path, text, {})
    value = _Builder(source).build()
    if not isinstance(value, dict):
        what = "the file is empty" if value is None else "the file is not a map of keys"
        raise FlowError([source.diagnostic(f"{what}; a flow has at least 'name' and 'nodes'", 0, 0)])
    return Source(name, path, text, value, source.spots)


def parse_value(text: str, name: str) -> tuple[Any, Source]:
    """One YAML value, as the command line gives it, and the source that knows its places. Raises FlowError."""
    source = Source(name, None, text, {})
    return _Builder(source).build(), source


def _decode(name: str, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise FlowError([Diagnostic(name, line, column, message)]) from None


class _FatalFault(Exception):
    """A fault after which reading cannot go on."""


@dataclass(slots=True)
class _Frame:
    """A container that is being read; `key` waits for its value, unless it is None: then a key comes next."""

    value: dict[str, Any] | list[Any]
    spots: dict[str | int, Spot]
    start: Mark
    anchor: str | None
    weight: int
    key: str | None = None
    key_mark: Mark = None
    key_stands: bool = True
    merged: list[Any] = field(default_factory=list)


class _Builder:
    """Builds plain data from YAML events."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.faults: list[Diagnostic] = []
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.documents = 0
        self.weight = 0
        self.root: Any = None

    def build(self) -> Any:
        """The document. Raises FlowError with every fault up to the first fatal one."""
        try:
            for event in self._events():
                self._take(event)
        except _FatalFault:
            pass
        if self.faults:
            raise FlowError(sorted(self.faults, key=lambda one: (one.line, one.column)))
        return self.root

    def _events(self) -> Iterator[Event]:
        try:
            yield from yaml.parse(self.source.text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._fault(_explain(error, self.source.text, mark), mark)
        except (ReaderError, UnicodeEncodeError):
            found = _FORBIDDEN.search(self.source.text)
            line, column = self.source.at(found.start() if found else 0)
            character = f"U+{ord(found[0]):04X}" if found else "that stands here"
            self.faults.append(
                self.source.diagnostic(f"not YAML: the character {character} is not allowed", line, column)
            )

    def _take(self, event: Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            weight = 1 + len(event.value) // 40
            self._weigh(weight, event.start_mark)
            value = self._scalar(event)
            self._remember(event.anchor, value, weight)
            self._put(value, event.start_mark, event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._close()
        elif isinstance(event, yaml.AliasEvent):
            value, weight = self._aliased(event)
            self._weigh(weight, event.start_mark)
            self._put(value, event.start_mark)
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                self._fail("a second document begins here; a flow file holds one", event.start_mark)

    def _open(self, event: Event) -> None:
        self._weigh(1, event.start_mark)
        self._check_tag(event)
        if len(self.frames) == MAX_DEPTH:
            self._fail(f"more than {MAX_DEPTH} levels deep", event.start_mark)
        value: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.frames.append(_Frame(value, {}, event.start_mark, event.anchor, self.weight))

    def _close(self) -> None:
        frame = self.frames.pop()
        if isinstance(frame.value, dict):
            self._merge(frame)
        self.source.spots[id(frame.value)] = frame.spots
        self._remember(frame.anchor, frame.value, self.weight - frame.weight + 1)
        self._put(frame.value, frame.start)

    def _put(self, value: Any, mark: Mark, scalar: Event | None = None) -> None:
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        if isinstance(frame.value, list):
            frame.spots[len(frame.value)] = Spot(mark.line, mark.column, mark.line, mark.column, mark.index)
            frame.value.append(value)
        elif frame.key_mark is None:
            self._put_key(frame, value, mark, scalar)
        else:
            self._put_value(frame, value, mark)

    def _put_key(self, frame: _Frame, value: Any, mark: Mark, scalar: Event | None) -> None:
        frame.key, frame.key_mark, frame.key_stands = None, mark, False
        if not isinstance(value, str):
            what = _READS_AS.get(type(value), "no text")
            name = f"the key '{scalar.value}' reads as {what}; put it in quotes" if scalar else "a key must be text"
            self._fault(name, mark)
            return
        frame.key = value
        if value == _MERGE and scalar is not None and not scalar.style:
            return
        if value in frame.spots:
            first = frame.spots[value].key_line + 1
            self._fault(f"duplicate key '{value}', first given in line {first}", mark)
            return
        frame.key_stands = True

    def _put_value(self, frame: _Frame, value: Any, mark: Mark) -> None:
        key, key_mark, frame.key_mark = frame.key, frame.key_mark, None
        assert isinstance(frame.value, dict) and key_mark is not None
        if frame.key_stands and key is not None:
            frame.value[key] = value
            frame.spots[key] = Spot(key_mark.line, key_mark.column, mark.line, mark.column, mark.index)
        elif key == _MERGE:
            frame.merged += value if isinstance(value, list) else [value]

    def _merge(self, frame: _Frame) -> None:
        """`<<: *base`: what the map does not say itself, it takes from the maps named; the first of them wins."""
        assert isinstance(frame.value, dict)
        for other in frame.merged:
            if not isinstance(other, dict):
                self._fault("'<<' takes a map, or a list of maps", frame.start)
                continue
            for key, value in other.items():
                if key not in frame.value:
                    frame.value[key] = value
                    frame.spots[key] = self.source.spots[id(other)][key]

    def _aliased(self, event: Event) -> tuple[Any, int]:
        if any(frame.anchor == event.anchor for frame in self.frames):
            self._fail(f"the alias '*{event.anchor}' stands inside what it names", event.start_mark)
        if event.anchor not in self.anchors:
            known = suggestion(event.anchor, self.anchors)
            self._fail(f"unknown alias '*{event.anchor}'{known}", event.start_mark)
        return self.anchors[event.anchor]

    def _remember(self, anchor: str | None, value: Any, weight: int) -> None:
        if anchor:
            self.anchors[anchor] = (value, weight)

    def _weigh(self, weight: int, mark: Mark) -> None:
        self.weight += weight
        if self.weight > MAX_WEIGHT:
            self._fail(f"with its aliases written out the file holds more than {MAX_WEIGHT} values", mark)

    def _scalar(self, event: Event) -> Any:
        self._check_tag(event)
        if event.style or event.tag:
            return event.value
        try:
            return plain_value(event.value)
        except ValueError as error:
            self._fault(str(error), event.start_mark)
            return event.value

    def _check_tag(self, event: Event) -> None:
        if event.tag not in (None, "!", _PREFIX + "str"):
            self._fault(f"the tag '{event.tag.replace(_PREFIX, '!!')}' has no meaning in a flow", event.start_mark)

    def _fault(self, message: str, mark: Mark) -> None:
        self.faults.append(self.source.diagnostic(message, mark.line, mark.column))

    def _fail(self, message: str, mark: Mark) -> NoReturn:
        self._fault(message, mark)
        raise _FatalFault


def plain_value(text: str) -> Any:
    """What an unquoted scalar means: null, a boolean, a number, or text. Raises ValueError for what JSON lacks."""
    for tag, pattern in Resolver.yaml_implicit_resolvers.get(text[:1], ()):
        if not pattern.match(text):
            continue
        kind = tag.removeprefix(_PREFIX)
        node = yaml.ScalarNode(tag, text)
        if kind == "null":
            return None
        if kind == "bool":
            return _CONSTRUCTOR.construct_yaml_bool(node)
        if kind == "int":
            return _integer(node)
        if kind == "float":
            number = _CONSTRUCTOR.construct_yaml_float(node)
            if not math.isfinite(number):
                raise ValueError(f"'{text}' is not a finite number")
            return number
    return text


def _integer(node: yaml.ScalarNode) -> int:
    try:
        number = int(_CONSTRUCTOR.construct_yaml_int(node))
    except ValueError:
        number = MAX_INTEGER
    if not -MAX_INTEGER <= number < MAX_INTEGER:
        raise ValueError("the number does not fit in 64 bits")
    return number


def _explain(error: yaml.MarkedYAMLError, text: str, mark: Mark) -> str:
    problem = (error.problem or "cannot be parsed").strip()
    if text[mark.index : mark.index + 1] == "\t" or "'\\t'" in problem:
        return "not YAML: a tab where only spaces may indent"
    return f"not YAML: {problem}" + (f" ({error.context})" if error.context else "")
