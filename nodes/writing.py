"""The conversation in which a developer writes a file: briefs on request, patches, parts that were left unwritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.context import Context
from engine.errors import ModelError
from engine.models.base import Answer, Message
from engine.models.extraction import file_content, placeholders
from engine.prompts import render
from nodes.compact import Prompt, ask_within
from nodes.patch import PatchError, apply_patch, is_patch

MOST_BRIEFS = 2  # further briefs per task (CodeTeam, 3.2.5)
_PROMPTS = Path(__file__).parent / "prompts"
_REQUEST = re.compile(r"[-*\s]*BRIEF:?\s+`?([^\s`]+)`?\s*", re.IGNORECASE)


@dataclass
class Writing:
    """One file being written.

    current   its content so far, which a patch applies to; None for a new file
    brief_of  the brief of any file of the tree, or None for what is not in it
    briefs, context_tokens  what was asked for and what each call took, for the record
    """

    path: str
    prompt: Prompt
    limit: int
    current: str | None
    brief_of: Callable[[str], str | None]
    ctx: Context
    briefs: list[str] = field(default_factory=list)
    context_tokens: list[int] = field(default_factory=list)

    async def content(self) -> tuple[str, list[str]]:
        """The file's content, and the places that are still unwritten after it was sent back once.

        Raises ModelError when there is none to be had.
        """
        answer, messages = await self._first_answer()
        content, messages = await self._content(answer, messages)
        left = placeholders(content, self.path)
        if left:
            places = "\n".join(f"- {one}" for one in left)
            reply = render(_PROMPTS / "placeholders.md", path=self.path, places=places)
            answer = await self._ask([*messages, Message("assistant", content), *reply], "complete")
            content = file_content(answer.text, self.path)
            left = placeholders(content, self.path)
        return content, left

    async def _first_answer(self) -> tuple[Answer, list[Message]]:
        answer, messages = await ask_within(self.prompt, self.limit, lambda asked: self._ask(asked, ""))
        step = 0
        while asked := requested_briefs(answer.text):
            if step > MOST_BRIEFS:
                raise ModelError(f"the developer of {self.path} asks for briefs and writes nothing")
            step += 1
            reply = render(_PROMPTS / "further_briefs.md", path=self.path, briefs=self._granted(asked))
            messages = [*messages, Message("assistant", answer.text), *reply]
            answer = await self._ask(messages, f"briefs {step}")
        return answer, messages

    def _granted(self, asked: Sequence[str]) -> str:
        parts = []
        for path in asked:
            if len(self.briefs) == MOST_BRIEFS:
                parts.append(f"### {path}\nno further brief: {MOST_BRIEFS} are the most for one task")
                continue
            self.briefs.append(path)
            parts.append(self.brief_of(path) or f"### {path}\nthere is no such file in the tree")
        return "\n\n".join(parts)

    async def _content(self, answer: Answer, messages: list[Message]) -> tuple[str, list[Message]]:
        """What an answer makes of the file. A patch that does not apply is sent back once, for the whole file."""
        if self.current is None or not is_patch(answer.text):
            return file_content(answer.text, self.path), messages
        try:
            return apply_patch(self.current, answer.text, self.path), messages
        except PatchError as fault:
            reply = render(_PROMPTS / "patch_refused.md", path=self.path, fault=str(fault))
            messages = [*messages, Message("assistant", answer.text), *reply]
            answer = await self._ask(messages, "whole")
            return file_content(answer.text, self.path), messages

    async def _ask(self, messages: Sequence[Message], step: str) -> Answer:
        answer = await self.ctx.ask(messages, step=step)
        self.context_tokens.append(answer.input_tokens)
        return answer


def requested_briefs(text: str) -> list[str]:
    """The paths whose briefs an answer asks for: one that consists of lines `BRIEF: path` and nothing else."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    found = [_REQUEST.fullmatch(line) for line in lines]
    return [] if not found or None in found else [one[1] for one in found if one]
