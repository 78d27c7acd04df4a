from __future__ import annotations

import difflib
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.patch import PatchError, apply_patch, is_patch

PATH = "shop/core.py"
FILE = "import os\n\n\ndef one():\n    return 1\n\n\ndef two():\n    return 1\n\n\ndef three():\n    return 3\n"
HUNK = " def two():\n-    return 1\n+    return 2\n"
DONE = FILE.replace("def two():\n    return 1", "def two():\n    return 2")

LINES = st.text(alphabet=st.sampled_from("ab -+@\\`#\r\t\x0c\x85\u2028{}"), max_size=5)
TEXTS = st.builds(
    lambda lines, end: "\n".join(lines) + end, st.lists(LINES, max_size=12), st.sampled_from(["", "\n", "\n\n"])
)


def diff(old: str, new: str, context: int = 3, names: tuple[str, str] = (f"a/{PATH}", f"b/{PATH}")) -> str:
    """A unified diff as the diff program writes it, with its mark for a missing newline at the end."""
    before, after = (text.split("\n") for text in (old, new))
    lines = [[f"{one}\n" for one in text[:-1]] + ([text[-1]] if text[-1] else []) for text in (before, after)]
    parts = difflib.unified_diff(*lines, *names, n=context)
    return "".join(one if one.endswith("\n") else f"{one}\n\\ No newline at end of file\n" for one in parts)


@settings(deadline=None, max_examples=80)
@given(TEXTS, TEXTS, st.integers(1, 4))
def test_a_diff_of_two_texts_gives_the_second(old: str, new: str, context: int) -> None:
    patch = diff(old, new, context)
    if old == new:
        with pytest.raises(PatchError):
            apply_patch(old, patch, PATH)
    else:
        assert apply_patch(old, patch, PATH) == new


@settings(deadline=None, max_examples=80)
@given(TEXTS, TEXTS, TEXTS)
def test_a_diff_of_another_text_is_refused_or_fits_by_its_own_lines(old: str, new: str, other: str) -> None:
    patch = diff(old, new)
    kept = [one[1:] for one in patch.split("\n")[2:] if one.startswith((" ", "-"))]
    try:
        apply_patch(other, patch, PATH)
    except PatchError as error:
        assert str(error)
        return
    present = [one.removesuffix("\r") for one in other.split("\n")]
    assert all(one.removesuffix("\r") in present for one in kept)


@settings(deadline=None, max_examples=12)
@given(st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=12), st.data())
def test_it_does_what_git_does(lines: list[str], data: st.DataObject) -> None:
    old = "\n".join(lines) + "\n"
    place = data.draw(st.integers(0, len(lines) - 1))
    new = "\n".join([*lines[:place], data.draw(st.sampled_from(["x", "x\ny"])), *lines[place + 1 :]]) + "\n"
    patch = diff(old, new, names=("a/file", "b/file"))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_text(old)
        subprocess.run(["git", "apply", "-"], input=patch, text=True, check=True, cwd=folder)
        assert (Path(folder) / "file").read_text() == new == apply_patch(old, patch, "file")


