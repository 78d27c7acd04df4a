"""A model that says what it is told to: for tests, and for trying a flow."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence

from engine.errors import InputError, ModelError
from engine.models.base import Answer, Request
from engine.models.tokens import estimate_messages, estimate_tokens

Said = str | Answer | Exception
Script = Callable[[Request], Said] | Sequence[Said]


class ScriptedModel:
    """Answers from a function of the request, or from a list in order; an exception is raised.

    `requests` holds what was asked, in order; `delay` is seconds before each answer.
    """

    def __init__(self, script: Script, *, name: str = "scripted", delay: float = 0.0) -> None:
        self.name = name
        self.requests: list[Request] = []
        self._script = script
        self._delay = delay

    @property
    def calls(self) -> int:
        """How many requests were made."""
        return len(self.requests)

    async def answer(self, request: Request) -> Answer:
        """What the script says. Raises ModelError when a list has run out."""
        self.requests.append(request)
        said = self._say(request, len(self.requests) - 1)
        if self._delay:
            await asyncio.sleep(self._delay)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Answer):
            return said
        return Answer(
            text=said,
            model=self.name,
            input_tokens=estimate_messages(request.messages),
            output_tokens=estimate_tokens(said),
            estimated=True,
        )

    async def close(self) -> None:
        """Nothing to give back."""

    def _say(self, request: Request, index: int) -> Said:
        if callable(self._script):
            return self._script(request)
        if index >= len(self._script):
            raise ModelError(f"the scripted model has {len(self._script)} answers; {request.place} asked for one more")
        return self._script[index]


def load_script(path: str) -> ScriptedModel:
    """The model behind `--model script:MODULE:FUNCTION`; the function takes a Request and gives what to say.

    Raises InputError if there is no such function.
    """
    module, _, name = path.partition(":")
    try:
        script = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"--model script:{path}: cannot import it: {error}; write script:MODULE:FUNCTION") from error
    if not callable(script):
        raise InputError(f"--model script:{path}: not a function")
    return ScriptedModel(script, name=f"script:{path}")
