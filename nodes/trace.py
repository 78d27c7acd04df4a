"""A failure's traceback as pytest prints it with `--tb=short`: the frames in the repository, and what was raised."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodes.testing import Failure

TEMPORARY = ".flowrun-qa/"  # where temporary tests stand

_FRAME = re.compile(r"^(?:\./)?([\w./-]+\.py):(\d+): (?:in (\S+))?", re.MULTILINE)
_FILE = re.compile(r"\b[Ff]ile \"?([^\"\n,]+)\"?, line (\d+)")
_ERROR = re.compile(r"^E\s+(.*)$", re.MULTILINE)
_TYPE = re.compile(r"^(?:E\s+)?([A-Za-z_][\w.]*(?:Error|Exception|Exit))\b", re.MULTILINE)
_HANDLING = "During handling of the above exception, another exception occurred:"
_CAUSE = "The above exception was the direct cause of the following exception:"


def raised_type(failure: Failure) -> str:
    """The type of the exception: where pytest itself ended, the one that its output tells."""
    if failure.error not in ("exit", "Exception"):
        return failure.error
    found = _TYPE.findall(failure.detail)
    return found[-1].rpartition(".")[2] if found else failure.error


@dataclass(frozen=True)
class Frame:
    """One place on the way to the error, outermost first. `function` is None where none is told."""

    path: str
    line: int
    function: str | None


@dataclass(frozen=True)
class Trace:
    """What a traceback says. `files` are the paths of the repository."""

    message: str
    detail: str
    files: Collection[str]

    @cached_property
    def part(self) -> str:
        """The exception that began it: the cause of one that was raised from it, else the last one."""
        return self.detail.rpartition(_HANDLING)[2].partition(_CAUSE)[0]

    @cached_property
    def text(self) -> str:
        """What was raised, with the message of the report where the traceback has none."""
        said = "\n".join(_ERROR.findall(self.part))
        return f"{said}\n{self.message}" if self.part == self.detail else said or self.message

    @cached_property
    def frames(self) -> list[Frame]:
        """Frames in files of the repository and in the temporary test."""
        return list(self._frames())

    @cached_property
    def named(self) -> list[Frame]:
        """Files that the error itself names: one that does not parse, the test that wants a fixture."""
        found = ((self._known(path), int(line)) for path, line in _FILE.findall(self.part))
        return [Frame(path, line, None) for path, line in found if path]

    def _frames(self) -> Iterator[Frame]:
        for path, line, function in _FRAME.findall(self.part):
            if known := self._known(path):
                yield Frame(known, int(line), function or None)

    def _known(self, path: str) -> str | None:
        """The path in the repository of a path that may be absolute."""
        if (place := path.find(TEMPORARY)) >= 0:
            return path[place:]
        if path in self.files:
            return path
        return next((one for one in self.files if path.startswith("/") and path.endswith(f"/{one}")), None)


def is_temporary(path: str) -> bool:
    """Whether a path is a temporary test's."""
    return path.startswith(TEMPORARY)
