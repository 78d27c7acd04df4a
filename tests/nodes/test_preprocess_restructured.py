# ruff: noqa: E501 - lists of fragments

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.preprocessing.document import normalize
from nodes.preprocessing.restructured import is_restructured

DOCUMENT = """\
Wordy
=====

.. image:: https://img.shields.io/pypi/v/wordy.svg
   :target: https://example.org
   :alt: version

|ci| Counts *words* in ``files``; see `the docs <https://docs.example>`_ and `site`_.

.. |ci| image:: https://travis-ci.org/w.svg
.. _site: https://site.example
.. a comment

.. contents::

Usage
-----

Run it::

    wordy --all FILE

1. first

   - under first
     goes on

   after the nested one
2. second

term
    Its definition.

-v, --verbose  Say more.
--out=FILE     Where to.

:key: a value

.. note:: It must never delete.

   Not even once.

.. code-block:: python
   :linenos:

   def count(path: str) -> int: ...

Options
~~~~~~~

=====  =====
Name   Use
=====  =====
all    count all
=====  =====

| one line
| another

.. unknown:: thing

   kept text

License
-------

MIT

Deeper
~~~~~~

all of it
"""
WANTED = """\
# Wordy {#wordy}

Counts *words* in `files`; see [the docs](https://docs.example) and [site](https://site.example).

## Usage {#usage}

Run it:

```
wordy --all FILE
```

1. first
- → under first
  goes on
- after the nested one
2. second
- term: Its definition.
- `-v, --verbose`: Say more.
- `--out=FILE`: Where to.
- key: a value

> **Note:**
> It must never delete.
>
> Not even once.

```python
def count(path: str) -> int: ...
```

### Options {#usage/options}

| Name | Use |
|---|---|
| all | count all |

one line
another

```
.. unknown:: thing

   kept text
```
"""


def test_every_kind_of_block_reads_as_its_markdown() -> None:
    document = normalize(DOCUMENT, "README.rst")
    assert document["text"] == WANTED
    assert [one["marker"] for one in document["sections"]] == ["wordy", "usage", "usage/options"]
    assert [one["what"] for one in document["dropped"]] == ["badge", "badge", "comment", "section"]
    assert document["dropped"][-1]["lines"] == [65, 73]


def test_a_document_is_known_by_its_name_or_else_by_its_look() -> None:
    assert is_restructured("plain", "a/README.rst")
    assert is_restructured(DOCUMENT, "README")
    assert not is_restructured(DOCUMENT, "README.md")
    assert not is_restructured("Title\n=====\n\ntext\n\n.. note\n", "README")
    assert not is_restructured("# Title\n\n.. note::\n\nTitle\n=====\n", "README.txt")
    assert normalize(DOCUMENT, "README.txt")["text"] == WANTED


def test_nothing_is_included_and_nothing_raw_gets_in() -> None:
    text = "Title\n=====\n\n.. include:: /etc/passwd\n\n.. raw:: html\n   :file: /etc/passwd\n\nIt must work.\n"
    document = normalize(text, "a.rst")
    assert "root:" not in document["text"]
    assert "It must work." in document["text"]


def test_signatures_survive() -> None:
    code = "\n".join(f"   def f{number}(a: int = {number}, *b: str) -> dict[str, int]: ..." for number in range(200))
    text = normalize(f"Spec\n====\n\n.. code:: python\n\n{code}\n", "s.rst")["text"]
    assert (
        len(re.findall(r"^def f\d+\(a: int = \d+, \*b: str\) -> dict\[str, int\]: \.\.\.$", text, re.MULTILINE)) == 200
    )


PIECES = [
    "Title\n=====", "Sub\n---", "* item", "  * nested", "1. one", "#. auto", "text ``code`` *em* **st**", "    quoted", "::", ".. note:: x", "   more",
    ".. image:: u", "|sub|", ".. |sub| image:: v", "`ref`_", ".. _ref: http://x", ".. unknown::", "term\n  def", ":field: v", "-o  opt", "| line",
    "====  ====\na     b\n====  ====", "+---+\n| a |\n+---+", "----", "[1]_", ".. [1] note", ":role:`x`", "\\* esc", "# hash", "- dash", "", "", "",
    ">>> 1", ".. code:: python", "__ anon", "`a <b>`__", "\t tab", "*open", "``open", "<tag>", "[x](y)", "License\n-------", "..",
]  # fmt: skip
LINE = st.builds(
    lambda indent, piece: " " * indent + piece, st.sampled_from([0, 0, 0, 2, 3, 4]), st.sampled_from(PIECES)
)


@settings(max_examples=250, deadline=None, derandomize=True)
@given(st.one_of(st.lists(LINE, max_size=12).map("\n".join), st.text(max_size=80)))
def test_any_text_goes_through_and_what_comes_out_stays_as_it_is(text: str) -> None:
    once = normalize(text, "x.rst")
    assert normalize(once["text"], "x.md")["text"] == once["text"]
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert all(1 <= one["lines"][0] <= one["lines"][1] <= lines for one in once["dropped"])


@pytest.mark.parametrize(
    "text", ["*" * 5000, "`" * 5000, "* " * 3000, "=" * 5000, "a\n" * 5000, "\n" * 20000, ".. " * 3000, "|" * 5000]
)
def test_monstrous_texts_go_through(text: str) -> None:
    normalize(text, "x.rst")
