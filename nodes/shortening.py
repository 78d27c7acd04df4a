"""A request that says less and less, by its node's own rule, until the model can read it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from engine.context import Context
from engine.errors import ContextTooLong
from engine.models.base import Message
from engine.models.tokens import estimate_messages

T = TypeVar("T")


@dataclass
class Shortening:
    """The beginnings of a conversation, each shorter than the one before.

    What was once too long is never tried again: later turns of the conversation go on with the beginning that fitted.
    """

    beginnings: AsyncIterator[list[Message]]
    ctx: Context
    _now: list[Message] | None = field(default=None, init=False)

    async def ask(self, send: Callable[[list[Message]], Awaitable[T]], turns: Sequence[Message] = ()) -> T:
        """What `send` returns for the longest beginning, with `turns` behind it, that the model can read.

        Raises ContextTooLong when nothing is left that could be cut, and what `send` raises.
        """
        failed: ContextTooLong | None = None
        while True:
            if self._now is None:
                try:
                    self._now = await anext(self.beginnings)
                except StopAsyncIteration:
                    raise failed or ContextTooLong("there is nothing to ask") from None
            messages = [*self._now, *turns]
            try:
                self._check(messages)
                return await send(messages)
            except ContextTooLong as error:
                failed, self._now = error, None
                self.ctx.event("note", text=f"asked again with less: {error}"[:300])

    def _check(self, messages: Sequence[Message]) -> None:
        needed, most = estimate_messages(messages), self.ctx.max_input_tokens
        if needed > most:
            raise ContextTooLong(f"the request is {needed} tokens, over the {most} of the model", limit=most)
