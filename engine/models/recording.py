"""Recordings of what models said: JSON lines, in the order of answering, to read, to diff and to replay.

    {"flowrun_recording": 1, "model": "gpt-4o"}
    {"place": "cto#1", "key": "0f3a…", "request": {"messages": […], "decoding": {…}, …}, "answer": {…}}

A request names its model only if that is not the one of the first line. No key and no address is ever in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.errors import InputError
from engine.models.base import Answer, Model, Request, digest

FORMAT = 1


@dataclass(frozen=True)
class Entry:
    """One recorded answer."""

    request: Request
    answer: Answer


@dataclass(frozen=True)
class Recording:
    """A recording that was read: the model of its first line, and its entries in order."""

    model: str
    entries: tuple[Entry, ...]


class RecordingModel:
    """Asks another model and appends each answer to a file at once; a request that is in the file is not written again.

    Raises InputError if the file is something else or cannot be written.
    """

    def __init__(self, inner: Model, path: Path) -> None:
        self._inner = inner
        self._path = path
        self._header, self._known = _continue(path, inner.name)

    @property
    def name(self) -> str:
        """The other model's name."""
        return self._inner.name

    @property
    def waits_for_people(self) -> bool:
        """Whether the other model's answers come from people, and so perhaps never."""
        return bool(getattr(self._inner, "waits_for_people", False))

    async def answer(self, request: Request) -> Answer:
        """The other model's answer, recorded."""
        answer = await self._inner.answer(request)
        key = request_key(request)
        if key not in self._known:
            self._known.add(key)
            _append(self._path, _entry_line(request, answer, key, self._header))
        return answer

    async def close(self) -> None:
        """Close the other model."""
        await self._inner.close()


def request_key(request: Request) -> str:
    """The identity of a request, short enough to read."""
    return digest(request.to_json())[:16]


def read_recording(path: Path) -> Recording:
    """Read a recording. A last line that was cut off is left out.

    Raises InputError if the file is missing, is no recording, or has a broken line.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot read the recording: {error.strerror}") from error
    whole, cut_off = lines[:-1], lines[-1]
    if cut_off and _whole(cut_off):
        whole.append(cut_off)
    model = _header(path, whole[0] if whole else b"")
    entries = (_entry(path, number, line, model) for number, line in enumerate(whole[1:], 2) if line.strip())
    return Recording(model, tuple(entries))


def _continue(path: Path, model: str) -> tuple[str, set[str]]:
    """Make a file ready to append to; returns the model of its first line and the keys that it holds."""
    try:
        if not path.exists() or path.stat().st_size == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
            _append(path, _line({"flowrun_recording": FORMAT, "model": model}))
            return model, set()
        found = read_recording(path)
        _mend_end(path)
    except OSError as error:
        raise InputError(f"--record {path}: cannot be written: {error.strerror}; give another file") from error
    return found.model, {request_key(one.request) for one in found.entries}


def _mend_end(path: Path) -> None:
    """End the last line, or cut it off where a killed run left it unfinished."""
    with path.open("r+b") as file:
        data = file.read()
        last = data[data.rfind(b"\n") + 1 :]
        if last and _whole(last):
            file.write(b"\n")
        elif last:
            file.truncate(len(data) - len(last))


def _append(path: Path, line: bytes) -> None:
    """One write, so that recorders of the same file do not mix their lines."""
    with path.open("ab", buffering=0) as file:
        file.write(line)


def _entry_line(request: Request, answer: Answer, key: str, header_model: str) -> bytes:
    asked = request.to_json()
    place, model = asked.pop("place"), asked.pop("model")
    if model != header_model:
        asked["model"] = model
    said = asdict(answer)
    if not answer.drifted:
        del said["drifted"]
    return _line({"place": place, "key": key, "request": asked, "answer": said})


def _line(data: Mapping[str, Any]) -> bytes:
    try:
        return (json.dumps(data, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:  # a lone surrogate can only be written escaped
        return (json.dumps(data) + "\n").encode()


def _whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _header(path: Path, line: bytes) -> str:
    try:
        header = json.loads(line)
        version, model = header["flowrun_recording"], header["model"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}:1: not a recording: it does not begin with a flowrun_recording line") from error
    if version != FORMAT or not isinstance(model, str):
        raise InputError(f"{path}:1: a recording of format {version!r}; this flowrun knows {FORMAT}")
    return model


def _entry(path: Path, number: int, line: bytes, model: str) -> Entry:
    try:
        data = json.loads(line)
        request = Request.from_json({"place": data["place"], "model": model, **data["request"]})
        return Entry(request, Answer(**data["answer"]))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}:{number}: a broken line in the recording ({error}); restore or remove it") from error
