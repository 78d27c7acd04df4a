"""What to do about a call that cannot succeed."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from engine.errors import ContextTooLong, ModelError
from engine.models.endpoint import Endpoint
from engine.models.failures import Failure, Kind
from engine.models.features import context_limit

_SHOWN = 8
_REMEDIES: dict[Kind, str] = {
    "rate_limit": "Resume the run later, or run fewer items at once (max_parallel).",
    "server": "Resume the run when the endpoint is well.",
    "connection": "Is the endpoint running, and is the base URL right? Then resume the run.",
    "timeout": "A model this slow needs fewer calls at once (max_parallel), or shorter answers.",
    "malformed": "Is this an OpenAI-compatible endpoint? A base URL usually ends in /v1.",
    "empty": "Try another model, or raise model.max_output_tokens.",
    "quota": "Nothing is left to spend: add credit or use another key, then resume the run.",
    "too_large": "One request is more than the endpoint allows in a minute: lower model.max_input_tokens.",
    "key": "Set {key_env} to a key that this endpoint accepts, then resume the run.",
    "model": "Give another model with --model.",
    "address": "There is no chat-completions service at this address: a base URL usually ends in /v1.",
    "context": "Lower model.max_input_tokens to what the model reads, or use a model that reads more.",
    "refusal": "The model will not answer this; change the requirements or use another model.",
    "content_filter": "The endpoint's content filter stopped it; change the requirements or use another endpoint.",
    "request": "The endpoint does not take this request; the message says why.",
}


def final_error(
    failure: Failure, place: str, endpoint: Endpoint, model: str, *, tries: int = 1, models: Sequence[str] = ()
) -> ModelError:
    """The error for a failure that is not tried again: what, where, and what to do."""
    times = f" (tried {tries} times)" if tries > 1 else ""
    remedy = _REMEDIES[failure.kind].format(key_env=endpoint.key_env)
    if failure.kind == "model" and models:
        remedy = f"The endpoint has: {', '.join(_nearest(model, models))}. {remedy}"
    message = endpoint.without_key(f"{place}: model '{model}' at {endpoint.url}: {failure}{times}\n{remedy}")
    if failure.kind == "context":
        return ContextTooLong(message, limit=context_limit(failure.message))
    return ModelError(message)


def _nearest(model: str, models: Sequence[str]) -> list[str]:
    alike = difflib.get_close_matches(model, models, n=_SHOWN, cutoff=0.0)
    return [*alike, "…"] if len(models) > len(alike) else alike
