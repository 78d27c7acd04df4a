from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.flow.schemas import Bundler, SchemaFault


def save(name: str, schema: Any) -> Path:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(schema))
    return path


def valid(schema: Any, value: Any) -> bool:
    return not list(Draft202012Validator(schema).iter_errors(value))


def test_references_to_other_files_are_taken_in(workdir: Path) -> None:
    save(
        "deep/part.schema.json",
        {"$defs": {"n": {"type": "integer"}}, "type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}},
    )
    save(
        "item.schema.json",
        {"type": "object", "properties": {"part": {"$ref": "deep/part.schema.json"}}, "required": ["part"]},
    )
    whole = Bundler().from_file(
        save("items.schema.json", {"type": "array", "items": {"$ref": "item.schema.json"}, "maxItems": 2})
    )
    assert valid(whole, [{"part": {"n": 1}}])
    assert not valid(whole, [{"part": {"n": "1"}}])
    assert not valid(whole, [{}])
    assert set(whole["$defs"]) == {"item", "part"}


def test_files_that_refer_to_one_another(workdir: Path) -> None:
    save("a.json", {"type": "object", "properties": {"b": {"$ref": "b.json"}}, "additionalProperties": False})
    path = save("b.json", {"type": "object", "properties": {"a": {"$ref": "a.json"}}, "additionalProperties": False})
    whole = Bundler().from_file(path)
    assert valid(whole, {"a": {"b": {"a": {}}}})
    assert not valid(whole, {"a": {"b": {"b": {}}}})


def test_a_part_of_another_file(workdir: Path) -> None:
    save("defs.json", {"$defs": {"path": {"type": "string", "minLength": 1}}})
    whole = Bundler().inline({"type": "array", "items": {"$ref": "defs.json#/$defs/path"}}, lambda _: Path())
    assert valid(whole, ["x"]) and not valid(whole, [""])


def test_files_of_one_name_in_two_folders(workdir: Path) -> None:
    save("a/x.json", {"type": "string"})
    save("b/x.json", {"type": "integer"})
    whole = Bundler().inline(
        {"type": "array", "prefixItems": [{"$ref": "a/x.json"}, {"$ref": "b/x.json"}]}, lambda _: Path()
    )
    assert valid(whole, ["s", 1]) and not valid(whole, [1, "s"])


def test_the_outer_type_is_known_without_following_a_reference(workdir: Path) -> None:
    save("list.json", {"type": "array"})
    assert Bundler().inline({"$ref": "list.json"}, lambda _: Path())["type"] == "array"


def test_what_is_data_is_left_alone(workdir: Path) -> None:
    schema = {"enum": [{"$ref": "none.json"}], "properties": {"default": {"type": "string"}, "$id": {"type": "string"}}}
    assert Bundler().inline(schema, lambda _: Path()) == schema


def test_nulls_survive_merging(workdir: Path) -> None:
    whole = Bundler().inline({"properties": {"a": {"const": None, "default": None}}}, lambda _: Path())
    assert whole == {"properties": {"a": {"enum": [None]}}}


def test_large_integers_and_a_bom(workdir: Path) -> None:
    Path("x.json").write_bytes(b"\xef\xbb\xbf" + b'{"maximum": 18446744073709551615}')
    assert Bundler().from_file(Path("x.json")) == {"maximum": 18446744073709551615.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "it is no object"),
        ("{", "is not JSON"),
        ('{"minimum": NaN}', "what JSON does not have: NaN"),
        ('{"title": "\\ud800"}', "what JSON does not have"),
        ('{"items": ' * 2000 + "{}" + "}" * 2000, "too deeply|levels deep"),
        ('{"$ref": "no.json"}', "cannot read the schema file 'no.json'"),
        ('{"$ref": "#/$defs/x"}', "leads nowhere"),
        ('{"required": ["a", "a"]}', "not a valid JSON Schema: required"),
        ('{"pattern": "("}', "not a valid JSON Schema: pattern"),
        ('{"type": "text"}', "not a valid JSON Schema: type"),
    ],
)
def test_what_is_no_schema(text: str, message: str, workdir: Path) -> None:
    Path("x.json").write_text(text)
    with pytest.raises(SchemaFault, match=message):
        Bundler().from_file(Path("x.json"))


@pytest.mark.parametrize("name", ["no\0name", "x" * 5000, "/dev/zero", "circle.json", "."])
def test_a_file_that_cannot_be_read(name: str, workdir: Path) -> None:
    Path("circle.json").symlink_to("circle.json")
    with pytest.raises(SchemaFault, match=r"cannot read|no regular file"):
        Bundler().from_file(Path(name))


def test_each_file_is_read_once(workdir: Path) -> None:
    path = save("x.json", {"type": "string"})
    bundler = Bundler()
    bundler.from_file(path)
    path.unlink()
    assert bundler.from_file(path) == {"type": "string"}
    assert [one.name for one in bundler.files] == ["x.json"]
