"""What is known about a failure: its traceback, the code, the contract, and how they hang together."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from nodes.contract import Contract, is_test
from nodes.project_code import ProjectCode
from nodes.testing import Failure
from nodes.trace import Trace, is_temporary, raised_type
from nodes.value_flow import Place, names_in


@dataclass(frozen=True)
class Finding:
    """The file at fault, None for the temporary test. `kind` is the category of what is wrong with it.

    symbol  the promised name that is broken, where one is
    """

    path: str | None
    kind: str
    symbol: str = ""


class Evidence:
    """A failure, the file that its test is about, the contract, the sources, and what else failed."""

    def __init__(
        self,
        failure: Failure,
        target: str,
        contract: Contract,
        sources: Mapping[str, str],
        failing: frozenset[str],
    ) -> None:
        self.failure, self.target, self.contract, self.failing = failure, target, contract, failing
        self.error = raised_type(failure)
        self.project = ProjectCode(contract, sources)
        self.trace = Trace(failure.message, failure.detail, {*contract.files, *sources})

    @cached_property
    def asker(self) -> str | None:
        """The file of the innermost frame, which did what failed."""
        return self.trace.frames[-1].path if self.trace.frames else None

    @cached_property
    def places(self) -> list[Place]:
        """The lines of the traceback, innermost first."""
        return [Place(self.project, one.path, one.line) for one in reversed(self.trace.frames)]

    @cached_property
    def raising(self) -> str | None:
        """The innermost file on the traceback that is no temporary test."""
        return next((one.path for one in reversed(self.trace.frames) if not is_temporary(one.path)), None)

    @cached_property
    def chain(self) -> list[str]:
        """The files that may have part in it, dependencies first: those on the traceback, the target, all they need."""
        starts = {one.path for one in (*self.trace.frames, *self.trace.named)} | {self.target}
        return self.contract.sorted(self.needed(starts))

    def needed(self, starts: Iterable[str]) -> set[str]:
        """Files of the tree and all that they need, by the contract and by their imports."""
        found: set[str] = set()
        open_ = list(starts)
        while open_:
            path = open_.pop()
            if path in found:
                continue
            found.add(path)
            open_ += self.direct(path)
        return found & self.contract.files.keys()

    def direct(self, path: str) -> list[str]:
        """What a file needs itself."""
        declared = self.contract.files[path]["depends_on"] if path in self.contract.files else ()
        code = self.project.code.get(path)
        imported = (self.project.target(path, one) for one in code.imports) if code else ()
        return [*declared, *(one for one in imported if one is not None and one != path)]

    @cached_property
    def used(self) -> set[str]:
        """Names that the failing code mentions, and that which it calls in turn."""
        found = set(re.findall(r"\w+", self.trace.text))
        open_ = set(found)
        for place in self.places:
            open_ |= names_in(place.function or place.tree) if place.function or is_temporary(place.path) else set()
        while open_:
            name = open_.pop()
            found.add(name)
            for node in self._bodies.get(name, ()):
                open_ |= names_in(node) - found
        return found

    @cached_property
    def _bodies(self) -> dict[str, list[ast.AST]]:
        """The functions and classes of the chain by their last name."""
        bodies: dict[str, list[ast.AST]] = {}
        for path in self.chain:
            for node in ast.walk(self.project.code[path].tree) if path in self.project.code else ():
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    bodies.setdefault(node.name, []).append(node)
                elif isinstance(node, ast.ClassDef):
                    inner = [one for one in node.body if getattr(one, "name", "") in ("__init__", "__post_init__")]
                    bodies.setdefault(node.name, []).extend(inner)
        return bodies

    def homes(self, name: str) -> list[str]:
        """Files whose contract declares a symbol of exactly that name."""
        return [path for path in self.contract.files if self.project.promised(path, name)]

    def mentions(self, path: str, word: str) -> bool:
        """Whether a file's purpose speaks of a word."""
        return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.contract.files[path]["purpose"]))

    def literal(self, path: str, word: str) -> bool:
        """Whether a file's text holds a word as data: a string of code, any word of a data file."""
        code = self.project.code.get(path)
        if code is None:
            return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", self.project.files.get(path, word)))
        constants = (one.value for one in ast.walk(code.tree) if isinstance(one, ast.Constant))
        keywords = (one.arg for one in ast.walk(code.tree) if isinstance(one, ast.keyword))
        return word in {*constants, *keywords}

    def before(self, path: str, other: str) -> bool:
        """Whether `other` needs `path`, directly or not, by the contract."""
        open_, seen = [other], {other}
        while open_:
            for needed in self.contract.files[open_.pop()]["depends_on"]:
                if needed == path:
                    return True
                if needed not in seen:
                    seen.add(needed)
                    open_.append(needed)
        return False

    def test_paths(self) -> Iterator[str]:
        """The tests on the traceback: the temporary one, or the repository's own."""
        yield from (one.path for one in self.trace.frames if is_temporary(one.path) or is_test(one.path))
