"""What was found but is not shown: the task itself, and what was found already."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import InputError
from engine.retrieval.base import Chunk
from nodes.references.compact import compact_text
from nodes.references.filters import Candidate, Filters
from nodes.references.settings import Limits, Settings

TASK = (
    "Tidewatch computes high and low water for a harbour from tables of the moon, and prints them for a day or a week."
)
OTHER = (
    "Ledger keeps accounts in plain text files and prints balances, budgets and yearly reports for small clubs. "
    "It reads statements of several banks, warns of entries that do not add up to zero, and names the line at which "
    "the sum went wrong."
)
DOCUMENT = {
    "title": "Tidewatch: tides",
    "text": f"# Tidewatch\n\n{TASK}\n\nFiles: tide/a.py, tide/b.py, tide/c.py, tide/d.py\n",
}


def candidate(repository: str = "ledger 1.0", found: str = OTHER, **more: Any) -> Candidate:
    told = {"origin": "", "licence": "", "similarity": 0.4, "tree": (), "text": found, **more}
    return Candidate(repository=repository, found=found, **told)


def reasons(*candidates: Candidate, limits: Limits | None = None) -> list[str]:
    filters = Filters(DOCUMENT, limits or Limits())
    return [filters.reason(one) for one in candidates]


def test_what_differs_is_kept() -> None:
    assert reasons(
        candidate(),
        candidate("chess 1", "Moves of chess pieces, checked by all of the rules that the federation knows."),
    ) == ["", ""]


@pytest.mark.parametrize("name", ["tidewatch", "Tidewatch 3.1", "someone/tidewatch"])
def test_what_is_called_like_the_task_is_left_out(name: str) -> None:
    assert reasons(candidate(name)) == ["named like the task"]


def test_what_says_the_same_as_the_task_is_left_out() -> None:
    assert reasons(candidate(found=f"tides: High water\n{TASK}"))[0].startswith("too similar to the task: 0.")
    assert reasons(candidate(found=TASK), limits=Limits(task_text=1.01)) == [""]
    assert reasons(candidate(similarity=0.97)) == ["too similar to the task: cosine 0.97"]
    assert reasons(candidate(similarity=0.97), limits=Limits(task_similarity=0.99)) == [""]


def test_the_tree_that_the_task_asks_for_is_left_out() -> None:
    tree = ("tide/a.py", "tide/b.py", "tide/c.py", "tide/d.py", "LICENSE")
    assert reasons(candidate(tree=tree)) == ["the file tree that the task asks for"]
    assert reasons(candidate(tree=(*tree, "tide/e.py"))) == [""]


def test_copies_of_what_was_found_are_left_out() -> None:
    tree = ("a.py", "b.py", "c.py", "d.py")
    near = OTHER.replace("went wrong", "went astray")
    found = reasons(candidate(tree=tree), candidate("two 1", "Another text.", tree=tree), candidate("three 1", near))
    assert found == ["", "the same file tree as ledger 1.0", "nearly the same text as ledger 1.0"]
    assert reasons(candidate(), candidate("three 1", near), limits=Limits(near_duplicate=1.01)) == ["", ""]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"top_k": "5"}, r"params\.rag\.top_k: '5' is no int"),
        ({"top_k": True}, r"params\.rag\.top_k"),
        ({"top_k": 0}, "not from 1 to 50"),
        ({"tokens": 3}, r"params\.rag\.tokens: 3"),
        ({"mode": "fuzzy"}, "known: auto, vector, text, hybrid"),
        ({"filters": {"task": 1}}, r"params\.rag\.filters\.task: unknown; known: near_duplicate"),
        ({"filters": {"task_text": -1}}, "no number from 0 to 1.01"),
        ({"filters": 3}, "a group of thresholds"),
    ],
)
def test_parameters_that_do_not_fit_are_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Settings.read(given)


def test_a_reference_is_what_was_found_and_what_shows_the_design() -> None:
    def chunk(part: int, kind: str, text: str) -> Chunk:
        return Chunk("r", "", "", kind, part, text)

    chunks = [
        chunk(0, "readme", "r: A tool\n" + "Words of the readme.\n" * 200),
        chunk(1, "tree", "r: A tool | File tree\n" + "".join(f"r/m{n}.py\n" for n in range(300))),
        chunk(2, "roles", "r: A tool | Roles of files\nr/m1.py: Keeps it."),
    ]
    for tokens in (128, 768, 2_000):
        text = compact_text(chunks[0], chunks, tokens)
        assert len(text.encode()) / 4 <= tokens
        assert text.startswith("r: A tool\nWords of the readme.\n")
        assert "\n\nFile tree:\nr/m0.py\n" in text
    assert "\n\nRoles of files:\nr/m1.py: Keeps it." in compact_text(chunks[0], chunks, 768)
    assert compact_text(chunks[2], chunks[2:], 768) == chunks[2].text
