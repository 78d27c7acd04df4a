"""Reading what an architect wrote: strict JSON, the right shape, the hard checks. Nothing is mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.models.base import Answer
from engine.models.conversation import parse_json
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.sketch_checks import MOST_FILES, Check, check_sketch

# What the paper makes mandatory; of the rest a sketch may say nothing.
_MANDATORY = {
    "": ["tech_stack", "repo_tree", "developer_plan", "files"],
    "tech_stack": ["language"],
    "developer_plan": ["num_developers", "owners"],
    "owners": ["id"],
    "files": ["path", "purpose", "owner"],
}


_MOST_ENTRIES = 5 * MOST_FILES


@dataclass(frozen=True)
class Draft:
    """A sketch as it came: the data (None if it did not load), and the checks that it failed."""

    sketch: dict[str, Any] | None
    checks: tuple[Check, ...]

    @property
    def parsed(self) -> bool:
        """Whether it loaded as JSON without any repair."""
        return self.sketch is not None

    @property
    def valid(self) -> bool:
        """Whether it passed every hard check."""
        return self.parsed and not self.checks


def read_answer(answer: Answer, faults: Callable[[Any], Sequence[Check]]) -> Draft:
    """What an answer holds, and the checks that it fails: those of `faults`, if it is a JSON object at all."""
    try:
        data = parse_json(answer.text)
    except ValueError as error:
        cut_off = answer.finish_reason == "length"
        reason = "it was cut off at the output limit; design fewer files" if cut_off else str(error)
        return Draft(None, (Check("not_json", "", f"the answer does not load as JSON: {reason}"),))
    if not isinstance(data, dict):
        return Draft(None, (Check("not_json", "", f"the answer is a JSON {type(data).__name__}, not an object"),))
    return Draft(data, tuple(faults(data)))


def check_json(data: Any, requirements: str = "") -> list[Check]:
    """The failed checks of any JSON at all: of its shape first, of its contents if the shape is right."""
    if (longest := _longest(data)) > _MOST_ENTRIES:  # judging the shape of that many takes minutes
        return [Check("too_many_files", "", f"a list of {longest} entries; at most {MOST_FILES} files are allowed")]
    faults = schema_faults(data, _shape())
    if faults:
        return [Check("schema", *_split(fault)) for fault in faults]
    return check_sketch(data, requirements)


def has_shape(data: Any) -> bool:
    """Whether any JSON at all has the shape of a sketch, and a size that can be looked at."""
    return _longest(data) <= _MOST_ENTRIES and not schema_faults(data, _shape())


def _longest(data: Any) -> int:
    """The length of the longest list of a sketch's own fields."""
    return max((len(one) for one in data.values() if isinstance(one, list)), default=0) if isinstance(data, dict) else 0


@cache
def sketch_schema() -> Mapping[str, Any]:
    """The schema that a model is asked to keep to."""
    schema: dict[str, Any] = json.loads(schema_file("sketch").read_text(encoding="utf-8"))
    return {name: value for name, value in schema.items() if name not in ("$schema", "description")}


@cache
def _shape() -> Mapping[str, Any]:
    return loosened(sketch_schema())


def loosened(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that a sketch, or a part of one, has to satisfy: what is mandatory, and the types of the rest."""
    shape: dict[str, Any] = json.loads(json.dumps(schema))
    _loosen(shape, "")
    properties = shape["properties"]
    for where, name in ((properties["developer_plan"]["properties"]["owners"], "id"), (properties["files"], "owner")):
        where["items"]["properties"][name] = {"type": ["integer", "string"]}
    return shape


def _loosen(schema: dict[str, Any], name: str) -> None:
    if "properties" in schema:
        schema["required"] = [one for one in _MANDATORY[name] if one in schema["properties"]]
        del schema["additionalProperties"]
    for inner, value in schema.get("properties", {}).items():
        _loosen(value.get("items", value), inner)


def _split(fault: str) -> tuple[str, str]:
    place, _, message = fault.partition(": ")
    return place.removeprefix("$").removeprefix("."), message
