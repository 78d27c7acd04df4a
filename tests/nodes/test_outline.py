from __future__ import annotations

import asyncio
import json

import pytest

from engine.errors import ModelError
from engine.models.tokens import estimate_tokens
from nodes.architect import claim_modules, draft_sketch
from nodes.outline import budget, outline, tellings
from nodes.packages import expected_files
from nodes.preprocessing.document import normalize
from tests.support.fake_context import FakeContext, run_node
from tests.support.planning import make_sketch

LONG = "# Box\n\nA library of boxes.\n" + "".join(
    f"\n## Part {number}\n\nIt must hold {number} things.\n\n{'Words that say more of it. ' * 40}\n\n"
    f"```python\n@cached\ndef make_{number}(value: int) -> Box:\n    return Box(value)\n\n"
    f"def long_{number}(\n    value: int,\n    *,\n    deep: bool = False,\n) -> Box: ...\n    pass\n```\n\n"
    f"- see `box/part_{number}.py`\n"
    for number in range(60)
)
DOCUMENT = normalize(LONG)
PARAMS = {"self_check": 0, "hierarchical_over": 40, "preferences": ["small"]}


def told(context: FakeContext) -> list[str]:
    async def collect() -> list[str]:
        return [one async for one in tellings(DOCUMENT, context.as_context())]

    return asyncio.run(collect())


def test_an_outline_keeps_every_heading_signature_and_path_in_little_room() -> None:
    text = outline(DOCUMENT["sections"])
    for number in range(60):
        assert f"## Part {number} {{#part-{number}}}" in text
        assert f"It must hold {number} things." in text
        assert f"def make_{number}(value: int) -> Box:" in text
        assert f"def long_{number}(\n    value: int,\n    *,\n    deep: bool = False,\n) -> Box: ...\n" in text
    assert "@cached" in text
    assert "return Box" not in text
    assert estimate_tokens(text) * 5 < estimate_tokens(DOCUMENT["text"])


def test_a_document_that_fits_is_given_whole() -> None:
    assert told(FakeContext())[0] == DOCUMENT["text"]


def test_of_a_long_document_architects_read_the_outline_and_the_sections_they_ask_for() -> None:
    wanted = json.dumps({"markers": ["part-7", "{#part-9}", "nowhere"]})
    context = FakeContext([wanted, json.dumps(make_sketch())], params=PARAMS, max_input_tokens=12000)
    run_node(draft_sketch, {"document": DOCUMENT, "claims": [], "seat": 0}, context)
    assert context.requests[0].place.endswith(":sections")
    asked = context.requests[1].messages[-1].content
    full = asked.partition("# In full")[2].partition("# Rules")[0]
    assert full.count("Words that say more of it.") == 80
    assert "def make_41(value: int) -> Box:" in asked
    claim = FakeContext([json.dumps({"modules": [], "intent": ""})], params=PARAMS, max_input_tokens=12000)
    run_node(claim_modules, {"document": DOCUMENT, "seat": 0}, claim)
    assert "(The document is longer than fits here" in claim.requests[0].messages[-1].content


def test_no_more_sections_are_given_than_fit() -> None:
    wanted = json.dumps({"markers": [f"part-{number}" for number in range(60)]})
    context = FakeContext([wanted, json.dumps(make_sketch())], params=PARAMS, max_input_tokens=12000)
    run_node(draft_sketch, {"document": DOCUMENT, "claims": [], "seat": 0}, context)
    asked = context.requests[1].messages[-1].content
    document = asked.partition("# Rules")[0]
    assert "# In full" in document
    assert estimate_tokens(document) < budget(context.as_context()) + 100


def test_a_window_too_small_for_the_outline_is_said() -> None:
    context = FakeContext(params=PARAMS, max_input_tokens=1500)
    with pytest.raises(ModelError, match=r"outline of the requirements alone.*max_input_tokens"):
        told(context)
    found = run_node(draft_sketch, {"document": DOCUMENT, "claims": [], "seat": 0}, context)["candidates"]
    assert not found["valid"]
    assert "outline of the requirements" in found["attempts"][0]["checks"][0]["message"]


@pytest.mark.parametrize("piece", ["a", "a-", "a.", "a/", "def ", "def f(", "@a", "├── ", "async ", "|"])
def test_an_outline_of_one_endless_line_takes_no_time(piece: str) -> None:
    document = normalize(f"# Box\n\nIt must hold things.\n\n{piece * 300_000}\n")
    assert "It must hold things." in outline(document["sections"])
    assert expected_files(document) == 0
