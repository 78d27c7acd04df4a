"""Which distribution an import comes from: `yaml` is PyYAML's.

In this order: the list of well-known names (`known_packages.txt`), what is installed where flowrun runs, and
the distribution's own name. A declared distribution that neither of the first two knows may be imported by a name that
resembles its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata

from packaging.utils import canonicalize_name

from nodes.sketch_requirements import import_names_of, package_name

_ALWAYS = frozenset({"pytest", "_pytest"})  # every environment for generated code has pytest
_MORE = {  # distributions with other names that may also be declared by the name of a module
    "antlr4-python3-runtime": frozenset({"antlr4"}),
    "discord-py": frozenset({"discord"}),
    "faiss-cpu": frozenset({"faiss"}),
    "google-api-python-client": frozenset({"googleapiclient"}),
    "grpcio": frozenset({"grpc"}),
    "mysql-connector-python": frozenset({"mysql"}),
    "opencv-python-headless": frozenset({"cv2"}),
    "protobuf": frozenset({"google"}),
    "psycopg2-binary": frozenset({"psycopg2"}),
    "pynacl": frozenset({"nacl"}),
    "python-telegram-bot": frozenset({"telegram"}),
    "pywin32": frozenset({"win32api", "win32con", "win32gui", "pythoncom"}),
    "setuptools": frozenset({"pkg_resources"}),
}


class DeclaredImports:
    """The top-level names that declared requirements make importable."""

    def __init__(self, requirements: Iterable[str]) -> None:
        self._names = set(_ALWAYS)
        self._guesses: list[str] = []
        for name in filter(None, map(package_name, requirements)):
            found = _listed(name) | _installed().get(name, frozenset())
            self._names |= found | {name.replace("-", "_")}
            if not found:
                self._guesses.append(_bare(name))

    def provides(self, module: str) -> bool:
        """Whether a dotted module may come from one of the requirements."""
        top = module.partition(".")[0]
        if top.lower() in {one.lower() for one in self._names}:
            return True
        bare = _bare(top)
        return any(len(min(bare, one, key=len)) > 2 and (bare in one or one in bare) for one in self._guesses)


def _listed(distribution: str) -> frozenset[str]:
    return import_names_of(distribution) | _MORE.get(distribution, frozenset())


def _bare(name: str) -> str:
    return re.sub(r"[-_.]|python|^py|py$", "", name.lower())


@cache
def _installed() -> dict[str, frozenset[str]]:
    """The top-level names of the distributions that are installed here."""
    found: dict[str, set[str]] = {}
    for top, distributions in metadata.packages_distributions().items():
        for one in distributions:
            found.setdefault(canonicalize_name(one), set()).add(top)
    return {name: frozenset(tops) for name, tops in found.items()}
