"""A flow as an SVG picture, laid out here: nodes in layers from top to bottom, ways between them.

A way to the next layer is drawn between the layers, one that passes several layers on the right of all nodes, one that
leads back on the left. After Sugiyama, Tagawa and Toda (1981), without the bends around nodes in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from engine.flow.checks.graph import components
from engine.flow.diagrams import END, Arrow, arrows, notes
from engine.flow.model import Flow

_FONT = 13
_SMALL = 11
_LINE = 16
_WIDTH = 7.4  # of a character at _FONT, in a monospaced font a little less
_SMALL_WIDTH = 6.4
_GAP_X = 36
_GAP_Y = 56
_LANE = 18
_MARGIN = 20
_LONGEST = 70

_STYLE = f"""
  text {{ font: {_FONT}px ui-monospace, Menlo, Consolas, monospace; fill: #1f2430; text-anchor: middle }}
  .note, .guard {{ font-size: {_SMALL}px; fill: #5b6372 }}
  .guard {{ text-anchor: start; paint-order: stroke; stroke: #fff; stroke-width: 3px }}
  .left {{ text-anchor: end }}
  rect {{ fill: #f4f6fb; stroke: #53617a; stroke-width: 1.2; rx: 6 }}
  .end {{ fill: #53617a }} .end + text {{ fill: #fff }}
  path {{ fill: none; stroke: #53617a; stroke-width: 1.2; marker-end: url(#tip) }}
  .exhausted {{ stroke-dasharray: 5 4 }}
"""


@dataclass(frozen=True)
class Box:
    """A node where it stands; `x` is its middle, `y` its top."""

    name: str
    notes: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


def svg(flow: Flow) -> str:
    """A flow as an SVG document."""
    ways = list(arrows(flow))
    layers = order_layers(assign_layers([*flow.nodes, END], ways, flow.start), ways)
    texts = {name: tuple(_cut(one) for one in notes(node)) for name, node in flow.nodes.items()}
    boxes = _place(layers, texts)
    depth = {name: number for number, layer in enumerate(layers) for name in layer}
    forward = [one for one in ways if depth[one.end] > depth[one.start] + 1]
    back = [one for one in ways if depth[one.end] <= depth[one.start]]
    direct = [one for one in ways if depth[one.end] == depth[one.start] + 1]
    leaning = [one for one in direct if boxes[one.end].x < boxes[one.start].x]
    left = _MARGIN + _LANE * len(back) + _label_width([*back, *leaning])
    right = _MARGIN + _LANE * len(forward) + _label_width([*forward, *(one for one in direct if one not in leaning)])
    inner = max(box.x + box.width / 2 for box in boxes.values())
    width, height = left + inner + right, max(box.y + box.height for box in boxes.values()) + _MARGIN
    body = [
        *_direct(boxes, direct),
        *_around(boxes, forward, inner + _LANE, 1),
        *_around(boxes, back, -_LANE, -1),
        *(line for box in boxes.values() for line in _box(box)),
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
            f' viewBox="{-left:.0f} 0 {width:.0f} {height:.0f}" role="img" aria-label="{_escaped(flow.name)}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<polygon points="0,0 8,4 0,8" fill="#53617a"/></marker></defs>',
            *body,
            "</svg>\n",
        ]
    )


def assign_layers(names: Sequence[str], ways: Sequence[Arrow], start: str) -> list[list[str]]:
    """Each node one layer below the lowest node before it; ways that close a cycle do not count."""
    following: dict[str, list[str]] = {name: [] for name in names}
    for way in ways:
        following[way.start].append(way.end)
    forward = _without_cycles(following, start)
    depth = dict.fromkeys(names, 0)
    for (name,) in reversed(list(components(forward))):  # components come with what follows before what leads to it
        for to in forward[name]:
            depth[to] = max(depth[to], depth[name] + 1)
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in names:
        layers[depth[name]].append(name)
    return [layer for layer in layers if layer]


def order_layers(layers: list[list[str]], ways: Sequence[Arrow]) -> list[list[str]]:
    """The layers with each node near the middle of those that lead to it, which leaves few crossings."""
    before: dict[str, list[str]] = {name: [] for layer in layers for name in layer}
    for way in ways:
        before[way.end].append(way.start)
    position: dict[str, float] = {}
    ordered = []
    for layer in layers:
        middle = {
            name: sum(known) / len(known)
            if (known := [position[one] for one in before[name] if one in position])
            else 0.5
            for name in layer
        }
        ordered.append(sorted(layer, key=middle.__getitem__))
        position.update({name: (number + 0.5) / len(layer) for number, name in enumerate(ordered[-1])})
    return ordered


def _without_cycles(following: Mapping[str, Sequence[str]], start: str) -> dict[str, list[str]]:
    """The ways but those that lead back to a node on the way to them, found depth first."""
    kept: dict[str, list[str]] = {name: [] for name in following}
    done: set[str] = set()
    for root in (start, *following):
        trail = {} if root in done else {root: iter(following[root])}
        while trail:
            name = next(reversed(trail))
            to = next(trail[name], None)
            if to is None:
                done.add(name)
                del trail[name]
            elif to not in trail:
                kept[name].append(to)
                if to not in done:
                    trail[to] = iter(following[to])
    return kept


def _place(layers: Sequence[Sequence[str]], texts: Mapping[str, tuple[str, ...]]) -> dict[str, Box]:
    sizes = {
        name: (
            max([len(name) * _WIDTH, *(len(one) * _SMALL_WIDTH for one in texts.get(name, ()))]) + 24,
            14 + _LINE * (1 + len(texts.get(name, ()))),
        )
        for layer in layers
        for name in layer
    }
    widths = [sum(sizes[name][0] for name in layer) + _GAP_X * (len(layer) - 1) for layer in layers]
    boxes: dict[str, Box] = {}
    y = float(_MARGIN)
    for layer, width in zip(layers, widths, strict=True):
        x = (max(widths) - width) / 2
        for name in layer:
            boxes[name] = Box(name, texts.get(name, ()), x + sizes[name][0] / 2, y, *sizes[name])
            x += sizes[name][0] + _GAP_X
        y += max(sizes[name][1] for name in layer) + _GAP_Y
    return boxes


def _direct(boxes: Mapping[str, Box], ways: Sequence[Arrow]) -> Iterator[str]:
    for way in ways:
        start, end = boxes[way.start], boxes[way.end]
        top, bottom = start.y + start.height, end.y
        middle = (top + bottom) / 2
        yield _path(
            way,
            f"M{start.x:.1f},{top:.1f} C{start.x:.1f},{middle:.1f} {end.x:.1f},{middle:.1f} {end.x:.1f},{bottom:.1f}",
        )
        side = -1 if end.x < start.x else 1
        yield from _label(way, end.x + side * 8, bottom - 12, side)


def _around(boxes: Mapping[str, Box], ways: Sequence[Arrow], edge: float, side: int) -> Iterator[str]:
    """Ways along the side of the picture, the shortest nearest to the nodes."""
    spans = sorted(ways, key=lambda way: abs(boxes[way.end].y - boxes[way.start].y))
    for number, way in enumerate(spans):
        start, end = boxes[way.start], boxes[way.end]
        lane = edge + side * _LANE * number
        from_x, to_x = start.x + side * start.width / 2, end.x + side * end.width / 2
        from_y, to_y = start.y + start.height * 0.7, end.y + end.height * 0.35
        yield _path(way, f"M{from_x:.1f},{from_y:.1f} H{lane:.1f} V{to_y:.1f} H{to_x:.1f}")
        yield from _label(way, lane + side * 4, from_y - 5, side)


def _path(way: Arrow, line: str) -> str:
    kind = ' class="exhausted"' if way.kind == "exhausted" else ""
    return f'<path{kind} d="{line}"><title>{_escaped(f"{way.start} to {way.end}")}</title></path>'


def _label(way: Arrow, x: float, y: float, side: int = 1) -> Iterator[str]:
    if way.label:
        left = " left" if side < 0 else ""
        yield f'<text class="guard{left}" x="{x:.1f}" y="{y:.1f}">{_escaped(_cut(way.label))}</text>'


def _box(box: Box) -> Iterator[str]:
    kind = ' class="end"' if box.name == END else ""
    x, y = box.x - box.width / 2, box.y
    yield f'<rect{kind} x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}"/>'
    yield f'<text x="{box.x:.1f}" y="{y + 20:.1f}">{_escaped(box.name)}</text>'
    for number, note in enumerate(box.notes, 1):
        yield f'<text class="note" x="{box.x:.1f}" y="{y + 20 + _LINE * number:.1f}">{_escaped(note)}</text>'


def _label_width(ways: Sequence[Arrow]) -> float:
    return max((len(_cut(way.label)) * _SMALL_WIDTH for way in ways), default=0)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _escaped(text: str) -> str:
    return escape(text, {'"': "&quot;"})
