from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import WorkspaceError
from engine.workspace import Workspace

NAMES = ["a.py", "b.py", "src/c.py", "src/d.py", "src/deep/e.py"]
CONTENT = st.sampled_from([b"", b"x = 1\n", b"x = 2\n", b"\xff\x00binary", "é = 'ü'\n".encode()])
TREES = st.dictionaries(st.sampled_from(NAMES), CONTENT, min_size=1)


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "repo") as workspace:
        yield workspace


def write(work: Workspace, branch: str, files: dict[str, bytes | None], author: str = "Ada") -> str:
    return work.commit(branch, files, message=f"{branch}: {', '.join(files)}", author=author)


def test_a_commit_is_read_back(work: Workspace) -> None:
    first = write(work, "main", {"a.py": b"1", "src/c.py": b"2"})
    second = write(work, "main", {"a.py": None, "b.py": b"3"})
    assert work.files("main") == {"b.py": b"3", "src/c.py": b"2"}
    assert work.files(first) == {"a.py": b"1", "src/c.py": b"2"}
    assert work.read("HEAD", "src/c.py") == b"2"
    assert (
        work.read("main", "a.py") is None and work.read("main", "src") is None and work.read("main", "b.py/x") is None
    )
    assert work.tree("main").keys() == {"b.py", "src/c.py"}
    assert work.tip("main") == second and work.tip("other") is None and work.tip("a..b") is None
    assert work.branches() == ["main"]


def test_a_branch_begins_at_head_or_at_the_given_parent(work: Workspace) -> None:
    first = write(work, "main", {"a.py": b"1"})
    write(work, "main", {"b.py": b"2"})
    write(work, "dev", {"src/c.py": b"3"})
    work.commit("old", {"src/c.py": b"3"}, message="m", author="Bo", parents=[first])
    assert work.files("dev").keys() == {"a.py", "b.py", "src/c.py"}
    assert work.files("old").keys() == {"a.py", "src/c.py"}


def test_a_commit_that_changes_nothing_is_the_tip(work: Workspace) -> None:
    first = write(work, "main", {"a.py": b"1"})
    assert write(work, "main", {"a.py": b"1", "gone.py": None}) == first
    assert work.commit("dev", {}, message="m", author="Bo", parents=[first]) == first == work.tip("dev")


def test_made_again_from_its_parents_a_history_is_the_same(work: Workspace) -> None:
    base = write(work, "main", {"a.py": b""})

    def develop() -> tuple[str, str]:
        one = work.commit("dev", {"a.py": b"1"}, message="one", author="Ada", parents=[base])
        return one, work.commit("dev", {"a.py": b"2"}, message="two", author="Ada", parents=[one])

    before = develop()
    work.commit("dev", {"a.py": b"edited"}, message="other", author="Bo")
    assert develop() == before
    assert work.tip("dev") == before[1]


