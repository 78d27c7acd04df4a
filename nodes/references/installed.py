"""A distribution that is installed in the running environment, read through its own list of files."""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from engine.errors import InputError
from nodes.references.files import Files, collect, read_regular


def read_installed(name: str) -> Files:
    """The files of an installed distribution. Raises InputError if there is none, or it lists no Python file."""
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError) as error:
        raise InputError(f"no distribution '{name}' is installed") from error
    places = _places(found)
    if not any(path.endswith(".py") for path in places):
        raise InputError("holds no Python file; if it is installed from a folder, give the folder")

    def read(paths: list[str]) -> dict[str, bytes]:
        contents = ((path, read_regular(places[path][0])) for path in paths)
        return {path: data for path, data in contents if data is not None}

    return collect({path: size for path, (_, size) in places.items()}, read)


def _places(found: Distribution) -> dict[str, tuple[Path, int]]:
    """Where each file is and how large; the folder of metadata is called so, whatever its version."""
    places = {}
    for one in found.files or []:
        path = one.as_posix()
        if path.startswith(("..", "/")):
            continue  # a script or a page of a manual, beside the packages
        place = Path(str(one.locate()))
        try:
            size = place.lstat().st_size
        except OSError:
            continue
        head, _, rest = path.partition("/")
        places[f"package.dist-info/{rest}" if head.endswith((".dist-info", ".egg-info")) and rest else path] = (
            place,
            size,
        )
    return places
