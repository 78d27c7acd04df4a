"""A model that is a folder: each request becomes a file, and whoever wants may write the answer file.

    DIR/requests/<stem>.json   the whole request
    DIR/requests/<stem>.md     the same to read: the messages and the schema
    DIR/answers/<stem>.txt     the answer's text, or
    DIR/answers/<stem>.json    {"text": "...", "finish_reason": "stop"}

An answer is taken once its file stands still, or at once if it was written under another name and renamed before the
second look. The stem holds a part of the request's digest, so a run that is repeated finds its answers again.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import InputError, ModelError
from engine.models.base import Answer, Request, digest
from engine.models.structured import schema_instruction
from engine.models.tokens import estimate_messages, estimate_tokens

_LONGEST_STEM = 100


class MailboxModel:
    """Writes requests into `folder` and waits for answers, looking every `poll` seconds.

    Raises InputError if the folder cannot be made.
    """

    name = "mailbox"
    waits_for_people = True

    def __init__(self, folder: Path, *, poll: float = 0.2) -> None:
        self.folder = folder
        self._poll = poll
        try:
            for part in ("requests", "answers"):
                (folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"--model mailbox:{folder}: cannot make the folder: {error.strerror}; give one that can be written"
            ) from error

    async def answer(self, request: Request) -> Answer:
        """Put the question down and wait for its answer. Raises ModelError if the answer file cannot be read as one."""
        stem = request_stem(request)
        try:
            _write(self.folder / "requests" / f"{stem}.json", json.dumps(request.to_json(), indent=2) + "\n")
            _write(self.folder / "requests" / f"{stem}.md", readable(request))
        except OSError as error:
            raise ModelError(f"{self.folder}: cannot write the request of {request.place}: {error.strerror}") from error
        file = await self._answer_file(stem)
        said = _read(file)
        return Answer(
            text=said["text"],
            model=self.name,
            finish_reason=said.get("finish_reason", "stop"),
            input_tokens=estimate_messages(request.messages),
            output_tokens=estimate_tokens(said["text"]),
            estimated=True,
        )

    async def close(self) -> None:
        """Nothing to give back: the files stay."""

    async def _answer_file(self, stem: str) -> Path:
        files = [self.folder / "answers" / f"{stem}{suffix}" for suffix in (".txt", ".json")]
        seen: dict[Path, tuple[int, int]] = {}
        while True:
            for file in files:
                now = _state(file)
                if now is not None and seen.get(file) == now:
                    return file
                if now is not None:
                    seen[file] = now
            await asyncio.sleep(self._poll)


def request_stem(request: Request) -> str:
    """The file name, without suffix, under which a request is put down."""
    place = re.sub(r"[^A-Za-z0-9._-]+", "_", request.place).strip("._-")[:_LONGEST_STEM]
    return f"{place or 'request'}-{digest(request.to_json())[:8]}"


def readable(request: Request) -> str:
    """A request as text: what a model would see of it."""
    parts = [f"=== {one.role} ===\n{one.content.rstrip()}\n" for one in request.messages]
    if request.schema is not None:
        parts.append(f"=== schema ===\n{schema_instruction(request.schema)}\n")
    return "\n".join(parts)


def _state(file: Path) -> tuple[int, int] | None:
    """Size and time of a file with something in it; an empty one is still being written."""
    try:
        found = file.stat()
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns) if found.st_size else None


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all."""
    partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8", errors="backslashreplace")
    partial.replace(file)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{file}: cannot be read as UTF-8 text: {error}; write it again and resume") from error
    if file.suffix == ".txt":
        return {"text": text}
    try:
        said = json.loads(text)
    except ValueError as error:
        raise ModelError(f"{file}: not JSON: {error}; write it again and resume") from error
    if not _is_answer(said):
        shape = '{"text": "...", "finish_reason": "stop"}'
        raise ModelError(
            f"{file}: must hold {shape}; a bare answer goes into {file.stem}.txt. Write it again and resume"
        )
    return dict(said)


def _is_answer(said: object) -> bool:
    return (
        isinstance(said, dict)
        and said.keys() <= {"text", "finish_reason"}
        and isinstance(said.get("text"), str)
        and isinstance(said.get("finish_reason", "stop"), str)
    )
