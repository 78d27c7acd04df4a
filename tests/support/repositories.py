"""Small repositories for tests, and a corpus of packages that are installed here."""

from __future__ import annotations

import asyncio
import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine.retrieval.corpus import Corpus
from engine.retrieval.embeddings import local_embedder
from nodes.references.maker import ReferenceMaker

README = """# Tidewatch

[![build](https://example.org/badge.svg)](https://example.org)

Tidewatch computes high and low water for a harbour from tables of the moon, and prints them for a day or a week.

- reads harbours from a TOML file
- knows daylight saving time

## Usage

Call the command with the name of a harbour and a date; it prints one line for each tide of that day.

```python
SECRET_CODE_EXAMPLE = tides("Cuxhaven")
```

## Changelog

- 1.2 fixed the moon
"""
PYPROJECT = """[project]
name = "Tidewatch"
version = "1.2"
description = "High and low water for harbours"
requires-python = ">=3.11"
license = "MIT"
dependencies = ["ephem>=4", "tomli; python_version < '3.11'"]
[project.optional-dependencies]
plot = ["matplotlib"]
[project.scripts]
tidewatch = "tidewatch.cli:main"
[build-system]
build-backend = "hatchling.build"
"""
TABLES = '''"""Tables of the moon. They are read once."""

from dataclasses import dataclass

SECRET_VALUE = "do not show this"
LIMIT: int = 7


@dataclass
class Tide:
    """One tide."""

    height: float

    def label(self, unit: str = "m") -> str:
        """How it is printed."""
        secret_body = "never shown"
        return secret_body


def tides(port: str, *, days: int = 1) -> list[Tide]:
    """The tides."""
    return []


def _private() -> None: ...
'''
TIDEWATCH: Mapping[str, str] = {
    "README.md": README,
    "pyproject.toml": PYPROJECT,
    "LICENSE": "MIT License\n\nPermission is hereby granted, free of charge, ...",
    "tidewatch/__init__.py": '"""Tides."""\n',
    "tidewatch/tables.py": TABLES,
    "tidewatch/cli.py": "def main(argv: list[str] | None = None) -> int:\n    return 0\n",
    "tests/test_tables.py": "def test_nothing() -> None: ...\n",
}


def lay(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files beneath a folder."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


@functools.cache
def installed_corpus() -> Path:
    """The folder of a corpus of some packages that flowrun needs."""
    folder = Path(tempfile.mkdtemp(prefix="flowrun-corpus-")) / "packages"
    names = ("click", "h11", "iniconfig", "jsonschema", "tenacity")
    made = [ReferenceMaker().make(f"installed:{name}", {}) for name in names]

    async def fill() -> None:
        corpus = Corpus.create(folder, "packages", local_embedder())
        await corpus.put_many([(one.repository, one.digest, one.chunks or ()) for one in made])
        await corpus.finish()

    asyncio.run(fill())
    return folder
