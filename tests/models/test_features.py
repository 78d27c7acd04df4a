"""What an endpoint lacks is learned from what it says, also by calls that were under way together."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.models.failures import Failure
from engine.models.features import Features, Plan, context_limit

MAXIMUM = "This model's maximum context length is"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def learned(
    features: Features, plan: Plan, message: str, kind: str = "request", status: int = 400
) -> tuple[Plan, str] | None:
    return features.work_around(Failure(kind, message, status), plan, SCHEMA, tokens=100)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        ("'response_format.type' must be 'text'", "json_schema"),
        ("Unrecognized request argument supplied: stream_options", "stream_options"),
        ('[{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]', "seed"),
        ("Unsupported value: 'temperature' does not support 0.2 with this model.", "temperature"),
        ("System role not supported", "system"),
        ("Only user and assistant roles are supported!", "system"),
        ("Conversation roles must alternate user/assistant/user/assistant/...", "system"),
        ("streaming is not supported", "stream"),
    ],
)
def test_a_feature_is_dropped_once_for_all_calls(message: str, feature: str) -> None:
    features = Features()
    first = features.plan(SCHEMA, 8192)
    together = features.plan(SCHEMA, 8192)
    for plan in (first, together):
        found = learned(features, plan, message)
        assert found is not None
        assert found[0] != plan
        assert learned(features, found[0], message) is None  # it is no use to drop it twice
    assert features.lacking == {feature}
    assert not features.plan(SCHEMA, 8192).uses(feature)  # type: ignore[arg-type]


def test_a_schema_that_is_refused_goes_into_the_prompt_and_others_do_not() -> None:
    features = Features()
    found = learned(features, features.plan(SCHEMA, 10), "Invalid schema for response_format 'answer': ...")
    assert found is not None and found[0].schema_by == "prompt"
    assert features.plan(SCHEMA, 10).schema_by == "prompt"
    assert features.plan({"type": "array"}, 10).schema_by == "format"
    assert features.plan(None, 10).schema_by == "none"


def test_the_name_of_the_output_limit_is_exchanged() -> None:
    features = Features("max_tokens")
    plan = features.plan(None, 10)
    found = learned(
        features, plan, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    )
    assert found is not None and found[0].tokens_name == "max_completion_tokens"
    back = learned(features, found[0], '[{"loc": ["body", "max_completion_tokens"], "msg": "Extra inputs"}]')
    assert back is not None and back[0].tokens_name == "max_tokens"


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("max_tokens is too large: 8192. This model supports at most 4096 completion tokens.", 4096),
        ("`max_tokens` must be less than or equal to `4,096`, the maximum value for this model", 4096),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]", 4096),
        ("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens for x-3", 4096),
        ("Invalid 'max_output_tokens': expected a value of at most 4096 output tokens", 4096),
    ],
)
def test_the_output_limit_is_what_the_endpoint_names(message: str, most: int) -> None:
    features = Features()
    found = learned(features, features.plan(None, 8192), message)
    assert found is not None and found[0].max_output == most
    assert features.plan(None, 8192).max_output == most
    assert features.plan(None, 100).max_output == 100


@pytest.mark.parametrize(
    ("message", "room"),
    [
        (f"{MAXIMUM} 10000 tokens. You requested 10192 tokens (2000 in the messages, 8192 in the completion)", 8000),
        (f"'max_tokens' is too large: 8192. {MAXIMUM} 10000 tokens and your request has 2000 input tokens", 8000),
        (f"{MAXIMUM} 8250 tokens. You requested 8192 output tokens and it contains at least 99 input tokens", 8150),
        (f"{MAXIMUM} 4096 tokens. You requested 12192 tokens (4000 in the messages, 8192 in the completion)", None),
        ("the request exceeds the available context size (4096 tokens), try increasing it", None),
        ("prompt is too long: 210000 tokens > 200000 maximum", None),
    ],
)  # fmt: skip
def test_the_room_that_the_context_leaves(message: str, room: int | None) -> None:
    features = Features()
    found = learned(features, features.plan(None, 8192), message, kind="context")
    assert (found and found[0].max_output) == room
    assert features.max_output is None  # another prompt leaves other room


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("This model's maximum context length is 128000 tokens. However", 128000),
        ("request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000),
        ("too long", None),
    ],
)
def test_the_limit_in_an_error(message: str, limit: int | None) -> None:
    assert context_limit(message) == limit


def test_what_explains_nothing_teaches_nothing() -> None:
    features = Features()
    plan = features.plan(SCHEMA, 8192)
    assert learned(features, plan, "bad request") is None
    assert learned(features, plan, "upstream error while streaming", kind="server", status=500) is None
    assert learned(features, plan, "seed", kind="rate_limit", status=429) is None
    assert features == Features()


def test_a_schema_that_is_not_held_is_seen_in_the_answer() -> None:
    features = Features()
    plan = features.plan(SCHEMA, 10)
    assert features.judge_json('{"n": 1}', SCHEMA, plan) is None
    assert features.plan(SCHEMA, 10).schema_by == "format"
    assert features.judge_json('{"n": "x"}', SCHEMA, plan) is not None
    assert features.plan(SCHEMA, 10).schema_by == "both"
    ignoring = Features()
    assert ignoring.judge_json("Sure!", SCHEMA, plan) == "ignores response_format"
    assert ignoring.plan(SCHEMA, 10).schema_by == "prompt"
    assert ignoring.judge_json("Sure!", SCHEMA, replace(plan, schema_by="prompt")) is None


def test_streams_that_twice_held_nothing_are_given_up() -> None:
    features = Features()
    features.answered_unstreamed()
    assert features.plan(None, 10).stream
    features.answered_unstreamed()
    assert not features.plan(None, 10).stream
