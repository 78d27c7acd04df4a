from __future__ import annotations

import json
from typing import Any

import pytest

from engine.errors import InputError
from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.preprocess import normalize_requirements
from nodes.preprocessing.document import normalize
from tests.support.fake_context import FakeContext, run_node


def run(text: str) -> dict[str, Any]:
    inputs = {"requirements": {"path": "brief.md", "text": text, "digest": "0"}}
    document: dict[str, Any] = run_node(normalize_requirements, inputs, FakeContext())["document"]
    return document


def kept(text: str) -> str:
    return str(normalize(text)["text"])


def markers(text: str) -> list[str]:
    return [one["marker"] for one in normalize(text)["sections"]]


def test_the_document_has_the_shape_that_its_schema_says() -> None:
    document = run("# Tool\n\nIt must count words.\n\n## License\n\nMIT\n\n![shot](a.png)\n")
    schema = json.loads(schema_file("document").read_text(encoding="utf-8"))
    assert schema_faults(document, schema) == []
    assert document["title"] == "Tool"
    assert document["states_requirements"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "brief.md: the document is empty"),
        (" \n\t\n", "brief.md: the document is empty"),
        (
            "# Awesome\n\n- [One](https://a.example)\n- [Two](https://b.example)\n",
            "brief.md: the document states no requirement",
        ),
        ("# Tool\n", "headings and lists of links"),
        ("# Tool\n# License\nMIT and nothing else here.\n", "states no requirement"),
        ("[![ci](https://img.shields.io/x)](https://ci.example)\n", "badge dropped"),
    ],
)
def test_a_document_without_requirements_is_refused_before_any_model_call(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        run(text)


@pytest.mark.parametrize(
    "text", ["A CLI that prints hello.", "做一个命令行计算器，支持加减乘除。", "```python\ndef add(a, b): ...\n```"]
)
def test_a_short_requirement_is_enough(text: str) -> None:
    assert run(text)["states_requirements"]


@pytest.mark.parametrize(
    "heading",
    [
        "# Usage", "## Usage ##", "Usage\n=====", "Usage\n---", "<h2 align='center'>Usage</h2>", "## 3. Usage:",
        "## 🚀 Usage", "## **Usage**", "## [Usage](#usage)", "###### Usage ######", "<h1>\n  Usage\n<br>\n</h1>",
        "## :rocket: Usage", "## Usage {#usage}",
    ],
)  # fmt: skip
def test_headings_of_every_form_read_the_same(heading: str) -> None:
    document = normalize(f"# Tool\n\nIt counts all the words.\n\n{heading}\n\nRun it.\n")
    assert [one["heading"].removeprefix("3. ") for one in document["sections"]] == ["Tool", "Usage"]
    assert document["sections"][1]["marker"] == "usage"


def test_levels_have_no_gaps_and_the_first_heading_is_in_no_other_marker() -> None:
    text = "# Tool\n\n### Usage\n\na b c\n\n##### Options\n\nd e f\n\n### Output\n\ng h i\n"
    assert [(one["level"], one["marker"]) for one in normalize(text)["sections"]] == [
        (1, "tool"),
        (2, "usage"),
        (3, "usage/options"),
        (2, "output"),
    ]
    assert "### Options {#usage/options}" in kept(text)


def test_markers_do_not_move_when_the_text_around_them_does() -> None:
    before = "# T\n\n## A\n\nx y z\n\n## B\n\n### Options\n\nx y z\n"
    after = "# T\n\nnew words\n\n## New\n\n### Options\n\nw w w\n\n## A\n\nw\n\n## B\n\n### Options\n\nnew too\n"
    assert set(markers(before)) <= set(markers(after))
    assert markers("# T\n\n## A\n\nx\n\n## A\n\ny\n") == ["t", "a", "a-2"]


def test_markers_keep_other_scripts_and_identifiers() -> None:
    text = "# T\n\n## 安装 & 使用\n\na\n\n## مرحبا بالعالم\n\nb\n\n## `_priority()` Function\n\nc\n\n## !!!\n\nd\n"
    assert markers(text) == ["t", "安装-使用", "مرحبا-بالعالم", "_priority-function", "section"]


@pytest.mark.parametrize(
    "heading",
    [
        "License", "LICENSE", "📄 Licence", "Licence & Credits", "许可证", "Lizenz", "Licencia", "ライセンス",
        "Contributors ✨", "Contributing", "Contributing to Tool", "How to contribute", "贡献指南", "Changelog",
        "Change Log", "What's New?", "Release notes", "更新日志", "История изменений", "Sponsors", "Star History",
        "Acknowledgements", "4. Roadmap", "TO-DO LIST", "Table of Contents", "Citation",
    ],
)  # fmt: skip
def test_sections_about_something_else_go_with_everything_beneath(heading: str) -> None:
    text = (
        f"# Tool\n\nIt counts words.\n\n## {heading}\n\n- one\n\n### Deeper\n\ntwo three four\n\n## Usage\n\nRun it.\n"
    )
    document = normalize(text)
    names = [one["heading"] for one in document["sections"]]
    assert names[0] == "Tool"
    assert names[-1] == "Usage"
    record = next(one for one in document["dropped"] if one["what"] == "section")
    assert record["heading"] in heading
    if heading != "Table of Contents":
        assert names == ["Tool", "Usage"]
        assert record["lines"] == [5, 12]


@pytest.mark.parametrize(
    "heading",
    [
        "License manager", "Sponsored posts", "Contribution limits", "Changelog generator", "Contents of a parcel",
        "Licensed users", "Install command", "Authorship", "Release notes parser", "Historical prices", "Thanksgiving",
        "Badge printing", "许可证管理",
    ],
)  # fmt: skip
def test_headings_are_matched_as_words_never_as_substrings(heading: str) -> None:
    assert heading in [one["heading"] for one in normalize(f"# Tool\n\nx\n\n## {heading}\n\nIt prints.\n")["sections"]]


def test_a_heading_below_commands_or_features_is_a_part_of_the_program() -> None:
    text = "# Tool\n\nx\n\n## Commands\n\n### install\n\nInstalls a plugin.\n\n### license\n\nPrints a notice.\n"
    assert markers(text) == ["tool", "commands", "commands/install", "commands/license"]
    assert "`changelog`" in kept("# Tool\n\nx\n\n## `changelog`\n\nPrints what changed.\n")


def test_the_title_is_never_dropped_and_its_words_do_not_hide_a_heading() -> None:
    assert kept("# Changelog\n\nA tool that writes changelogs.\n\n## Usage\n\nRun it.\n").startswith("# Changelog")
    assert "Installing" not in kept(
        "# Wordy\n\nCounts words.\n\n## Installing Wordy\n\nUse the wheel.\n\n## Usage\n\nRun it.\n"
    )


def test_an_installation_section_keeps_what_it_says_about_the_program() -> None:
    text = """# Tool

Counts words.

## Installation

Get it from the index. You may need to update pip.

It needs Python 3.11 and no other package.

- Clone it.
- It depends on `libxml`.

```bash
$ pip install tool
cd tool && make
```

The tool must create `~/.tool` on its first run.

```bash
tool init --force
```
"""
    document = normalize(text)
    assert "must create `~/.tool`" in document["text"]
    assert "tool init --force" in document["text"]
    assert "It needs Python 3.11 and no other package.\n\n- It depends on `libxml`.\n\nThe tool" in document["text"]
    assert "Clone it" not in document["text"]
    assert "pip install" not in document["text"]
    assert {"what": "code", "reason": "installation", "lines": [14, 17]} in document["dropped"]
    assert "Installation" not in kept("# Tool\n\nCounts words.\n\n## Installation\n\n```\npip install tool\n```\n")


def test_what_stands_below_a_table_of_contents_by_its_level_alone_stays() -> None:
    text = "# Tool\n\nx\n\n# Table of Contents\n\n1. [Usage](#usage)\n   - [More](#more)\n\n## Usage\n\nRun it.\n"
    assert markers(text) == ["tool", "usage"]


@pytest.mark.parametrize(
    "badge",
    [
        "[![ci](https://img.shields.io/x.svg)](https://ci.example)",
        "![ci](https://img.shields.io/x.svg)",
        "[![ci]][link]\n\n[ci]: https://img.shields.io/x.svg\n[link]: https://ci.example",
        "[![ci][img]][link]\n\n[img]: https://img.shields.io/x.svg\n[link]: https://ci.example",
        '<a href="https://ci.example"><img src="https://img.shields.io/x.svg" alt="ci"></a>',
        '<p align="center">\n<a href="https://ci.example">\n<img alt="ci" src="https://img.shields.io/x">\n</a>\n</p>',
        '<p align="center">\n  <img src="https://img.shields.io/x"/>\n\n  <img src="https://img.shields.io/y"/>\n</p>',
    ],
)
def test_badges_of_every_form_go_and_are_listed(badge: str) -> None:
    document = normalize(f"# Tool\n\n{badge}\n\nCounts words.\n")
    assert document["text"] == "# Tool {#tool}\n\nCounts words.\n"
    assert document["dropped"][0]["what"] == "badge"
    assert document["dropped"][0]["lines"][0] == 3


def test_an_image_goes_but_the_words_beside_it_stay() -> None:
    document = normalize(
        "# ![logo](l.png) Tool\n\nSee ![shot](s.png) here: `![not](an image)`.\n\n# ![Only a logo](x.png)\n\na b c\n"
    )
    assert document["text"].startswith("# Tool {#tool}\n\nSee  here: `![not](an image)`.")
    assert document["sections"][1]["heading"] == "Only a logo"
    assert {"what": "image", "reason": "1 image", "lines": [3, 3]} in document["dropped"]


def test_nested_lists_are_flat_and_keep_their_level() -> None:
    text = (
        "- a\n  - b\n    1. c\n       more of c\n  - d\n\n    second paragraph\n* e\n\n1. one\n   - under one\n2. two\n"
    )
    assert kept(text) == (
        "- a\n- → b\n- →→ 1. c\n  more of c\n- → d\n\n  second paragraph\n- e\n1. one\n- → under one\n2. two\n"
    )


def test_code_of_every_form_is_fenced_and_unharmed() -> None:
    text = (
        "~~~~python\na = '```'\n~~~~\n\n    indented\n\ttabbed\n\n````md\n```js\nx\n```\n````\n\n"
        "- item\n  ```sh\n  run\n\n  it\n  ```\n"
    )
    assert kept(text) == (
        "```python\na = '```'\n```\n\n```\nindented\ntabbed\n```\n\n````md\n```js\nx\n```\n````\n\n"
        "- item\n  ```sh\n  run\n\n  it\n  ```\n"
    )


@pytest.mark.parametrize(
    "code",
    [
        "pip install tool",
        "tool --help",
        "[server]\nport = 80",
        '{"a": 1}',
        "src/\n└── a.py",
        "x = f(1)\n# License\n![a](b)",
        "Hello, World!",
        " | |\n-+-\n | |",
    ],
)
def test_code_that_says_something_stays(code: str) -> None:
    assert code in kept(f"# Tool\n\nUse it:\n\n```\n{code}\n```\n")


@pytest.mark.parametrize(
    ("code", "reason"),
    [("@article{a,\n title={T}\n}", "citation"), ("", "empty"), (" ____\n|_  _|\n  ||\n  --", "banner")],
)
def test_code_that_says_nothing_goes(code: str, reason: str) -> None:
    document = normalize(f"# Tool\n\n```\n{code}\n```\n\nCounts words.\n")
    assert "```" not in document["text"]
    assert document["dropped"] == [{"what": "code block", "reason": reason, "lines": [3, 4 + len(code.split("\n"))]}]


def test_tables_definitions_options_and_quotes_stay_as_they_are() -> None:
    text = (
        "| a | b |\n|---|:-:|\n| 1 | `x|y` |\n\nterm\n: its definition\n\n"
        "-v, --verbose  say more\n\n> [!NOTE]\n> must be read\n"
    )
    assert kept(text) == text


def test_links_are_written_out_and_definitions_go() -> None:
    document = normalize(
        "See [docs][1], [site] and [a][] or `[site]`.\n\n"
        "[1]: https://d.example\n[Site]: <https://s.example/x y>\n[a]: /a\n[b]: /b\n"
    )
    assert document["text"] == (
        "See [docs](https://d.example), [site](https://s.example/x%20y) and [a](/a) or `[site]`.\n"
    )
    assert [one["lines"] for one in document["dropped"]] == [[6, 6]]


def test_html_becomes_markdown_and_placeholders_stay() -> None:
    text = """<h1 align="center">Tool</h1>
<!-- hidden
notes -->
<details><summary>More</summary>

- point

</details>

<ul><li>first</li><li>second</li></ul>
<table><tr><td>a</td><td>b</td></tr></table>

Press <kbd>q</kbd><br/> or run `tool <b>` with <input file> and <path to x>. <a href="https://e.example">Here</a>.
"""
    document = normalize(text)
    assert document["text"] == (
        "# Tool {#tool}\n\n**More**\n\n- point\n- first\n- second\n\n| a | b\n\n"
        "Press q  or run `tool <b>` with <input file> and <path to x>. [Here](https://e.example).\n"
    )
    assert document["dropped"] == [{"what": "comment", "reason": "not shown to a reader", "lines": [1, 4]}]


def test_the_second_telling_in_another_language_goes_unless_it_says_more() -> None:
    pairs = [
        ("Reads a folder of notes.", "读取一个笔记文件夹。"),
        ("Use `-m` to move files.", "使用 `-m` 移动文件。"),
        ("It needs Python 3.8 or later.", "需要 Python 3.8 以上。"),
        ("It never deletes.", "使用 `--purge` 删除。"),
    ]
    body = "\n\n".join(f"{english}\n\n{chinese}" for english, chinese in pairs)
    document = normalize(f"# Tool\n\n## Use（使用）\n\n{body}\n\n```sh\n# move\n# 移动\ntool -m\n```\n")
    assert "读取" not in document["text"]
    assert "移动" not in document["text"]
    assert "使用 `--purge` 删除。" in document["text"]
    assert [one["heading"] for one in document["sections"]] == ["Tool", "Use"]
    assert sum(one["what"] == "translation" for one in document["dropped"]) == 3
    assert "读取" in kept("# 工具\n\n读取一个文件夹。\n\n## Options\n\n输出文件。\n")


def test_line_ends_marks_and_front_matter_do_not_matter() -> None:
    text = "---\ntitle: My tool\ntags: [a]\n---\n\nIt counts words.\n\n- a\n- b\n"
    document = normalize("\ufeff" + text.replace("\n", "\r\n"))
    assert document["text"] == "It counts words.\n\n- a\n- b\n"
    assert document["title"] == "My tool"
    assert document["dropped"] == [
        {"what": "front matter", "reason": "about the page, not the program", "lines": [1, 4]}
    ]
    assert kept("one\rtwo\0") == "one\ntwo\ufffd\n"


def test_appeals_and_navigation_go_but_not_a_sentence_that_also_says_something() -> None:
    text = """# Tool

[Docs](https://d.example) • [Chat](https://c.example)

If you like this, please star this repo! Pull requests are welcome.

**Tool** counts words in files. Feel free to contribute!
"""
    assert kept(text) == "# Tool {#tool}\n\n**Tool** counts words in files. Feel free to contribute!\n"
