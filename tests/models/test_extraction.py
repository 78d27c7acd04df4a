"""A file's content comes out of whatever an answer wraps it in."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models.extraction import file_content

CODE = 'def greet(name: str) -> str:\n    """Say hello."""\n    return f"hello {name}"\n'
README = "# Tool\n\nInstall:\n\n```bash\npip install tool\n```\n\n## Use\n\n```\ntool run\n```\n"
DOCSTRING_FENCES = '"""Module.\n\n```\nexample()\n```\n"""\n\nx = 1\n'


@pytest.mark.parametrize(
    "answer",
    [
        CODE,
        f"```python\n{CODE}```",
        f"```\n{CODE}```",
        f"````python\n{CODE}````\n",
        f"~~~python\n{CODE}~~~",
        f"```python\n{CODE}",
        f"{CODE}```",
        f"{CODE}```\n\nThis is a very long explanation of what the code above does and why it does so.",
        f"Here is the file:\n\n```python\n{CODE}```\n\nLet me know if you need more.",
        f"Here is the file:\n\n{CODE}\n\nLet me know if you need more!",
        f"Sure! This implements greeting.\n\n{CODE}",
        f"**src/core.py**\n\n```python\n{CODE}```",
        f"### `src/core.py` (new file)\n```python\n{CODE}```",
        f"```python src/core.py\n{CODE}```",
        f"```python:src/core.py\n{CODE}```",
        f"```src/core.py\n{CODE}```",
        f"```python\nsrc/core.py\n{CODE}```",
        f"src/core.py\n{CODE}",
        f"File: src/core.py\n\n{CODE}",
        f"core.py:\n```\n{CODE}```",
        f"<think>\nMaybe:\n```python\nwrong = 1\n```\n</think>\n```python\n{CODE}```",
        f"I should greet.\n</think>\n\n```python\n{CODE}```",
        json.dumps({"path": "src/core.py", "content": CODE}),
        json.dumps({"content": CODE}),
        json.dumps({"code": f"```python\n{CODE}```", "language": "python"}),
        json.dumps({"src/core.py": CODE}),
        json.dumps({"files": [{"path": "a.py", "content": "a"}, {"path": "src/core.py", "content": CODE}]}),
        json.dumps({"files": {"src/core.py": CODE}}),
        "```json\n" + json.dumps({"path": "src/core.py", "content": CODE}, indent=1) + "\n```",
        "\ufeff" + CODE,
        "\ufeff```python\r\n" + CODE.replace("\n", "\r\n") + "```\r\n",
        "   ```python\n" + "".join(f"   {line}\n" for line in CODE.splitlines()) + "   ```",
        f"```bash\npip install x\nmkdir src\ntouch src/core.py\n```\nand\n```python\n{CODE}```",
        f"```python\n{CODE}```\nUse it:\n```python\nfrom core import greet\n```",
        f"a.py:\n```python\n{CODE}{CODE}```\nsrc/core.py:\n```python\n{CODE}```",
        f"\n\n\n```python\n\n\n{CODE}\n\n```\n\n",
    ],
)
def test_python_comes_out_of_any_wrapping(answer: str) -> None:
    assert file_content(answer, "src/core.py") == CODE


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
@pytest.mark.parametrize("tag", ["", "python"])
def test_fences_in_a_docstring_stay(fence: str, tag: str) -> None:
    assert file_content(f"{fence}{tag}\n{DOCSTRING_FENCES}{fence}\nDone.", "a.py") == DOCSTRING_FENCES
    assert file_content(DOCSTRING_FENCES, "a.py") == DOCSTRING_FENCES


@pytest.mark.parametrize(
    "answer",
    [
        README,
        f"```markdown\n{README}```",
        f"````markdown\n{README}````",
        f"~~~md\n{README}~~~",
        f"```\n{README}```",
        f"Here is the README:\n\n```markdown\n{README}```\n\nIt has two sections.",
        f"Here is the README:\n\n{README}",
        f"# README.md\n```markdown\n{README}```",
        f"```README.md\n{README}```",
        json.dumps({"path": "README.md", "content": README}),
    ],
)
def test_markdown_keeps_its_own_fences(answer: str) -> None:
    assert file_content(answer, "README.md") == README


@pytest.mark.parametrize(
    "document",
    [
        "# mdtool\n\n```markdown\n# hi\n```\n\nMore.\n",
        "mdtool converts documents of all kinds, quickly:\n\n```markdown\n# hi\n```\n\nMore of it follows here.\n",
        "```text\nart\n```\n\n# T\n\n```bash\nx\n```\n",
        "Tool\n====\n\n```\npip install x\n```\n",
        "No fences at all.\n",
    ],
)
def test_bare_markdown_is_left_alone(document: str) -> None:
    assert file_content(document, "README.md") == document


def test_broken_code_is_not_cut_until_it_parses() -> None:
    broken = "import os\n\n\ndef a():\n    return 1\n\n\ndef b(:\n    return 2\n"
    assert file_content(broken, "a.py") == broken
    assert file_content(f"```python\n{broken}```\nUse:\n```python\nprint(1)\n```", "a.py") == broken


def test_json_files_are_not_unwrapped_by_mistake() -> None:
    package = '{"name": "x", "text": "y"}\n'
    assert file_content(package, "package.json") == package
    assert file_content(json.dumps({"path": "package.json", "content": package}), "package.json") == package


def test_nothing_but_thoughts_is_empty() -> None:
    assert file_content("<think>I wonder", "a.py") == ""
    assert file_content("```python\n```", "a.py") == ""


def test_half_a_surrogate_pair_never_reaches_a_file() -> None:
    file_content('{"content": "x = \'\\ud800\'"}', "a.py").encode()


lines = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="`~<\ufeff"), max_size=30)
bodies = st.lists(lines, min_size=1, max_size=8).map("\n".join)


@st.composite
def codes(draw: st.DrawFn) -> str:
    """Any text that is no fence, no name of the file and no JSON around a file."""
    text = draw(bodies.filter(lambda one: one.strip() != "" and "core" not in one)).strip("\n")
    kept = text.split("\n")
    while kept and not kept[0].strip():
        kept.pop(0)
    while kept and not kept[-1].strip():
        kept.pop()
    return "\n".join(kept) + "\n"


@st.composite
def wrappings(draw: st.DrawFn) -> tuple[str, str, str]:
    """The text before, after, and whether lines end with CRLF."""
    mark = draw(st.sampled_from("`~")) * draw(st.integers(3, 7))
    tag = draw(st.sampled_from(["", "go", "text", "go core.go", "python"]))
    name = draw(st.sampled_from(["", "src/core.go\n", "**src/core.go**:\n\n", "### `src/core.go`\n"]))
    talk = draw(st.sampled_from(["", "Here it is:\n\n", "Sure! I'd do this.\n", "1. First\n2. Second\n\n"]))
    end = draw(st.sampled_from(["", "\n", "\n\nHope this helps!", "\nNote: `x` is *new*.\n"]))
    thought = draw(st.sampled_from(["", "<think>\n```\nno\n```\n</think>\n", "\n<thinking>x</thinking>"]))
    return f"{thought}{talk}{name}{mark}{tag}\n", f"{mark}{end}", draw(st.sampled_from(["\n", "\r\n"]))


@given(codes(), wrappings(), st.sampled_from(["src/core.go", "src/core.py", "core.md"]))
def test_any_code_comes_out_of_a_fence(code: str, wrapping: tuple[str, str, str], path: str) -> None:
    before, after, end = wrapping
    if path == "core.md":
        before = (
            before.replace("### ", "").replace("python", "markdown").replace("text", "markdown").replace("go", "md")
        )
        if "md\n" not in before and "markdown\n" not in before:
            before = before.rstrip("\n") + "markdown\n"
        code = code * (1 + 200 // len(code))
        code = "# T\n" + code
    assert file_content((before + code + after).replace("\n", end), path) == code


@given(codes(), st.booleans(), st.sampled_from(["src/core.go", "src/core.py", "src/core.json"]))
def test_any_code_comes_out_of_json(code: str, indented: bool, path: str) -> None:
    wrapped = json.dumps({"path": path, "content": code}, indent=1 if indented else None)
    assert file_content(wrapped, path) == code
    assert file_content(f"```json\n{wrapped}\n```", path) == code


@given(st.text(), st.sampled_from(["a.py", "README.md", "a.json", "Makefile"]))
def test_no_answer_breaks_it(answer: str, path: str) -> None:
    content = file_content(answer, path)
    assert content == "" or (content.endswith("\n") and content.strip())
