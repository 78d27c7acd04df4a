"""Any OpenAI-compatible endpoint as a model: retries, shared limits, workarounds, usage and cost."""

from __future__ import annotations

import os
import time
from asyncio import sleep
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from engine.models.base import Answer, Request
from engine.models.endpoint import Endpoint, find_endpoint
from engine.models.events import OnEvent, no_event
from engine.models.failures import RETRIED, Failure, Kind
from engine.models.features import Features, Plan
from engine.models.limiter import Limiter
from engine.models.payload import body_of, messages_of
from engine.models.remedies import final_error
from engine.models.spec import ModelSpec
from engine.models.tokens import count_messages, count_tokens, estimate_tokens
from engine.models.wire import Reply, Wire

_LIMITERS: WeakValueDictionary[tuple[str, str], Limiter] = WeakValueDictionary()
_CUT_PROMPT = 0.4
_LONG_PROMPT = 2000


class OpenAIModel:
    """A model at an endpoint. Raises InputError if the key is missing or the address is none."""

    def __init__(
        self,
        spec: ModelSpec,
        *,
        on_event: OnEvent = no_event,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.name = spec.name
        self.endpoint = find_endpoint(spec, environment)
        self.features = Features("max_completion_tokens" if self.endpoint.is_openai else "max_tokens")
        self.limiter = _limiter(self.endpoint)
        self._price = spec.price
        self._on_event = on_event
        self._patience = spec.patience
        self._wire = Wire(self.endpoint, spec.name, idle=spec.patience.idle)
        self._reached = self._warned = False

    async def answer(self, request: Request) -> Answer:
        """The model's answer, after as many tries as it takes.

        Raises ModelError with a remedy when there is none to be had, at once where trying again cannot help, and
        ContextTooLong when the request is longer than the model reads.
        """
        call = _Call(request, self.name, self.features.plan(request.schema, request.decoding.max_output_tokens))
        while True:
            try:
                reply = await self._send(call)
            except Failure as failure:
                await self._recover(call, failure)
                continue
            self._learn(call, reply)
            if not self._ignored_schema(call, reply):
                return self._answer(call, reply)
            call.wasted.append(reply)

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _send(self, call: _Call) -> Reply:
        request, plan = call.request, call.plan
        messages, body = messages_of(request, plan), body_of(request, plan)
        async with self.limiter.call(call.prompt_tokens + plan.max_output):
            call.began = time.monotonic()
            reply = await self._wire.send(messages, body, stream=plan.stream, usage=plan.uses("stream_options"))
        return _sound(reply)

    async def _recover(self, call: _Call, failure: Failure) -> None:
        """Make the call ready for another try, having waited; raises ModelError when there is no use in one."""
        call.failed[failure.kind] += 1
        self.limiter.learn(failure.headers)
        found = self._work_around(call, failure)
        if found is not None:
            call.plan = found[0]
            self._tell("model workaround", call, what=found[1], said=failure.message)
            return
        if failure.kind not in RETRIED or self._worn_out(call, failure):
            known = list(await self._wire.models()) if failure.kind == "model" else []
            raise final_error(
                failure,
                call.request.place,
                self.endpoint,
                self.name,
                tries=call.failed.total(),
                models=known,
            )
        await self._wait(call, failure)

    def _work_around(self, call: _Call, failure: Failure) -> tuple[Plan, str] | None:
        request, plan = call.request, call.plan
        found = self.features.work_around(failure, plan, request.schema, call.prompt_tokens)
        if found is None and failure.kind in ("malformed", "empty") and plan.stream:
            call.unstreamed = failure.kind == "malformed"
            return replace(plan, stream=False), "asked again without streaming"
        if found is None and failure.kind == "server" and plan.schema_by == "format" and call.failed["server"] > 1:
            return replace(plan, schema_by="prompt"), "asked again with the schema in the prompt"
        return found

    def _worn_out(self, call: _Call, failure: Failure) -> bool:
        most = self._patience.tries[failure.kind]
        if failure.kind in ("connection", "malformed") and not self._reached:
            most = min(most, self._patience.unreached)
        too_long = failure.retry_after is not None and failure.retry_after > self._patience.asked
        return too_long or call.failed[failure.kind] >= most

    async def _wait(self, call: _Call, failure: Failure) -> None:
        pause = self._patience.pause(call.failed.total())
        if failure.retry_after is not None:
            pause = max(failure.retry_after, pause / 8)
        shared = failure.kind in ("rate_limit", "timeout") or failure.retry_after is not None
        self._tell("model retry", call, why=str(failure), failure=failure.kind, wait=round(pause, 3))
        if shared:
            self.limiter.refused(call.began, 0.0 if failure.kind == "timeout" else pause)
        else:
            await sleep(pause)

    def _learn(self, call: _Call, reply: Reply) -> None:
        self._reached = True
        self.limiter.learn(reply.headers)
        self.limiter.succeeded()
        if call.unstreamed:
            self.features.answered_unstreamed()
        if call.plan.schema_by == "prompt" and call.failed["server"] > 1 and self.features.schema_by == "format":
            self.features.lacking.add("json_schema")
        self._look_for_cut_prompt(call, reply)

    def _look_for_cut_prompt(self, call: _Call, reply: Reply) -> None:
        """Warn, once, of an endpoint that silently reads only the end of a long prompt."""
        read, asked = reply.input_tokens, call.prompt_tokens
        if not self._warned and read is not None and asked > _LONG_PROMPT and read < _CUT_PROMPT * asked:
            self._warned = True
            self._tell("model warning", call, what=f"read {read} of about {asked} tokens: it may cut long prompts")

    def _ignored_schema(self, call: _Call, reply: Reply) -> bool:
        """Whether the answer is to be asked for again because the endpoint did not look at the schema."""
        schema = call.request.schema
        if schema is None or reply.finish_reason != "stop":
            return False
        learned = self.features.judge_json(reply.text, schema, call.plan)
        if learned is None:
            return False
        self._tell("model workaround", call, what=learned)
        if "json_schema" not in self.features.lacking:
            return False
        call.plan = replace(call.plan, schema_by="prompt")
        return True

    def _answer(self, call: _Call, reply: Reply) -> Answer:
        counts = [_counted(one, call.prompt_tokens, self.name) for one in (*call.wasted, reply)]
        read, written, cached = (sum(one) for one in zip(*counts, strict=True))
        full = not self.endpoint.is_openai and (reply.output_tokens or 0) >= call.plan.max_output
        return Answer(
            text=self.endpoint.without_key(reply.text),
            model=reply.model or self.name,
            # Some endpoints say "stop" when they stopped at the limit.
            finish_reason="length" if full else reply.finish_reason or "stop",
            input_tokens=read,
            output_tokens=written,
            cached_tokens=cached,
            estimated=any(one.input_tokens is None for one in (*call.wasted, reply)),
            cost=_cost(self._price, read, written, cached),
        )

    def _tell(self, kind: str, call: _Call, **data: Any) -> None:
        said = {name: self.endpoint.without_key(one) if isinstance(one, str) else one for name, one in data.items()}
        self._on_event(kind, {"place": call.request.place, "model": self.name, "failures": call.failed.total(), **said})


@dataclass
class _Call:
    """One request on its way: how it is sent next, what failed so far, replies that were of no use."""

    request: Request
    model: str
    plan: Plan
    failed: Counter[Kind] = field(default_factory=Counter)
    wasted: list[Reply] = field(default_factory=list)
    unstreamed: bool = False
    began: float = 0.0

    @cached_property
    def prompt_tokens(self) -> int:
        """About how long the prompt is."""
        schema = 0 if self.request.schema is None else estimate_tokens(str(self.request.schema))
        return count_messages(self.request.messages, self.model) + schema


def _limiter(endpoint: Endpoint) -> Limiter:
    """The one limiter of an address and a key."""
    return _LIMITERS.setdefault((endpoint.url, endpoint.key), Limiter())


def _sound(reply: Reply) -> Reply:
    """The reply, if it is an answer; raises Failure."""
    if reply.refusal:
        raise Failure("refusal", reply.refusal)
    if reply.finish_reason == "content_filter":
        raise Failure("content_filter", "the answer was stopped by a content filter")
    if reply.finish_reason is None:
        raise Failure("malformed", "the stream ended before the answer did")
    if not reply.text.strip() and reply.finish_reason != "length":
        raise Failure("empty", "the answer is empty")
    return reply


def _counted(reply: Reply, prompt_tokens: int, model: str) -> tuple[int, int, int]:
    read = prompt_tokens if reply.input_tokens is None else reply.input_tokens
    written = count_tokens(reply.text, model)[0] if reply.output_tokens is None else reply.output_tokens
    return read, written, reply.cached_tokens


def _cost(price: Mapping[str, float] | None, read: int, written: int, cached: int) -> float | None:
    if price is None:
        return None
    fresh = (read - cached) * price["input"] + cached * price.get("cached", price["input"])
    return (fresh + written * price["output"]) / 1_000_000
