"""`--set path=value` and `--set-file path=FILE`: one value of the flow from the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import Diagnostic, FlowError, InputError
from engine.flow.reader import MAX_BYTES, parse_value
from engine.flow.source import Source, Spot
from engine.flow.structure import top_level_keys
from engine.flow.suggestion import suggestion


def read_set(text: str, document: Mapping[str, Any]) -> Source:
    """The document that `path=value` stands for; the value is YAML. Raises FlowError.

    A path that begins with no key of the flow language is a parameter's: `qa.max_rounds=2`.
    """
    path, value = _split(text, "--set", "VALUE")
    try:
        parsed, source = parse_value(" " * (len(text) - len(value)) + value, "--set")
    except FlowError as error:
        raise FlowError([_on_the_command_line(one, text) for one in error.diagnostics]) from None
    return _document("--set", text, path, parsed, document, source.spots)


def read_set_file(text: str, document: Mapping[str, Any]) -> Source:
    """The document that `path=FILE` stands for; the value is the file's text. Raises FlowError, InputError."""
    path, name = _split(text, "--set-file", "FILE")
    try:
        if Path(name).exists() and not Path(name).is_file():
            raise InputError(f"--set-file {text}: '{name}' is no regular file")
        if Path(name).stat().st_size > MAX_BYTES:
            raise InputError(f"--set-file {text}: the file is larger than {MAX_BYTES} bytes")
        content = Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InputError(f"--set-file {text}: the file is not UTF-8") from None
    except OSError as error:
        raise InputError(f"--set-file {text}: cannot read the file: {error.strerror or error}") from None
    return _document("--set-file", text, path, content, document, {})


def _split(text: str, option: str, what: str) -> tuple[str, str]:
    path, sign, value = text.partition("=")
    if not sign or not path.strip() or not all(part.strip() for part in path.split(".")):
        raise InputError(f"{option} {text}: expected PATH={what}, such as {option} qa.max_rounds={what}")
    return path.strip(), value


def _on_the_command_line(fault: Diagnostic, text: str) -> Diagnostic:
    column = fault.column if fault.line == 1 else len(text) + 1
    return Diagnostic(fault.file, 1, column, fault.message, text)


def _document(
    option: str,
    text: str,
    path: str,
    value: Any,
    document: Mapping[str, Any],
    spots: dict[int, dict[str | int, Spot]],
) -> Source:
    parts = path.split(".")
    if parts[0] == "extends":
        raise InputError(f"{option} {text}: 'extends' can be said in a file only; write one that extends what you want")
    if parts[0] not in top_level_keys():
        parts = ["params", *parts]
    data: Any = value
    column = text.index("=") + 1
    for number, part in reversed(list(enumerate(parts))):
        data = {part: data}
        start = len(".".join(parts[:number])) + (number > 0)
        start -= len("params.") if path != ".".join(parts) else 0
        spots[id(data)] = {part: Spot(0, max(start, 0), 0, column, column)}
        column = max(start, 0)
    source = Source(option, None, text, data, spots)
    _check_known(source, parts, document)
    return source


def _check_known(source: Source, parts: list[str], document: Mapping[str, Any]) -> None:
    """A misspelt parameter is a mistake, not a new parameter. An empty map may be filled."""
    known: Any = document
    for depth, part in enumerate(parts):
        if not isinstance(known, Mapping):
            what = "is a list, which is replaced as a whole" if isinstance(known, list) else "is no map"
            found = source.find(tuple(parts[: depth + 1]))
            assert found
            message = f"{'.'.join(parts[:depth])} {what}"
            raise FlowError([source.diagnostic(message, 0, found[1].key_column)])
        if parts[0] == "params" and depth and part not in known and (known or depth == 1):
            found = source.find(tuple(parts[: depth + 1]))
            assert found
            where = f" in '{'.'.join(parts[1:depth])}'" if depth > 1 else ""
            hint = suggestion(part, known) or f". Known: {', '.join(sorted(known)) or 'none'}"
            raise FlowError([source.diagnostic(f"unknown parameter '{part}'{where}{hint}", 0, found[1].key_column)])
        if part not in known:
            return
        known = known[part]