@pytest.mark.parametrize(
    "answer",
    [
        f"@@ -8,2 +8,2 @@\n{HUNK}",
        f"--- a/{PATH}\n+++ b/{PATH}\n@@ -8,2 +8,2 @@ def two():\n{HUNK}",
        f"--- {PATH}\t2024-01-01\n+++ {PATH}\t2024-01-02\n@@ -8,2 +8,2 @@\n{HUNK}",
        f"diff --git a/{PATH} b/{PATH}\nindex 12ab..34cd 100644\n--- a/{PATH}\n+++ b/{PATH}\n@@ -8,2 +8,2 @@\n{HUNK}",
        f"```diff\n--- a/{PATH}\n+++ b/{PATH}\n@@ -8,2 +8,2 @@\n{HUNK}```",
        f"Here is the fix:\n\n```\n@@ -8,2 +8,2 @@\n{HUNK}```\n\nIt returns two now.",
        f"Here is the fix:\n\n@@ -8,2 +8,2 @@\n{HUNK}\nIt returns two now.\n",
        f"<think>\n@@ -1 +1 @@\n-import os\n</think>\n@@ -8,2 +8,2 @@\n{HUNK}",
        f"@@ -80,2 +81,2 @@\n{HUNK}",  # a wrong place, and only one fits
        f"@@ -8,7 +8,9 @@\n{HUNK}",  # wrong counts
        f"@@ @@\n{HUNK}",
        f"@@ -8,2 +8,2 @@\r\n{HUNK}".replace("\r", "").replace("\n", "\r\n"),
        f"@@ -6,4 +6,4 @@\n\n\n{HUNK}",  # the space before an empty line is often lost
        f"@@ -8,2 +8,2 @@\n{HUNK}\n\n",
    ],
)
def test_what_models_write_is_applied(answer: str) -> None:
    assert is_patch(answer)
    assert apply_patch(FILE, answer, PATH) == DONE


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("@@ -8,2 +8,2 @@\n def two():\n-    return 5\n+    return 2\n", "no line '    return 5'"),
        ("@@ -8,2 +8,2 @@\n def  two():\n-    return 1\n+    return 2\n", "no line 'def  two():'"),
        ("@@ -1,2 +1,2 @@\n def two():\n-import os\n+import sys\n", "not one right after the other"),
        ("@@ -50 +50 @@\n-    return 1\n+    return 2\n", "at lines 5, 9"),
        ("@@ -3,0 +4,2 @@\n+x = 1\n", "only adds lines"),
        ("@@ -8,2 +8,2 @@\n def two():\n     return 1\n", "changes no line"),
        ("@@ -8,1 +8,1 @@\n-def two():\n+def two():\n", "changes nothing"),
        (f"@@ -8,2 +8,2 @@\n{HUNK}@@ -9,1 +9,1 @@\n-    return 1\n+    return 4\n", "same lines"),
        (f"--- a/shop/other.py\n+++ b/shop/other.py\n@@ -8,2 +8,2 @@\n{HUNK}", "only shop/core.py"),
        (
            f"--- a/{PATH}\n+++ b/{PATH}\n@@ -8,2 +8,2 @@\n{HUNK}--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n",
            "'a/x.py'",
        ),
        (f"--- /dev/null\n+++ b/{PATH}\n@@ -0,0 +1 @@\n+x\n", "may not make or remove"),
        (f"--- a/{PATH}\n+++ /dev/null\n@@ -1 +0,0 @@\n-import os\n", "may not make or remove"),
        (f"diff --git a/{PATH} b/{PATH}\nrename from {PATH}\nrename to x.py\n", "not made, moved or removed"),
        (f"diff --git a/{PATH} b/{PATH}\nGIT binary patch\nliteral 5\n", "not made, moved or removed"),
        (f"diff --git a/{PATH} b/{PATH}\nnew file mode 100644\n@@ -8,2 +8,2 @@\n{HUNK}", "not made, moved or removed"),
        (f"diff --git a/{PATH} b/shop/x.py\n@@ -8,2 +8,2 @@\n{HUNK}", "'b/shop/x.py'"),
        (
            "@@ -8,2 +8,2 @@\n def two():\nreturn 1\n+    return 2\n@@ -1 +1 @@\n-import os\n+import sys\n",
            "begins with none",
        ),
        ("@@ -13,1 +13,1 @@\n-    return 3\n\\ No newline at end of file\n+    return 4\n", "does not fit"),
        ("I cannot do that.", "no hunk"),
        ("", "no hunk"),
        (FILE, "no hunk"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence_for_the_model(answer: str, why: str) -> None:
    with pytest.raises(PatchError) as raised:
        apply_patch(FILE, answer, PATH)
    assert why in str(raised.value)


def test_several_hunks_in_any_order_and_in_several_blocks() -> None:
    first = "@@ -1 +1 @@\n-import os\n+import sys\n"
    expected = DONE.replace("import os", "import sys")
    assert apply_patch(FILE, f"```diff\n@@ -8,2 +8,2 @@\n{HUNK}```\nand\n```diff\n{first}```", PATH) == expected
    # the second hunk counts from what the first one made
    grown = "@@ -1 +1,3 @@\n-import os\n+import sys\n+\n+X = 1\n@@ -10,2 +10,2 @@\n" + HUNK
    assert apply_patch(FILE, grown, PATH) == DONE.replace("import os", "import sys\n\nX = 1")


def test_line_ends_are_kept() -> None:
    windows = FILE.replace("\n", "\r\n")
    assert apply_patch(windows, f"@@ -8,2 +8,2 @@\n{HUNK}", PATH) == DONE.replace("\n", "\r\n")
    assert apply_patch("a\r\nb\nc\n", "@@ -2,2 +2,2 @@\n b\n-c\n+d\n", PATH) == "a\r\nb\nd\n"


def test_a_missing_newline_at_the_end() -> None:
    assert apply_patch("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", PATH) == "a\nc\n"
    assert apply_patch("a\nb", "@@ -1,2 +1,3 @@\n a\n b\n+c\n", PATH) == "a\nb\nc\n"
    assert apply_patch("a\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n", PATH) == "c\nb"
    marked = "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    assert apply_patch("a\nb", marked, PATH) == "a\nc"


def test_a_removed_line_that_looks_like_a_header() -> None:
    text = "-- one\n-- two\nselect 1\n"
    assert apply_patch(text, "@@ -1,3 +1,2 @@\n --  one\n".replace("  one", " one") + "--- two\n select 1\n", PATH) == (
        "-- one\nselect 1\n"
    )


def test_a_file_with_fences_of_its_own() -> None:
    text = "# Title\n\n```python\nx = 1\n```\n\nend\n"
    answer = "```diff\n--- a/README.md\n+++ b/README.md\n@@ -3,3 +3,3 @@\n ```python\n-x = 1\n+x = 2\n ```\n```\n"
    assert apply_patch(text, answer, "README.md") == text.replace("x = 1", "x = 2")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (FILE, False),
        (f"```python\n{FILE}```", False),
        ("# Title\n\nHow to patch:\n\n```diff\n@@ -1 +1 @@\n-a\n+b\n```\n", False),
        ("@@ -1 +1 @@\n-a\n+b", True),
        ("", False),
    ],
)
def test_a_whole_file_is_no_patch(answer: str, expected: bool) -> None:
    assert is_patch(answer) == expected


def test_the_projects_own_files_are_no_patches() -> None:
    for path in Path(__file__).parents[2].glob("nodes/*.py"):
        assert not is_patch(path.read_text("utf-8")), path


@settings(deadline=None, max_examples=80)
@given(
    TEXTS, st.lists(st.sampled_from(["@@", "@@ -1 +1 @@", "--- a", "+++ b", "```", "\\ No", "-a", "+b", " a", "", "x"]))
)
def test_any_answer_is_applied_or_refused_and_nothing_else(original: str, lines: list[str]) -> None:
    answer = "\n".join(lines)
    is_patch(answer)
    try:
        apply_patch(original, answer, PATH)
    except PatchError as error:
        assert str(error)
