"""What the user hands to a run: files and values, read and checked before anything starts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from engine.errors import InputError
from engine.flow.model import Flow
from engine.journal import Journal

Inputs = Mapping[str, Any]


def read_inputs(flow: Flow, given: Mapping[str, str]) -> dict[str, Any]:
    """The flow's inputs from `name=value` pairs, each of its type. Raises InputError naming what is wrong."""
    unknown = sorted(set(given) - set(flow.inputs))
    if unknown:
        raise InputError(
            f"--input {unknown[0]}: flow '{flow.name}' has no such input; it has: {', '.join(flow.inputs)}"
        )
    inputs: dict[str, Any] = {}
    for name, declared in flow.inputs.items():
        if name in given:
            inputs[name] = (
                read_file_input(name, Path(given[name]))
                if declared.type == "file"
                else _value(name, given[name], declared.type)
            )
        elif declared.required:
            raise InputError(
                f"input '{name}' is missing ({declared.help or declared.type}); give it with --input {name}=..."
            )
        elif declared.default is not None:
            inputs[name] = (
                read_file_input(name, Path(declared.default)) if declared.type == "file" else declared.default
            )
    return inputs


_MOST_BYTES = 8 * 2**20


def read_file_input(name: str, path: Path) -> dict[str, Any]:
    """A text file as `{path, text, digest}`. Raises InputError if it is missing, empty, binary or over 8 MB."""
    try:
        if not path.is_file():
            raise InputError(
                f"--input {name}: {path}: no such file" if not path.exists() else f"--input {name}: {path}: not a file"
            )
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise InputError(
                f"--input {name}: {path}: {size / 2**20:.0f} MB is more than the 8 MB that an input file may have"
            )
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"--input {name}: {path}: cannot be read: {error.strerror}") from error
    if not data.strip():
        raise InputError(f"--input {name}: {path}: the file is empty")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"--input {name}: {path}: not UTF-8 text (byte {error.start}); convert it, or give another file"
        ) from error
    if "\0" in text:
        raise InputError(f"--input {name}: {path}: a binary file; give a text document")
    return {"path": str(path), "text": text, "digest": hashlib.sha256(data).hexdigest()}


def _value(name: str, text: str, kind: str) -> Any:
    if kind == "string":
        return text
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    wanted: Mapping[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}
    if not isinstance(value, wanted[kind]) or (kind != "boolean" and isinstance(value, bool)):
        raise InputError(f"--input {name}: '{text}' is not {'an' if kind == 'integer' else 'a'} {kind}")
    return value


def keep_inputs(folder: Path, inputs: Inputs) -> None:
    """Keep a run's inputs in its journal, so that a resume does not depend on the user's files."""
    journal = Journal(folder / "journal.sqlite")
    with closing(journal):
        journal.set_meta("inputs", journal.put({**_kept(journal), **inputs}))


def kept_inputs(journal: Journal) -> dict[str, Any]:
    """The inputs that a run's journal keeps."""
    kept: dict[str, Any] = journal.get(journal.meta("inputs"))
    return kept


def _kept(journal: Journal) -> dict[str, Any]:
    return kept_inputs(journal) if journal.meta("inputs") else {}


def changed_inputs(recorded: Inputs, choice: Literal["refuse", "keep", "use"]) -> dict[str, Any]:
    """The inputs as they are now, if a file among them changed and is to be used; else empty.

    `recorded` is what a run's record says. Raises InputError naming a file that changed or is gone, unless the run is
    to keep what it began with.
    """
    if choice == "keep":
        return {}
    files = {name: value for name, value in recorded.items() if isinstance(value, Mapping)}
    changed = [name for name, value in files.items() if _digest_now(value["path"]) != value["digest"]]
    if changed and choice == "refuse":
        path = Path(files[changed[0]]["path"])
        what = "changed since the run began" if path.exists() else "is gone"
        use = "; with the new one: --changed-inputs use" if path.exists() else ""
        raise InputError(
            f"input '{changed[0]}': {path} {what}. Go on with what the run began with: --changed-inputs keep{use}"
        )
    return {name: read_file_input(name, Path(files[name]["path"])) for name in changed}


def _digest_now(path: str) -> str | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def without_texts(inputs: Inputs) -> dict[str, Any]:
    """The inputs as a run's record shows them: a file by its path and digest."""
    return {
        name: {"path": str(Path(value["path"]).absolute()), "digest": value["digest"]}
        if isinstance(value, dict)
        else value
        for name, value in inputs.items()
    }