@given(trees=st.lists(TREES, min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_the_same_content_gives_the_same_ids(
    tmp_path_factory: pytest.TempPathFactory, trees: list[dict[str, bytes]]
) -> None:
    def history(name: str, reverse: bool) -> list[str]:
        with Workspace.create(tmp_path_factory.mktemp(name) / "repo") as work:
            ordered = [dict(sorted(tree.items(), reverse=reverse)) for tree in trees]
            ids = [work.commit("main", tree, message="m", author="Zoë") for tree in ordered]
            expected: dict[str, bytes] = {}
            for tree in trees:
                expected |= tree
            assert work.files("main") == expected
            return ids

    assert history("one", reverse=False) == history("two", reverse=True)


def test_an_id_depends_on_each_of_content_message_author_parent(work: Workspace) -> None:
    base = work.commit("main", {"a.py": b""}, message="m", author="Ada")
    other = work.commit("main", {"b.py": b""}, message="m", author="Ada")
    variants = [
        (b"1", "m", "Ada", base),
        (b"2", "m", "Ada", base),
        (b"1", "n", "Ada", base),
        (b"1", "m", "Bo", base),
        (b"1", "m", "Ada", other),
    ]
    made = [
        work.commit("dev", {"a.py": content}, message=message, author=author, parents=[parent])
        for content, message, author, parent in variants
    ]
    assert len(set(made)) == len(variants)


@pytest.mark.parametrize(
    "path", ["/etc/x", "../x", "a/../../x", ".GIT/hooks/pre-commit", "a\\b", "C:x", "a\0", "nul", "a."]
)
def test_a_path_outside_is_refused_and_nothing_is_written(work: Workspace, path: str) -> None:
    first = write(work, "main", {"a.py": b"1"})
    with pytest.raises(WorkspaceError, match="may not write"):
        write(work, "main", {"a.py": b"2", path: b"evil"})
    assert work.tip("main") == first


def test_only_the_owner_writes(work: Workspace) -> None:
    write(work, "main", {"a.py": b"", "b.py": b""})
    with pytest.raises(WorkspaceError, match=r"Bo may not write 'a\.py': it belongs to someone else; may write: b\.py"):
        work.commit("dev", {"a.py": b"1"}, message="m", author="Bo", allowed={"b.py"})
    with pytest.raises(WorkspaceError, match=r"'new\.py': it is not in the contract's tree"):
        work.commit("dev", {"new.py": b"1"}, message="m", author="Bo", allowed={"b.py"})
    with pytest.raises(WorkspaceError, match="belongs to someone else"):
        work.commit("dev", {"a.py": None}, message="m", author="Bo", allowed={"b.py"})
    assert work.tip("dev") is None
    work.commit("dev", {"b.py": b"1"}, message="m", author="Bo", allowed={"b.py"})
    assert work.read("dev", "b.py") == b"1"


def test_a_file_cannot_be_a_folder(work: Workspace) -> None:
    write(work, "main", {"a": b"", "b/c": b""})
    for files in ({"a/x": b""}, {"b": b""}, {"n": b"", "n/m": b""}):
        with pytest.raises(WorkspaceError, match="both a file and a folder"):
            write(work, "main", dict(files))
    write(work, "main", {"a": None, "a/x": b"", "b/c": None, "b": b""})
    assert work.files("main").keys() == {"a/x", "b"}


@pytest.mark.parametrize(
    "name", ["", "HEAD", "a b", "a..b", "a.lock", "-x", "x/", "a~1", "a\nb", "é\udcff", "a" * 40, "@{x"]
)
def test_a_name_that_is_no_branch(work: Workspace, name: str) -> None:
    base = write(work, "main", {"a.py": b""})
    for act in (lambda: write(work, name, {"b.py": b""}), lambda: work.set_branch(name, base)):
        with pytest.raises(WorkspaceError, match="no name for a branch"):
            act()


def test_branches_are_set_and_deleted(work: Workspace) -> None:
    first = write(work, "main", {"a.py": b"1"})
    second = write(work, "main", {"a.py": b"2"})
    work.set_branch("dev/ada", first)
    assert work.branches() == ["dev/ada", "main"] and work.read("dev/ada", "a.py") == b"1"
    with pytest.raises(WorkspaceError, match="both a branch and a folder"):
        work.set_branch("dev", first)
    work.set_branch("dev/ada", second)
    work.delete_branch("dev/ada")
    work.delete_branch("dev/ada")
    assert work.branches() == ["main"]
    with pytest.raises(WorkspaceError, match="checked out"):
        work.delete_branch("main")
    with pytest.raises(WorkspaceError, match="no commit"):
        work.set_branch("x", "0" * 40)


def test_an_unknown_ref_names_the_branches(work: Workspace) -> None:
    write(work, "main", {"a.py": b""})
    for ref in ("nope", "deadbeef", "\udcff", "../x", ""):
        with pytest.raises(WorkspaceError, match="its branches: main"):
            work.files(ref)


def test_merges_join_what_the_owners_wrote(work: Workspace) -> None:
    write(work, "main", {"a.py": b"", "b.py": b""}, "CTO")
    ada, bo = write(work, "ada", {"a.py": b"1"}), write(work, "bo", {"b.py": b"2"}, "Bo")
    one = work.merge("main", "ada", message="Merge ada", author="CTO")
    two = work.merge("main", "bo", message="Merge bo", author="CTO")
    assert work.files("main") == {"a.py": b"1", "b.py": b"2"}
    assert [one.parents for one in work.log("main")[:2]] == [(one, bo), (work.log("main")[-1].id, ada)]
    assert work.merge("main", "bo", message="again", author="CTO") == two
    assert work.merge("ada", "main", message="Update ada", author="Ada") != two
    assert work.files("ada") == work.files("main")


def test_a_merge_removes_what_one_side_removed(work: Workspace) -> None:
    base = write(work, "main", {"a.py": b"", "b.py": b""})
    work.commit("dev", {"a.py": None}, message="m", author="Bo", parents=[base])
    write(work, "main", {"b.py": b"1"})
    work.merge("main", "dev", message="m", author="CTO")
    assert work.files("main") == {"b.py": b"1"}


def test_a_conflict_is_refused_by_name(work: Workspace) -> None:
    base = write(work, "main", {"a.py": b"", "b.py": b""})
    work.commit("dev", {"a.py": b"1", "b.py": b"same"}, message="m", author="Bo", parents=[base])
    tip = write(work, "main", {"a.py": b"2", "b.py": b"same"})
    with pytest.raises(WorkspaceError, match=r"'dev' cannot be merged into 'main': both changed a\.py$"):
        work.merge("main", "dev", message="m", author="CTO")
    work.commit("del", {"a.py": None}, message="m", author="Bo", parents=[base])
    with pytest.raises(WorkspaceError, match=r"a\.py"):
        work.merge("main", "del", message="m", author="CTO")
    assert work.tip("main") == tip
    with pytest.raises(WorkspaceError, match="no branch 'nope'"):
        work.merge("main", "nope", message="m", author="CTO")


def test_a_file_against_a_folder_is_a_conflict(work: Workspace) -> None:
    base = write(work, "main", {"a": b""})
    work.commit("dev", {"x/y": b""}, message="m", author="Bo", parents=[base])
    write(work, "main", {"x": b""})
    with pytest.raises(WorkspaceError, match="both changed x"):
        work.merge("main", "dev", message="m", author="CTO")


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["ada", "bo", "cy"]), st.sampled_from(["write", "merge", "update"])), max_size=14
    )
)
@settings(max_examples=25, deadline=None)
def test_where_each_file_has_one_owner_no_merge_fails(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    owned = {"ada": "a.py", "bo": "src/b.py", "cy": "src/c.py"}
    with Workspace.create(tmp_path_factory.mktemp("own") / "repo") as work:
        base = work.commit("main", dict.fromkeys(owned.values(), b""), message="tree", author="CTO")
        for who in owned:
            work.set_branch(who, base)
        latest: dict[str, bytes] = dict.fromkeys(owned, b"")
        merged = dict(latest)
        for number, (who, what) in enumerate(steps):
            if what == "write":
                latest[who] = b"%d" % number
                work.commit(who, {owned[who]: latest[who]}, message="m", author=who, allowed={owned[who]})
            elif what == "merge":
                work.merge("main", who, message=f"Merge {who}", author="CTO")
                merged[who] = latest[who]
            else:
                work.merge(who, "main", message="Update", author=who)
            assert {who: work.read(who, owned[who]) for who in owned} == latest
            for each, path in owned.items():
                assert work.read("main", path) in {merged[each], latest[each]}
        for who in owned:
            work.merge("main", who, message=f"Merge {who}", author="CTO")
        assert work.files("main") == {owned[who]: latest[who] for who in owned}


def test_the_log_tells_who_changed_what(work: Workspace) -> None:
    write(work, "main", {"a.py": b"", "src/c.py": b""}, "CTO")
    write(work, "ada", {"a.py": b"1"}, "Ada <a@b>\nX: y")
    work.commit("main", {"src/c.py": b"1"}, message="Change c\r\n\r\nupdate_reason: \x1b[31mnone\n", author="Bo")
    work.merge("main", "ada", message="Merge ada", author="CTO")
    log = work.log("main")
    assert log[0].subject == "Merge ada" and log[0].changed == ()
    assert work.show("main") == log[0] and work.show(log[-1].id) == log[-1]
    assert {(one.author, one.subject, one.changed) for one in log[1:]} == {
        ("Ada a@b X: y", "ada: a.py", ("a.py",)),
        ("Bo", "Change c", ("src/c.py",)),
        ("CTO", "main: a.py, src/c.py", ("a.py", "src/c.py")),
    }
    assert next(one for one in log if one.author == "Bo").message == "Change c\n\nupdate_reason:  [31mnone"
    assert [one.author for one in work.log("main", "a.py")] == ["Ada a@b X: y", "CTO"]
    assert [one.author for one in work.log("main", "src")] == ["Bo", "CTO"]
    assert work.log("main", "none") == []
    assert [(one.date.isoformat(), len(one.parents)) for one in (log[0], log[-1])] == [
        ("2026-01-01T00:02:00+00:00", 2),
        ("2026-01-01T00:00:00+00:00", 0),
    ]


def test_a_checkout_is_exactly_the_commit(work: Workspace, tmp_path: Path) -> None:
    first = write(work, "main", {"a.py": b"1", "src/c.py": b"2", "gone/x.py": b""})
    write(work, "main", {"a.py": b"new", "gone/x.py": None})
    work.checkout(first)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    (work.path / "src" / "c.py").unlink()
    (work.path / "src").rmdir()
    (work.path / "src").symlink_to(outside)  # must be replaced, not followed
    (work.path / "extra").mkdir()
    (work.path / "extra" / "deep").symlink_to(outside)
    (work.path / "sub" / ".git").mkdir(parents=True)
    (work.path / "sub" / ".git" / "x").write_text("")
    work.checkout("main")
    found = {
        one.relative_to(work.path).as_posix()
        for one in work.path.rglob("*")
        if one.relative_to(work.path).parts[0] != ".git"
    }
    assert found == {"a.py", "src", "src/c.py"}
    assert (work.path / "a.py").read_bytes() == b"new" and not (work.path / "src").is_symlink()
    assert [one.name for one in outside.iterdir()] == ["kept"]
    assert work.status() == []


def test_the_status_names_what_was_changed_by_hand(work: Workspace) -> None:
    assert work.status() == []
    write(work, "main", {"a.py": b"1", "b.py": b"", "src/c.py": b"2", "x.sh": b"", "l": b"a.py"})
    work.checkout("main")
    (work.path / "a.py").write_bytes(b"2")
    (work.path / "b.py").unlink()
    (work.path / "new.txt").write_bytes(b"")
    (work.path / "x.sh").chmod(0o755)
    (work.path / "l").unlink()
    (work.path / "l").symlink_to("a.py")
    assert work.status() == ["modified: a.py", "missing: b.py", "modified: l", "untracked: new.txt", "modified: x.sh"]
    work.checkout("HEAD")
    assert work.status() == []


def test_a_repository_is_made_in_an_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("")
    for place in (tmp_path / "full", tmp_path / "full" / "x"):
        with pytest.raises(WorkspaceError, match="new or empty folder"):
            Workspace.create(place)
    with pytest.raises(WorkspaceError, match="no Git repository"):
        Workspace.open(tmp_path / "full")
    (tmp_path / "empty").mkdir()
    with Workspace.create(tmp_path / "empty", branch="trunk") as work:
        write(work, "trunk", {"a.py": b""})
    with Workspace.open(tmp_path / "empty") as again:
        assert again.read("HEAD", "a.py") == b""


def test_what_a_stopped_run_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".repo.new" / ".git").mkdir(parents=True)  # stopped while the repository was made
    with Workspace.create(tmp_path / "repo") as work:
        write(work, "main", {"a.py": b"1"})
        work.checkout("main")
        for name in ("refs/heads/main.lock", "index.lock", "HEAD.lock"):  # stopped while one of these was written
            lock = work.path / ".git" / name
            lock.write_bytes(b"")
            os.utime(lock, (time.time() - 60, time.time() - 60))
        write(work, "main", {"a.py": b"2"})
        work.set_branch("dev", work.tip("main") or "")
        work.checkout("dev")
        assert work.status() == []
    assert not (tmp_path / ".repo.new").exists()
