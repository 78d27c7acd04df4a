"""What a node may do beyond computing: ask a model, run a command, touch the repository, tell what happened.

Each of these is an effect. Costly ones go through the journal, so a node that is run again after a stop gets
the recorded results at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from engine.models.base import Answer, Message
from engine.sandbox.base import SandboxResult
from engine.workspace import Workspace


class Context(Protocol):
    """Handed to every node call.

    node, item, visit  which node, which item of its map (None outside a map), which visit of the node (from 1)
    params    the declared parameters, nested as in the flow
    upstream  in a map: what the items in `after` returned, by key; an item that failed is missing
    seed      of the run; anything drawn by chance is drawn from it
    """

    node: str
    item: str | None
    visit: int
    params: Mapping[str, Any]
    upstream: Mapping[str, Mapping[str, Any]]
    seed: int

    @property
    def workspace(self) -> Workspace:
        """The run's Git repository."""

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        step: str = "",
        role: str | None = None,
        schema: Mapping[str, Any] | None = None,
        sample: int = 0,
    ) -> Answer:
        """A text answer; one that was cut off is continued and joined.

        `step` names this call among the node's others in records ("claim"). `schema` asks for JSON of that shape
        without checking it. Raises ModelError.
        """

    async def ask_json(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        *,
        step: str = "",
        role: str | None = None,
        sample: int = 0,
    ) -> Any:
        """An answer that satisfies `schema`; one re-ask carries the validation error. Raises AnswerError, ModelError."""

    async def run(
        self,
        command: Sequence[str],
        files: Mapping[str, bytes],
        *,
        collect: Sequence[str] = (),
        timeout: float | None = None,
    ) -> SandboxResult:
        """Run a command over files in the run's sandbox."""

    async def require(self, requirements: Sequence[str]) -> Mapping[str, str]:
        """Install requirement specifiers for later `run` calls, from wheels only; returns what failed, with the reason."""

    def event(self, kind: str, **data: Any) -> None:
        """One line in events.jsonl and, where it matters, on the terminal."""
