"""What makes large documents fast makes the same blocks, and what is too much for docutils is still read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.preprocessing import rough
from nodes.preprocessing.blocks import Parsed, _parser, parse_markdown
from nodes.preprocessing.document import normalize
from tests.nodes.test_preprocess_laws import LINE, MARKDOWN

PLAIN = st.sampled_from(
    ["word", "Word more", "12 x", "- x y", "- z", "  - y", "    - w", "* x", "  * y", "### h", "[a] c", "[a]: b", "(x",
     "**b** c", "*e* c", "--option", "`code` c", "``c`` d", "1. a", "2) b", "===", "---", "", "", "| a |", "_x_ y"]
)  # fmt: skip
TEXT = st.one_of(MARKDOWN, st.lists(st.one_of(PLAIN, PLAIN, LINE), max_size=14).map("\n".join))


def parsed_slowly(text: str) -> Parsed:
    names = ["plain_text", "plain_list"]
    _parser().block.ruler.disable(names)
    try:
        return parse_markdown(text)
    finally:
        _parser().block.ruler.enable(names)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(TEXT, st.sampled_from(["", "\n", "\n\n"]))
def test_the_fast_rules_make_the_blocks_that_the_others_make(text: str, end: str) -> None:
    fast, slow = parse_markdown(text + end), parsed_slowly(text + end)
    assert fast.blocks == slow.blocks
    assert fast.references == slow.references


RST = """\
=====
Shop
=====

It must sell ``things``, see `the docs <https://example.org/docs>`_.

Usage
-----

Call it::

    shop sell
      --all

.. code-block:: python
   :linenos:

   import shop
   if shop:
       shop.sell()

.. note:: It must be
   open.

.. image:: x.png
   :alt: a shop

Options
~~~~~~~

- one
- two

License
-------

MIT
"""


def test_what_is_too_much_for_docutils_reads_the_same() -> None:
    assert not rough.is_too_much(RST)
    expected = normalize(RST, "shop.rst")
    found = normalize(rough.to_markdown(RST), "shop.md")
    assert [one["marker"] for one in found["sections"]] == [one["marker"] for one in expected["sections"]]
    for text in ("It must sell `things`, see [the docs](https://example.org/docs).", "```\nshop sell\n  --all\n```",
                 "```python\nimport shop\nif shop:\n    shop.sell()\n```", "- one\n- two"):  # fmt: skip
        assert text in expected["text"]
        assert text in found["text"]
    assert "**Note:** It must be\nopen." in found["text"]
    assert "MIT" not in found["text"]
    assert "x.png" not in found["text"]
    assert rough.to_markdown(RST).count("\n") == RST.count("\n")


@pytest.mark.parametrize("unit", ["*a ", "`a ", "|a ", "a_ ", "`a`_ ", "[1]_ "])
def test_marks_without_end_are_too_much_for_docutils(unit: str) -> None:
    text = f"Shop\n====\n\nIt must sell.\n\n{unit * 50_000}\n"
    assert rough.is_too_much(text)
    assert "It must sell." in normalize(text, "shop.rst")["text"]
    assert rough.is_too_much("a\n" * (rough.MOST_LINES + 1))
    assert rough.is_too_much("a" * (rough.MOST_CHARACTERS + 1))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([*RST.split("\n"), "::", "..", ".. x::", "|", "|x|", "   :a:"]), max_size=20).map(
        "\n".join
    )
)
def test_any_restructured_text_is_rewritten_line_for_line(text: str) -> None:
    made = rough.to_markdown(text)
    assert abs(made.count("\n") - text.count("\n")) <= text.count("::") + text.count("..")
    once = normalize(made, "x.md")
    assert normalize(once["text"])["text"] == once["text"]
