"""The way to the terminal: without what could command it, and without it when nobody reads."""

from __future__ import annotations

import os
import re
import sys

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """The text without control characters other than line ends and tabs, so that it cannot command the terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def drop_output() -> None:
    """Write what is still printed to nowhere, so that the interpreter does not complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
