"""Where the shipped flows and schemas are: beside the packages in a checkout, inside `engine` in a wheel."""

from __future__ import annotations

from pathlib import Path

_ENGINE = Path(__file__).resolve().parent


def data_folder() -> Path:
    """The folder that holds `flows/` and `schemas/`."""
    packed = _ENGINE / "data"
    return packed if packed.is_dir() else _ENGINE.parent


def schema_file(name: str) -> Path:
    """The path of `schemas/<name>.schema.json`."""
    return data_folder() / "schemas" / f"{name}.schema.json"
