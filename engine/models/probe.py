"""Tries out what a model at an endpoint can do, with a few short questions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ModelError
from engine.models.base import Answer, Decoding, Message, Request
from engine.models.failures import Failure
from engine.models.features import Feature, context_limit, output_limit
from engine.models.openai import OpenAIModel
from engine.models.patience import Patience
from engine.models.spec import ModelSpec
from engine.models.structured import parse_json, schema_faults
from engine.models.wire import Reply, Wire

PATIENCE = Patience(
    tries={"rate_limit": 5, "server": 3, "connection": 3, "timeout": 1, "malformed": 3, "empty": 2},
    first=0.5,
    longest=5.0,
    asked=60.0,
    idle=120.0,
)
_AT_ONCE = 4
_NO_MODEL_GIVES_SO_MANY = 100_000_000
_REFUSED_WITHIN = 10.0  # seconds
_ESTIMATE = "tokens are estimated, one for four bytes of UTF-8; budgets and costs go by that"
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 40}, "large": {"type": "boolean"}},
    "required": ["city", "large"],
    "additionalProperties": False,
}
_INSTEAD: Mapping[Feature, tuple[str, str]] = {
    "stream": ("streaming", "answers are taken whole"),
    "system": ("system role", "the system message stands at the head of the first user message"),
    "temperature": ("temperature", "it is left out: the endpoint samples in its own way"),
    "top_p": ("top_p", "it is left out: the endpoint samples in its own way"),
}


@dataclass(frozen=True)
class Finding:
    """One thing that was tried.

    ok       True, False, or None where it cannot be told
    detail   what was found
    instead  what flowrun does where the endpoint lacks it
    """

    what: str
    ok: bool | None
    detail: str
    instead: str = ""


async def probe(spec: ModelSpec) -> list[Finding]:
    """What an endpoint and a model can do, and what of it is worked around.

    Raises InputError if there is no key or no address, and ModelError if the model does not answer at all.
    """
    model = OpenAIModel(spec)
    wire = Wire(model.endpoint, spec.name, idle=spec.patience.idle)
    try:
        first = await model.answer(_question("text", "Name a city."))
        known = await wire.models()
        return [
            _text(first),
            _names(known, spec.name),
            *_lacks(model),
            _streaming_usage(model, first),
            *await _whole(model, wire),
            await _seed(model),
            await _structured(model),
            await _parallel(model),
            _rates(model),
            *await _sizes(model, wire, _read_by(known, spec.name)),
        ]
    finally:
        await wire.close()
        await model.close()


def _question(step: str, text: str, **changes: Any) -> Request:
    messages = (Message("system", "You answer in one short line."), Message("user", text))
    decoding = Decoding(temperature=0.0, top_p=1.0, max_output_tokens=400, seed=7)
    return replace(Request(f"probe:{step}", "", messages, decoding), **changes)


def _text(answer: Answer) -> Finding:
    return Finding("text", True, f"'{answer.model}' answers; finish reason '{answer.finish_reason}'")


def _names(known: Mapping[str, int | None], name: str) -> Finding:
    if not known:
        return Finding("list of models", False, "it does not say which models it has", "names are not checked")
    shown = ", ".join(sorted(known)[:8]) + (", …" if len(known) > 8 else "")
    found = "" if name in known else f"; '{name}' is not among them, yet it answers"
    return Finding("list of models", True, f"{len(known)}: {shown}{found}")


def _read_by(known: Mapping[str, int | None], name: str) -> int | None:
    """The context length of a model; an endpoint of one model often answers to any name."""
    return known.get(name) or (next(iter(known.values())) if len(known) == 1 else None)


def _lacks(model: OpenAIModel) -> Iterator[Finding]:
    """The features that the first question used."""
    for feature, (what, instead) in _INSTEAD.items():
        lacking = feature in model.features.lacking
        yield Finding(what, not lacking, "refused" if lacking else "accepted", instead if lacking else "")


def _streaming_usage(model: OpenAIModel, first: Answer) -> Finding:
    """Whether the first answer, which was streamed where that works, came with its tokens."""
    lacking = model.features.lacking
    if "stream" in lacking:
        return Finding("streaming usage", None, "there is no streaming")
    if not first.estimated:
        return Finding("streaming usage", True, f"{first.input_tokens} in, {first.output_tokens} out")
    refused = "stream_options" in lacking
    return Finding("streaming usage", False, "refused" if refused else "asked for, but not counted", _ESTIMATE)


async def _whole(model: OpenAIModel, wire: Wire) -> list[Finding]:
    """`json_object`, and whether an answer that is not streamed comes with its tokens."""
    body = {"response_format": {"type": "json_object"}}
    lacks = "flowrun does not use it: where json_schema is lacking, the schema goes into the prompt"
    said: Reply | Failure = await _send(model, wire, "Answer with a JSON object that names a city.", body)
    if isinstance(said, Failure):
        found = Finding("json_object", False, f"refused ({said})", lacks)
        said = await _send(model, wire, "Name a city.", {})
    else:
        sound = _is_object(said.text)
        detail = "held" if sound else "accepted, but the answer is none"
        found = Finding("json_object", sound, detail, "" if sound else lacks)
    if isinstance(said, Failure):
        return [found, Finding("usage", None, f"an answer that is not streamed fails ({said})")]
    counted = said.input_tokens is not None
    detail = f"{said.input_tokens} in, {said.output_tokens} out" if counted else "not counted"
    return [found, Finding("usage", counted, detail, "" if counted else _ESTIMATE)]


async def _send(model: OpenAIModel, wire: Wire, text: str, body: Mapping[str, Any]) -> Reply | Failure:
    """One call as it is, without workarounds."""
    limit = {} if model.features.tokens_name in body else {model.features.tokens_name: 100}
    try:
        return await wire.send([("user", text)], {**limit, **body}, stream=False, usage=False)
    except Failure as failure:
        return failure


async def _refusal(model: OpenAIModel, wire: Wire, body: Mapping[str, Any]) -> Failure | None:
    """What an endpoint refuses a call with; one that begins to answer is not waited for."""
    try:
        said = await asyncio.wait_for(_send(model, wire, "Say: ok.", body), _REFUSED_WITHIN)
    except TimeoutError:
        return None
    return said if isinstance(said, Failure) else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse_json(text), dict)
    except ValueError:
        return False


async def _seed(model: OpenAIModel) -> Finding:
    """Whether a seed is accepted, and whether two answers from one are equal."""
    asked = _question("seed", "Name an animal.")
    answers = [await model.answer(replace(asked, place=f"{asked.place}{turn}")) for turn in (1, 2)]
    repeats = "a run is repeated from its journal or a recording, not by asking again"
    if "seed" in model.features.lacking:
        return Finding("seed", False, "refused", f"it is left out; {repeats}")
    if answers[0].text != answers[1].text:
        return Finding("seed", False, "accepted, but two answers differ", repeats)
    return Finding("seed", True, "accepted; two answers are equal")


async def _structured(model: OpenAIModel) -> Finding:
    """Whether `response_format` holds answers to a schema that the question does not mention."""
    instead = "the schema goes into the prompt; answers are checked either way, and asked for once more"
    try:
        answer = await model.answer(_question("json_schema", "Tell me about Oslo.", schema=_SCHEMA))
        sound = not schema_faults(parse_json(answer.text), _SCHEMA)
    except (ModelError, ValueError) as error:
        return Finding("json_schema", False, f"no usable answer: {error}", instead)
    if "json_schema" in model.features.lacking:
        broke = "" if sound else "; with the schema in the prompt the answer still broke it"
        return Finding("json_schema", False, f"response_format is refused or ignored{broke}", instead)
    detail = "held by response_format" if sound else "response_format did not hold"
    return Finding("json_schema", sound, detail, "" if sound else instead)


async def _parallel(model: OpenAIModel) -> Finding:
    asked = [_question(f"parallel{number}", f"Name a country, number {number}.") for number in range(_AT_ONCE)]
    answers = await asyncio.gather(*(model.answer(one) for one in asked), return_exceptions=True)
    failed = [one for one in answers if isinstance(one, BaseException)]
    narrowed = model.limiter.most < _AT_ONCE
    instead = f"{model.limiter.most} at once, more when that goes well" if narrowed else ""
    detail = f"{_AT_ONCE - len(failed)} of {_AT_ONCE} calls at once were answered"
    return Finding("parallel requests", not failed and not narrowed, detail, instead)


def _rates(model: OpenAIModel) -> Finding:
    """The limits per minute that the answers' headers name."""
    limits = {what: one.limit for what, one in model.limiter.allowances.items()}
    if not limits:
        return Finding("rate limits", None, "none named", "calls are slowed down when the endpoint refuses some")
    said = ", ".join(f"{limit:,.0f} {what}" for what, limit in limits.items())
    return Finding("rate limits", None, f"{said} for each period", "calls wait for their turn")


async def _sizes(model: OpenAIModel, wire: Wire, context: int | None) -> Sequence[Finding]:
    """How much the model reads and writes, from the list of models or from how more than can be is refused."""
    name = model.features.tokens_name
    most, where = model.features.max_output, "the list of models"
    refusal = await _refusal(model, wire, {name: _NO_MODEL_GIVES_SO_MANY})
    if refusal is not None and refusal.kind == "request":
        most = most or output_limit(refusal.message, _NO_MODEL_GIVES_SO_MANY)
    if refusal is not None and context is None:
        context, where = context_limit(refusal.message), "a refusal"
    lower = "an answer that is cut off there is continued; a lower limit that a refusal names is kept to"
    told = "not told" if most is None else f"{most:,} tokens"
    reads = "not told" if context is None else f"{context:,} tokens, says {where}"
    return [
        Finding("output limit", None, f"{told}; sent as {name}", lower),
        Finding("context length", None, reads, "set model.max_input_tokens of the flow to what is left for the prompt"),
    ]
