"""Writes the reference of the flow language: prose from `reference.md` beside this file, tables from the schema.

`python -m engine.flow.reference docs/flow-reference.md`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.flow.structure import described, flow_schema


def reference() -> str:
    """The page, in Markdown."""
    schema = flow_schema()
    prose = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
    lines = [prose, "## Keys of the file\n", *_table(schema)]
    for name, one in schema["$defs"].items():
        if "properties" in one and "title" in one:
            lines += [
                f"\n## Keys of {_a(one['title'])}\n",
                f"{one['description']} {_used(schema, name)}\n",
                *_table(one),
            ]
    return "\n".join(lines) + "\n"


def _table(schema: Mapping[str, Any]) -> Iterator[str]:
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for key, raw in schema["properties"].items():
        one = _followed(raw)
        default = f" `{_shown(raw['default'])}` " if "default" in raw else " "
        yield f"| `{key}` | {_cell(_value(one))} |{default}| {_cell(raw.get('description', ''))} |"
        for inner, part in one.get("properties", {}).items() if "title" not in one else ():
            yield f"| `{key}.{inner}` | {_cell(_value(_followed(part)))} | | {_cell(part.get('description', ''))} |"


def _value(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    if schema in (_followed({"$ref": "#/$defs/name"}), _followed({"$ref": "#/$defs/identifier"})):
        return "a name"
    if "const" in schema:
        return f"`{schema['const']}`"
    return described(schema)


def _used(schema: Mapping[str, Any], name: str) -> str:
    """Where a part of the language stands."""
    reference = {"$ref": f"#/$defs/{name}"}
    places = []
    for title, one in [
        ("the file", schema),
        *((_a(one["title"]), one) for one in schema["$defs"].values() if "title" in one),
    ]:
        for key, raw in one["properties"].items():
            if raw.get("$ref") == reference["$ref"]:
                places.append(f"`{key}` of {title}")
            elif reference in (raw.get("additionalProperties"), raw.get("items")):
                places.append(f"each entry of `{key}` of {title}")
    return f"Where: {', '.join(places)}."


def _followed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in schema:
        return schema
    target: Mapping[str, Any] = flow_schema()["$defs"][schema["$ref"].rpartition("/")[2]]
    return target


def _a(title: str) -> str:
    return f"{'an' if title[0] in 'aeiou' else 'a'} {title}"


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(reference(), encoding="utf-8")
