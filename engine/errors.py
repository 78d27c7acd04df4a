"""Every error that flowrun raises on purpose.

    FlowrunError                exit 1
    ├── InputError              exit 2   a mistake in what the user gave: a flow, an input, an option, a folder
    │   └── FlowError           exit 2   a flow file with one or more faults, each with its place
    ├── NodeError               exit 1   a node failed, or broke its contract; carries node and item
    ├── ModelError              exit 1   the model could not be asked, or what it said could not be used
    │   ├── ContextTooLong      exit 1   a request that is longer than the model reads
    │   ├── AnswerError         exit 1   an answer that breaks its JSON Schema, after one re-ask
    │   └── ReplayMiss          exit 1   a recording holds no answer for this request
    ├── SandboxError            exit 1   the sandbox broke (not: the code in it failed)
    ├── WorkspaceError          exit 1   a write that the workspace refuses
    ├── JournalError            exit 1   a journal that cannot be trusted
    ├── BudgetExceeded          exit 1   a limit of the run's budget was reached
    └── Stopped                 exit 130 the user stopped the run
        └── Waiting             exit 130 the run waits for approval

A message says what is wrong, where, and what to do. The command line prints it as one block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class FlowrunError(Exception):
    """Base of the tree; `exit_code` is what the command line ends with."""

    exit_code = 1


class InputError(FlowrunError):
    """A mistake in what the user gave. Nothing was started, nothing is left behind."""

    exit_code = 2


@dataclass(frozen=True)
class Diagnostic:
    """One fault of a flow file: `file:line:column: message`, the line itself, and perhaps a suggestion.

    `line` and `column` count from 1; `snippet` is the offending line without its line end, or empty.
    """

    file: str
    line: int
    column: int
    message: str
    snippet: str = ""

    def __str__(self) -> str:
        head = f"{self.file}:{self.line}:{self.column}: {self.message}"
        if not self.snippet:
            return head
        caret = " " * max(self.column - 1, 0) + "^"
        return f"{head}\n    {self.snippet}\n    {caret}"


class FlowError(InputError):
    """A flow file with faults; `diagnostics` holds all of them, in the order of the file."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__("\n".join(str(one) for one in self.diagnostics))


class NodeError(FlowrunError):
    """A node failed or broke its contract. `node` and `item` say which."""

    def __init__(self, message: str, *, node: str, item: str | None = None) -> None:
        self.node, self.item = node, item
        where = f"node '{node}'" + (f", item '{item}'" if item is not None else "")
        super().__init__(f"{where}: {message}")


class ModelError(FlowrunError):
    """The model could not be asked, or its answer could not be used."""


class ContextTooLong(ModelError):
    """A request that is longer than the model reads; `limit` in tokens, where the endpoint says it.

    A node that can say less may ask again with less.
    """

    def __init__(self, message: str, *, limit: int | None = None) -> None:
        self.limit = limit
        super().__init__(message)


class AnswerError(ModelError):
    """An answer that still breaks its JSON Schema after one re-ask; `text` is what the model said."""

    def __init__(self, message: str, *, text: str) -> None:
        self.text = text
        super().__init__(message)


class ReplayMiss(ModelError):
    """A recording that holds no answer for a request."""


class SandboxError(FlowrunError):
    """The sandbox itself broke; a failing program inside it is a result, not an error."""


class WorkspaceError(FlowrunError):
    """A write that the Git workspace refuses."""


class JournalError(FlowrunError):
    """A journal that is damaged or of a newer format."""


class BudgetExceeded(FlowrunError):
    """A limit of the budget was reached: which, its value, and what is used of it."""

    def __init__(self, limit: str, value: float, used: float) -> None:
        self.limit, self.value, self.used = limit, value, used
        super().__init__(f"budget: {limit} of {value:g} reached ({used:g} used)")


class Stopped(FlowrunError):
    """The user stopped the run; it can be resumed."""

    exit_code = 130


class Waiting(Stopped):
    """The run stands before a node that wants approval. `node` and `visit` say which."""

    def __init__(self, node: str, visit: int) -> None:
        self.node, self.visit = node, visit
        super().__init__(
            f"waiting for approval before node '{node}' (visit {visit}): flowrun approve, or flowrun reject"
        )
