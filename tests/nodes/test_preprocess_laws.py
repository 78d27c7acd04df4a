"""Laws of preprocessing: any text goes through, twice is once, markers stay, no signature and no path is lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.preprocessing.document import normalize

FRAGMENTS = r"""
# Head @ ## Head two @ Setext~=== @ Sub~--- @ - item @   - nested @     - deep @ * star @ 1. one @ 2. two @    3. three
text here @     indented @ ``` @ ```python @ > quote @ >> deeper @ | a | b | @ |---|---| @ <div> @ </div> @ <h2>x</h2>
<!-- c @ --> @ ![i](u) @ [![b](https://img.shields.io/x)](l) @ [r]: http://x @ [r] @ [t][r] @ ![a][r] @ --- @ ***
<p align='center'> @ <a href='x'>y</a> @ <br> @ <details><summary>S</summary> @ `code` @ ``a ` b`` @ # License
## Installation @ ## Usage @ pip install x @ 中文说明文字 @ - 中文 @ **bold** @ <path to x> @ [^1]: note @ # H {#x}
Heading {#m}~--- @ text\\ @ + @ - @ 1) @ = @ <pre> @ </pre> @ ` @ [ @ ] @ ](x) @ <img src=x alt=y> @ # ![logo](x)
<table><tr><td>1</td></tr></table> @ - [ ] task @ term~: def @ - - - x @ - > q @ - # h @ -     code @ 1. ```~   x~   ```
\\# esc @ # @ ##  @ <b>x</b> y @ <script> @ → x @ The tool must work. @ <?php @ <x-y> @ # Table of Contents
- [a](#b) @ [a](#b) | [c](#d) @ ~~~
"""
PIECES = [piece.replace("~", "\n") for line in FRAGMENTS.split("\n") for piece in re.split(" @ ?", line)]
PIECES += ["```~pip install requests~```", "run:", "```sh~git clone x~```", "Install Python 3 first.", "```~cd x~```"]
PIECES = [piece.replace("~", "\n") for piece in PIECES]
PIECES += ["~~~", "\ttab", "\u2028", "\x0b", "", ""]
LINE = st.builds(
    lambda indent, first, second: " " * indent + first + (f" {second}" if second else ""),
    st.sampled_from([0, 0, 0, 0, 1, 2, 3, 4, 5, 8]),
    st.sampled_from(PIECES),
    st.one_of(st.just(""), st.just(""), st.sampled_from(PIECES)),
)
MARKDOWN = st.lists(LINE, max_size=14).map("\n".join)


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.one_of(MARKDOWN, st.text(max_size=200)))
def test_any_text_goes_through_and_twice_is_once(text: str) -> None:
    once = normalize(text)
    twice = normalize(once["text"])
    assert twice["text"] == once["text"]
    assert [one["marker"] for one in twice["sections"]] == [one["marker"] for one in once["sections"]]
    assert len({one["marker"] for one in once["sections"]}) == len(once["sections"])
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(1 <= one["lines"][0] <= one["lines"][1] <= lines for one in once["dropped"])


BODY = st.text("abc XYZ.,`*_!?0123\n|", max_size=80)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Alpha", "Beta", "Gamma", "Delta"]), BODY), min_size=1, unique_by=lambda one: one[0]
    )
)
def test_the_same_heading_has_the_same_marker_whatever_is_said_below_it(sections: list[tuple[str, str]]) -> None:
    for order in (sections, sections[::-1]):
        text = "# Title\n\nwords\n\n" + "".join(f"## {heading}\n\nIt works.\n\n{body}\n\n" for heading, body in order)
        found = {one["heading"]: one["marker"] for one in normalize(text)["sections"]}
        assert all(found[heading] == heading.lower() for heading, _ in sections)


def test_a_specification_keeps_every_signature_and_every_path() -> None:
    text = "# Box Project\n\nPlease create a Python project named box.\n"
    wanted = []
    for number in range(300):
        path = f"box/part_{number}.py"
        signature = f"def make_{number}(value: int, *, deep: bool = False) -> dict[str, list[int]]:"
        lead = ("- ", "1. ", "", "> ")[number % 4]
        text += f"\n## {number}. Module `{path}`\n\n{lead}`{path}` must offer it.\n\n```python\n{signature}\n```\n"
        wanted += [path, signature]
    document = normalize(text)
    assert all(one in document["text"] for one in wanted)
    assert document["dropped"] == []


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 100_000, " " * 100_000 + "x", "x" + " " * 100_000 + "y", "[" * 50_000, "![" * 50_000, "> " * 50_000,
        "- " * 50_000, "`" * 50_000 + "x", "` `` " * 20_000, "<a " * 50_000, "<a href='" * 20_000, "x <!--" * 20_000,
        "[a](" * 20_000, "*" * 100_000, "# a {#b}" * 10_000, "<pre>" * 20_000, "<script>" * 10_000,
        "tool must " * 20_000, "[x" * 20_000 + "](u)" * 20_000,
        "".join(f"{'  ' * depth}- x\n" for depth in range(1000)),
        "".join(f"[a{k}]: b\n[a{k}]\n\n" for k in range(5000)), "[^a]: b\n" * 10_000, "# " + "{#a}" * 20_000,
    ],
    ids=lambda text: repr(text[:8]),
)  # fmt: skip
def test_monstrous_texts_go_through(text: str) -> None:
    once = normalize(text)
    assert normalize(once["text"])["text"] == once["text"]
