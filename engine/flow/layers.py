"""The documents a flow is made of: what the file extends, the file, and what the command line says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine.errors import FlowError, InputError
from engine.flow.library import find_flow
from engine.flow.merge import merge_all
from engine.flow.model import Place
from engine.flow.overrides import read_set, read_set_file
from engine.flow.reader import read_source
from engine.flow.source import Keys, Source, Spot, absolute


@dataclass(frozen=True)
class Layers:
    """Sources, the lowest first.

    Merging keeps a value whole or merges maps, so a value's origin is the last source that has its path.
    """

    sources: tuple[Source, ...]

    def document(self) -> dict[str, Any]:
        """The merged document, without nulls and without `extends`."""
        merged = merge_all([source.data for source in self.sources])
        merged.pop("extends", None)
        return merged

    def origin(self, path: Keys) -> tuple[Source, Spot]:
        """The source and spot of the value at a path; of the nearest part around it when no source has the path."""
        for length in range(len(path), -1, -1):
            for source in reversed(self.sources):
                found = source.find(path[:length])
                if found and (length or source.path):
                    return source, found[1]
        return self.sources[-1], self.sources[-1].root

    def has(self, path: Keys) -> bool:
        """Whether any source says something at a path."""
        return any(source.find(path) for source in self.sources)

    def place(self, path: Keys) -> Place:
        """Where the key at a path stands."""
        source, spot = self.origin(path)
        return source.place(spot.key_line, spot.key_column)

    def folder(self, path: Keys) -> Path:
        """The folder that a path written at this place is relative to."""
        file = self.origin(path)[0].path
        return file.parent if file else Path()

    def below(self, path: Keys) -> Layers:
        """The layers of a map that stands at a path, as documents of their own."""
        parts: list[Source] = []
        for source in self.sources:
            found = source.find(path)
            if found and not isinstance(found[0], dict):
                parts = []
            elif found:
                parts.append(replace(source, data=found[0], root=found[1]))
        return Layers(tuple(parts))

    @property
    def files(self) -> tuple[str, ...]:
        """Every flow file, the lowest first."""
        return tuple(str(source.path) for source in self.sources if source.path)


def read_layers(path_or_name: str, sets: Sequence[str] = (), set_files: Sequence[str] = ()) -> Layers:
    """A flow file with all that it extends and all overrides. Raises FlowError and InputError."""
    sources = _chain(find_flow(path_or_name))
    for text in sets:
        sources.append(read_set(text, merge_all([source.data for source in sources])))
    for text in set_files:
        sources.append(read_set_file(text, merge_all([source.data for source in sources])))
    return Layers(tuple(sources))


def _chain(path: Path) -> list[Source]:
    """The file and what it extends, the lowest first."""
    sources = [read_source(path)]
    seen = {absolute(path): sources[0].name}
    while True:
        source = sources[-1]
        target = source.data.get("extends")
        if not isinstance(target, str) or not target:
            return sources[::-1]
        assert source.path is not None
        try:
            base = find_flow(target, source.path.parent)
        except InputError as error:
            raise _at_extends(source, str(error)) from None
        if absolute(base) in seen:
            raise _at_extends(source, "a cycle: " + " -> ".join([*seen.values(), seen[absolute(base)]]))
        sources.append(read_source(base))
        seen[absolute(base)] = sources[-1].name


def _at_extends(source: Source, message: str) -> FlowError:
    spot = source.spots[id(source.data)]["extends"]
    return FlowError([source.diagnostic(f"extends: {message}", spot.line, spot.column)])
