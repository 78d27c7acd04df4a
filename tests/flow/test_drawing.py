from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from engine.flow import Flow, load_flow
from engine.flow.diagrams import Arrow, arrows, dot, mermaid
from engine.flow.drawing import assign_layers, order_layers, svg

FLOW = """\
version: 1
name: drawn
params: {x: 1}
state: {k: {schema: {type: array}}}
nodes:
  first: {call: placeholder, next: [{when: "${params.x < 2 && 'a' != \\"b\\"}", to: third}, {to: second}]}
  second: {call: placeholder, approve: true, next: third}
  third:
    call: placeholder
    map: {over: "${range(3)}", as: seat, lane: "${seat}"}
    max_visits: 3
    on_exhausted: END
    next: [{when: "${params.x == 5}", to: first}, {to: END}]
"""
SVG = "{http://www.w3.org/2000/svg}"


def flow(workdir: Path) -> Flow:
    Path("x.yaml").write_text(FLOW)
    return load_flow("x.yaml")


def test_arrows(workdir: Path) -> None:
    assert list(arrows(flow(workdir))) == [
        Arrow("first", "third", "params.x < 2 && 'a' != \"b\""),
        Arrow("first", "second"),
        Arrow("second", "third"),
        Arrow("third", "first", "params.x == 5"),
        Arrow("third", "END"),
        Arrow("third", "END", "after 3 visits", "exhausted"),
    ]


def test_svg_shows_every_node_way_and_guard(workdir: Path) -> None:
    picture = ElementTree.fromstring(svg(flow(workdir)))
    texts = [str(one.text) for one in picture.iter(f"{SVG}text")]
    for wanted in (
        "first",
        "second",
        "third",
        "END",
        "params.x < 2 && 'a' != \"b\"",
        "params.x == 5",
        "after 3 visits",
    ):
        assert wanted in texts
    assert "per seat of range(3), lane seat" in texts and "after approval" in texts
    assert len(list(picture.iter(f"{SVG}path"))) == 6
    assert len(list(picture.iter(f"{SVG}rect"))) == 4


def test_boxes_stand_inside_the_picture_and_apart(workdir: Path) -> None:
    picture = ElementTree.fromstring(svg(flow(workdir)))
    left, top, width, height = (float(one) for one in picture.attrib["viewBox"].split())
    boxes = [
        tuple(float(one.attrib[key]) for key in ("x", "y", "width", "height")) for one in picture.iter(f"{SVG}rect")
    ]
    for number, (x, y, w, h) in enumerate(boxes):
        assert left <= x and x + w <= left + width and top <= y and y + h <= top + height
        for other_x, other_y, other_w, other_h in boxes[number + 1 :]:
            assert x + w <= other_x or other_x + other_w <= x or y + h <= other_y or other_y + other_h <= y


def test_mermaid_says_signs_that_it_would_read_itself_as_entities(workdir: Path) -> None:
    text = mermaid(flow(workdir))
    assert text.startswith("flowchart TD\n")
    assert "|\"params.x #lt; 2 #amp;#amp; 'a' != #quot;b#quot;\"|" in text
    assert 'n2[["third<br/>placeholder<br/>per seat of range(3), lane seat<br/>at most 3 visits"]]' in text
    assert len(re.findall(r"-->|-\.->", text)) == 6


def test_dot_quotes(workdir: Path) -> None:
    text = dot(flow(workdir))
    assert '"first" -> "third" [label="params.x < 2 && \'a\' != \\"b\\""];' in text
    assert '"third" -> "END" [label="after 3 visits", style=dashed];' in text
    assert text.count(" -> ") == 6


_ways = st.lists(st.builds(Arrow, st.sampled_from("abcdef"), st.sampled_from("abcdefE")), max_size=12)


@given(_ways)
def test_layers_hold_every_node_once_and_ways_go_down_where_they_can(ways: list[Arrow]) -> None:
    layers = assign_layers("abcdefE", ways, "a")
    assert sorted(name for layer in layers for name in layer) == sorted("abcdefE")
    depth = {name: number for number, layer in enumerate(layers) for name in layer}
    back = [way for way in ways if depth[way.end] <= depth[way.start]]
    following = {name: [way.end for way in ways if way.start == name] for name in "abcdefE"}

    def leads(start: str, end: str, seen: frozenset[str] = frozenset()) -> bool:
        return start == end or any(leads(to, end, seen | {start}) for to in following[start] if to not in seen)

    assert all(leads(way.end, way.start) for way in back)  # only a way that closes a cycle leads up
    assert [sorted(layer) for layer in order_layers(layers, ways)] == [sorted(layer) for layer in layers]
