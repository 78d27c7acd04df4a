"""The schema of the flow file, and the page that is made from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from engine.errors import Diagnostic
from engine.flow import load_flow
from engine.flow.reference import reference
from engine.flow.structure import described, flow_schema

ROOT = Path(__file__).parents[2]


def parts(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that the schema describes."""
    for key, one in schema.get("properties", {}).items():
        yield f"{path}.{key}", one
        yield from parts(one, f"{path}.{key}")
    for name, one in schema.get("$defs", {}).items():
        if name != "whole":
            yield from parts(one, name)


PARTS = list(parts(flow_schema()))


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(flow_schema())


@pytest.mark.parametrize(("path", "schema"), PARTS, ids=[path for path, _ in PARTS])
def test_every_key_is_explained_and_closed(path: str, schema: dict[str, Any]) -> None:
    assert re.fullmatch(r"[A-Z`].*\.", schema["description"])
    if "properties" in schema:
        assert schema["additionalProperties"] is False
    target = flow_schema()["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    assert "enum" in target or "const" in target or described(target)


@pytest.mark.parametrize(("path", "schema"), PARTS, ids=[path for path, _ in PARTS])
def test_every_default_and_example_fits_its_key(path: str, schema: dict[str, Any]) -> None:
    validator = Draft202012Validator({**schema, "$defs": flow_schema()["$defs"]})
    for value in [*schema.get("examples", []), *([schema["default"]] if "default" in schema else [])]:
        validator.validate(value)


def test_a_file_that_extends_another_may_be_partial_and_remove_things() -> None:
    text = """
    extends: codeteam
    budget: {wall: null, on_exceeded: null}
    models: {critic: null}
    state: {issues: {reduce: append}}
    nodes:
      cto: null
      qa: {max_visits: 3, when: null}
      develop: {map: {lane: null}}
    """
    validator = Draft202012Validator(flow_schema())
    validator.validate(yaml.safe_load(text))
    errors = list(validator.iter_errors(yaml.safe_load(text.replace("extends: codeteam", ""))))
    assert errors


def test_the_reference_page_is_fresh() -> None:
    page = ROOT / "docs" / "flow-reference.md"
    assert page.read_text() == reference(), "run: python -m engine.flow.reference docs/flow-reference.md"


def test_the_reference_page_names_every_key() -> None:
    page = reference()
    for path, _ in PARTS:
        key = path.split(".")[-1]
        assert f"`{key}`" in page or f".{key}`" in page


def test_the_flow_on_the_reference_page_works(workdir: Path) -> None:
    block = re.search(r"(?m)(?:^    .*\n|^\n)+", reference()[reference().index("    version: 1") :])
    assert block
    Path("x.yaml").write_text("\n".join(line[4:] for line in block[0].split("\n")))
    flow = load_flow("x.yaml")
    assert list(flow.nodes) == ["translate", "review"] and flow.nodes["review"].max_visits == 2


def test_a_diagnostic_of_a_long_line_is_cut(workdir: Path) -> None:
    from engine.errors import FlowError

    Path("x.yaml").write_text(f"version: 1\nname: x\nnodes: {{a: {{call: placeholder}}}}\nzzz: '{'x' * 5000}'\n")
    with pytest.raises(FlowError) as raised:
        load_flow("x.yaml")
    found: Diagnostic = raised.value.diagnostics[0]
    assert len(found.snippet) < 220 and found.snippet.endswith(" ...")
