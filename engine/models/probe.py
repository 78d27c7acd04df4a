"""Tries out what a model at an endpoint can do, with a few short questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import ModelError
from engine.models.base import Answer, Decoding, Message, Request
from engine.models.openai import OpenAIModel, Patience
from engine.models.spec import ModelSpec
from engine.models.structured import parse_json, schema_faults

_AT_ONCE = 4
_PATIENCE = Patience(idle=120.0)
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 40}, "large": {"type": "boolean"}},
    "required": ["city", "large"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Finding:
    """One thing that was tried: `ok` is True, False, or None where it cannot be told."""

    what: str
    ok: bool | None
    detail: str


async def probe(spec: ModelSpec, *, patience: Patience = _PATIENCE) -> list[Finding]:
    """What an endpoint and a model can do, and what of it is worked around.

    Raises InputError if there is no key or no address, and ModelError if the model does not answer at all.
    """
    model = OpenAIModel(spec, patience=patience)
    try:
        first = await model.answer(_question("text", "Name a city."))
        return [
            _text(first),
            *_lacks(model),
            await _models(model, spec.name),
            await _seed(model),
            await _structured(model),
            await _parallel(model),
            _output_limit(model),
        ]
    finally:
        await model.close()


def _question(step: str, text: str, **changes: Any) -> Request:
    messages = (Message("system", "You answer in one short line."), Message("user", text))
    request = Request(
        f"probe:{step}", "", messages, Decoding(temperature=0.0, top_p=1.0, max_output_tokens=400, seed=7)
    )
    return replace(request, **changes)


def _text(answer: Answer) -> Finding:
    tokens = (
        "estimated: it does not count" if answer.estimated else f"{answer.input_tokens} in, {answer.output_tokens} out"
    )
    return Finding("text", True, f"'{answer.model}' answers, finish reason '{answer.finish_reason}', tokens {tokens}")


def _lacks(model: OpenAIModel) -> list[Finding]:
    """The features that the first question used."""
    means = {
        "stream": "streaming",
        "stream_options": "token counts in streams",
        "system": "system messages",
        "temperature": "temperature",
        "top_p": "top_p",
    }
    lacking = model.features.lacking
    return [Finding(said, name not in lacking, _worked_around(name in lacking)) for name, said in means.items()]


def _worked_around(lacking: bool) -> str:
    return "refused; worked around" if lacking else "accepted"


async def _models(model: OpenAIModel, name: str) -> Finding:
    known = await model.models()
    if not known:
        return Finding("list of models", None, "it does not say which models it has")
    return Finding("list of models", name in known, f"{len(known)}: {', '.join(sorted(known)[:8])}")


async def _seed(model: OpenAIModel) -> Finding:
    """Whether a seed is accepted, and whether two answers from one are equal."""
    asked = _question("seed", "Name an animal.")
    answers = [await model.answer(replace(asked, place=f"{asked.place}{turn}")) for turn in (1, 2)]
    if "seed" in model.features.lacking:
        return Finding("seed", False, "refused; answers cannot be repeated")
    same = answers[0].text == answers[1].text
    return Finding("seed", same, "accepted; two answers are equal" if same else "accepted, but two answers differ")


async def _structured(model: OpenAIModel) -> Finding:
    """Whether `response_format` holds answers to a schema that the question does not mention."""
    try:
        answer = await model.answer(_question("json_schema", "Tell me about Oslo.", schema=_SCHEMA))
        sound = not schema_faults(parse_json(answer.text), _SCHEMA)
    except (ModelError, ValueError) as error:
        return Finding("JSON by schema", False, f"no usable answer: {error}")
    if "json_schema" in model.features.lacking:
        how = "response_format is refused or ignored; the schema goes into the prompt"
        return Finding("JSON by schema", False, how if sound else f"{how}, and the answer still broke it")
    return Finding("JSON by schema", sound, "held by response_format" if sound else "response_format did not hold")


async def _parallel(model: OpenAIModel) -> Finding:
    asked = [_question(f"parallel{number}", f"Name a country, number {number}.") for number in range(_AT_ONCE)]
    answers = await asyncio.gather(*(model.answer(one) for one in asked), return_exceptions=True)
    failed = [one for one in answers if isinstance(one, BaseException)]
    detail = f"{_AT_ONCE - len(failed)} of {_AT_ONCE} calls at once were answered"
    narrowed = "" if model.limiter.most >= _AT_ONCE else f"; {model.limiter.most} at once from now on"
    return Finding("parallel calls", not failed and not narrowed, detail + narrowed)


def _output_limit(model: OpenAIModel) -> Finding:
    most = model.features.max_output
    said = "no lower limit than was asked for" if most is None else f"at most {most} tokens"
    return Finding("output limit", None, f"{said}; sent as {model.features.tokens_name}")
