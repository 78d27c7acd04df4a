from __future__ import annotations

import asyncio
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine.journal as journal_module
from engine.errors import JournalError
from engine.journal import Effect, Journal, Usage, effect_key

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner, max_size=4),
    max_leaves=12,
)


class Paid:
    """An effect that counts how often it was made."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.result, self.count = result, 0

    async def __call__(self) -> dict[str, Any]:
        self.count += 1
        await asyncio.sleep(0)
        return self.result


def test_an_effect_is_made_once_also_over_a_reopened_file(tmp_path: Path) -> None:
    paid = Paid({"text": "x" * 5000, "input_tokens": 3, "output_tokens": 4, "cost": 0.5})
    for expected in (False, True, True):
        journal = Journal(tmp_path / "journal.sqlite")
        effect = asyncio.run(journal.effect("model", "develop/a.py#1", {"q": "long " * 500}, paid))
        assert effect == Effect(paid.result, reused=expected, counted=expected)
        assert journal.totals("model").__dict__ == {"count": 1, "tokens": 7, "cost": 0.5}
        journal.close()
    assert paid.count == 1


def test_equal_effects_at_one_time_are_made_once(tmp_path: Path) -> None:
    journal, paid = Journal(tmp_path / "j"), Paid({"text": "yes"})

    async def main() -> list[Effect]:
        return list(await asyncio.gather(*(journal.effect("model", "p", {"q": 1}, paid) for _ in range(5))))

    results = asyncio.run(main())
    assert paid.count == 1
    assert sorted(one.reused for one in results) == [False, True, True, True, True]
    assert sum(not one.counted for one in results) == 1
    journal.close()


def test_a_failed_effect_leaves_no_trace_and_can_be_made_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")

    async def fails() -> dict[str, Any]:
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        asyncio.run(journal.effect("model", "p", {}, fails))
    assert asyncio.run(journal.effect("model", "p", {}, Paid({"text": "now"}))) == Effect({"text": "now"}, False, False)
    journal.close()


@pytest.mark.parametrize("other", [("sandbox", "p", {"a": 1}), ("model", "q", {"a": 1}), ("model", "p", {"a": 2})])
def test_the_key_tells_effects_apart(other: tuple[str, str, dict[str, int]]) -> None:
    assert effect_key("model", "p", {"a": 1}) != effect_key(*other)
    assert effect_key("model", "p", {"a": 1, "b": 2}) == effect_key("model", "p", {"b": 2, "a": 1})


@given(PLAIN)
def test_what_is_put_comes_back(data: Any) -> None:
    journal = Journal(Path(":memory:"))
    assert journal.get(journal.put(data)) == data
    journal.close()


def test_a_repeated_long_text_is_kept_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    text = "".join(chr(33 + (n * n) % 90) for n in range(20_000))
    for number in range(50):
        journal.put({"number": number, "prompt": text})
    journal.close()
    assert (tmp_path / "j").stat().st_size < 3 * len(text) + 50 * 400


def test_what_long_texts_share_is_kept_once(tmp_path: Path) -> None:
    outline = "".join(f"src/module_{number}.py: purpose {number * 7919}\n" for number in range(2000))
    journal = Journal(tmp_path / "j")
    texts = [f"Write file {number}.\n\n{outline}\n\nIt does {number}.\n\n" for number in range(50)]
    references = [journal.put({"prompt": text}) for text in texts]
    assert [journal.get(one)["prompt"] for one in references] == texts
    journal.close()
    assert (tmp_path / "j").stat().st_size < 5 * len(zlib.compress(outline.encode()))


@given(st.lists(st.sampled_from(["", "\n", "\n\n", "word ", "x" * 600, "y" * 2100]), max_size=12).map("".join))
def test_texts_of_long_and_short_paragraphs_come_back(text: str) -> None:
    journal = Journal(Path(":memory:"))
    assert journal.get(journal.put([text])) == [text]
    journal.close()


def test_a_damaged_blob_is_refused_by_name(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    name = journal.put({"text": "whole"})
    journal.close()
    with sqlite3.connect(tmp_path / "j") as database:
        database.execute("UPDATE blobs SET data = ?", (zlib.compress(b'{"text":"other"}'),))
    database.close()
    journal = Journal(tmp_path / "j")
    with pytest.raises(JournalError, match=name[:12]):
        journal.get(name)
    journal.close()


def test_a_file_that_is_no_journal_and_a_newer_one_are_refused(tmp_path: Path) -> None:
    (tmp_path / "no").write_bytes(b"not a database at all, but long enough to be read as one" * 20)
    with pytest.raises(JournalError, match="not a database"):
        Journal(tmp_path / "no")
    Journal(tmp_path / "new").close()
    with sqlite3.connect(tmp_path / "new") as database:
        database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(JournalError, match="format 99 is newer than this flowrun knows"):
        Journal(tmp_path / "new")


def test_a_fork_counts_what_came_before_it_and_what_it_uses(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    for place in ("plan#1", "work/a#1", "work/b#10", "work/c#1"):
        asyncio.run(journal.effect("model", place, {}, Paid({"input_tokens": 1, "output_tokens": 1})))
    journal.copy_for_fork(tmp_path / "fork", [("plan", 1)])
    journal.close()
    fork = Journal(tmp_path / "fork")
    assert fork.totals("model").count == 1
    for expected in (False, True):
        effect = asyncio.run(fork.effect("model", "work/a#1", {}, Paid({})))
        assert (effect.reused, effect.counted) == (True, expected)
    assert fork.totals("model").count == 2
    fork.close()


def test_an_older_journal_goes_through_the_steps_that_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal(tmp_path / "j")
    name = journal.put({"kept": True})
    journal.close()
    steps = (*journal_module._STEPS, "CREATE TABLE notes (text TEXT NOT NULL);")
    monkeypatch.setattr(journal_module, "_STEPS", steps)
    for _ in range(2):  # the second time there is nothing left to do
        journal = Journal(tmp_path / "j")
        assert journal.get(name) == {"kept": True}
        asyncio.run(journal.effect("model", "p", {}, Paid({"text": "x"})))
        journal.close()
    monkeypatch.undo()
    with pytest.raises(JournalError, match="is newer than this flowrun knows"):
        Journal(tmp_path / "j")


def test_what_was_used_is_added_up_by_role(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j")
    said = {"input_tokens": 10, "output_tokens": 5, "cached_tokens": 4, "cost": 0.25, "drifted": True}
    for place, role in (("plan#1", "architect"), ("work/a#1", "developer"), ("work/b#1", "developer")):
        asyncio.run(journal.effect("model", place, {}, Paid(said), role))
    asyncio.run(journal.effect("sandbox", "work/a#1", {}, Paid({"exit_code": 0})))
    assert journal.usage_by_role() == {
        "architect": Usage(1, 10, 5, 4, 0.25, 1),
        "developer": Usage(2, 20, 10, 8, 0.5, 2),
    }
    journal.copy_for_fork(tmp_path / "fork", [("plan", 1)])
    journal.close()
    fork = Journal(tmp_path / "fork")
    assert list(fork.usage_by_role()) == ["architect"]
    fork.close()


def test_a_journal_from_before_roles_is_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "j")) as database, database:
        database.executescript("".join(journal_module._STEPS[:2]) + "PRAGMA user_version = 2;")
        row = ("key", "model", "plan#1", "request", "result", 7, 0.5, 0.0, 1)
        database.execute("INSERT INTO effects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    journal = Journal(tmp_path / "j")
    asyncio.run(journal.effect("model", "plan#2", {}, Paid({"input_tokens": 2, "output_tokens": 1}), "cto"))
    assert journal.usage_by_role() == {"": Usage(1, 0, 7, 0, 0.5, 0), "cto": Usage(1, 2, 1, 0, 0.0, 0)}
    assert journal.totals("model").tokens == 10
    journal.close()
