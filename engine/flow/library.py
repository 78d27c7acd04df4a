"""Finds flows: by path, or by name among those that come with flowrun."""

from __future__ import annotations

from pathlib import Path

from engine.errors import InputError
from engine.flow.suggestion import closest, suggestion
from engine.resources import data_folder

SUFFIXES = (".yaml", ".yml")


def find_flow(path_or_name: str, folder: Path | None = None) -> Path:
    """The file of a flow; a path is relative to `folder` (by default the working directory). Raises InputError."""
    if is_name(path_or_name):
        return _shipped(path_or_name)
    path = (folder or Path()) / path_or_name
    try:
        if path.exists() and not path.is_file():
            raise InputError(
                f"'{path_or_name}' is {'a folder' if path.is_dir() else 'no regular file'}, not a flow file"
            )
        if not path.exists():
            raise InputError(f"no flow file '{path_or_name}'{_near(path)}")
    except OSError as error:
        raise InputError(f"no flow file '{path_or_name[:100]}': {error.strerror}") from None
    return path


def is_name(path_or_name: str) -> bool:
    """Whether this names a shipped flow: it has no folder and no suffix."""
    return "/" not in path_or_name and "\\" not in path_or_name and not Path(path_or_name).suffix


def shipped_flows() -> list[str]:
    """Names of the flows that come with flowrun."""
    return sorted(one.stem for one in (data_folder() / "flows").glob("*.yaml"))


def _near(path: Path) -> str:
    """The end of a message that offers a flow file beside one that is missing."""
    if not path.parent.is_dir():
        return f": there is no folder '{path.parent}'"
    beside = {one.stem: one.name for one in path.parent.iterdir() if one.suffix in SUFFIXES}
    close = closest(path.stem, beside)
    return f". Did you mean '{beside[close]}'?" if close else ""


def _shipped(name: str) -> Path:
    known = shipped_flows()
    if name in known:
        return data_folder() / "flows" / f"{name}.yaml"
    local = next((name + suffix for suffix in SUFFIXES if Path(name + suffix).is_file()), None)
    hint = f". Did you mean '{local}'?" if local else suggestion(name, known)
    raise InputError(f"no flow '{name}' comes with flowrun{hint or '.'} Known: {', '.join(known) or 'none'}")
