"""What the git program says of a repository that was made without it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import WorkspaceError
from engine.workspace import Workspace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs the git program")
ENVIRONMENT = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}


def git(work: Workspace, *arguments: str, code: int | None = 0) -> str:
    done = subprocess.run(["git", *arguments], cwd=work.path, env=ENVIRONMENT, capture_output=True, timeout=60)
    assert code is None or done.returncode == code, done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "repo") as workspace:
        base = workspace.commit("main", {"a.py": b"", "src/b.py": b"", "src.py": b""}, message="Tree", author="CTO")
        for who, path in (("Ada Lovelace", "a.py"), ("Bø <bo>", "src/b.py"), ("", "src.py")):
            branch = f"dev-{path[0]}{len(path)}"
            workspace.commit(branch, {path: path.encode()}, message=f"Write {path}\n\nwhy", author=who, parents=[base])
            workspace.merge("main", branch, message=f"Merge {branch}", author="CTO")
        workspace.checkout("main")
        yield workspace


def test_it_is_sound_and_clean(work: Workspace) -> None:
    assert git(work, "fsck", "--strict", "--full") == ""
    assert git(work, "status", "--porcelain", "--ignored") == ""
    assert git(work, "symbolic-ref", "HEAD") == "refs/heads/main\n"


def test_its_history_is_the_log(work: Workspace) -> None:
    lines = git(work, "log", "--topo-order", "--format=%H|%P|%an|%ae|%cn|%ct|%s").splitlines()
    assert {tuple(line.split("|")[:3]) for line in lines} == {
        (one.id, " ".join(one.parents), one.author) for one in work.log("main")
    }
    assert {line.split("|")[3] for line in lines} == {
        "cto@flowrun.local", "ada-lovelace@flowrun.local", "b-bo@flowrun.local", "unknown@flowrun.local"
    }  # fmt: skip
    assert {line.split("|")[4] for line in lines} == {"flowrun"}
    drawn = [row for row in work.graph("main") if "*" in row]
    assert len(drawn) == len(lines)


def test_git_goes_on_with_it(work: Workspace) -> None:
    git(work, "checkout", "-q", "-b", "mine", "dev-a4")
    assert (work.path / "a.py").read_bytes() == b"a.py" and work.status() == []
    (work.path / "hand.py").write_text("x")
    git(work, "add", "hand.py")
    git(work, "-c", "user.name=U", "-c", "user.email=u@x", "commit", "-q", "-m", "by hand")
    assert work.log("HEAD")[0].author == "U" and work.read("mine", "hand.py") == b"x"
    git(work, "gc", "-q")
    assert work.read("main", "src/b.py") == b"src/b.py"
    after = work.commit("main", {"a.py": b"after gc"}, message="m", author="Ada")
    assert git(work, "rev-parse", "main").strip() == after
    work.delete_branch("dev-a4")
    assert "dev-a4" not in git(work, "branch")
    assert git(work, "fsck", "--strict") == ""


def test_links_and_programs_made_by_hand_are_refused(work: Workspace) -> None:
    (work.path / "a.py").chmod(0o755)
    (work.path / "link").symlink_to("/etc/passwd")
    for path in ("a.py", "link"):
        git(work, "checkout", "-q", "--detach", "main")
        git(work, "add", path)
        git(work, "-c", "user.name=U", "-c", "user.email=u@x", "commit", "-q", "-m", "by hand")
        git(work, "branch", "-f", "bad")
        for act in (
            lambda: work.checkout("bad"),
            lambda: work.merge("main", "bad", message="m", author="CTO"),
            lambda: work.commit("bad", {"x.py": b""}, message="m", author="Bo"),
        ):
            with pytest.raises(WorkspaceError, match=f"'{path}' is a link, a program or a submodule"):
                act()
    assert work.read("main", "link") is None


def test_a_checkout_follows_attributes_and_ignores(work: Workspace) -> None:
    files = {
        ".gitattributes": b"* text=auto\n*.txt eol=crlf\n",
        ".gitignore": b"*.log\n",
        "crlf.txt": b"a\nb\n",
        "kept.log": b"tracked though ignored\n",
        "b.bin": bytes(range(256)),
    }
    work.commit("main", files, message="m", author="Ada")
    work.checkout("main")
    assert git(work, "status", "--porcelain") == "" and work.status() == []
    work.checkout(work.log("main")[-1].id)
    assert git(work, "status", "--porcelain", "--ignored") == "" and work.status() == []
    assert git(work, "symbolic-ref", "-q", "HEAD", code=1) == ""


def content(paths: list[str]) -> st.SearchStrategy[dict[str, bytes | None]]:
    """Files whose content tells their path, so that git sees no renames."""
    return st.fixed_dictionaries(
        {}, optional={path: st.sampled_from([path.encode(), path.encode() * 2, None]) for path in paths}
    )


FILES = content(["a", "b", "c/d", "c/e"])


@given(base=FILES, ours=st.lists(FILES, max_size=2), theirs=st.lists(FILES, max_size=2))
@settings(max_examples=30, deadline=None)
def test_a_merge_is_what_git_makes_of_it(
    tmp_path_factory: pytest.TempPathFactory,
    base: dict[str, bytes | None],
    ours: list[dict[str, bytes | None]],
    theirs: list[dict[str, bytes | None]],
) -> None:
    with Workspace.create(tmp_path_factory.mktemp("merge") / "repo") as work:
        root = work.commit("main", {"root": b"", **base}, message="base", author="CTO")
        work.set_branch("dev", root)
        for branch, changes in (("main", ours), ("dev", theirs)):
            for number, files in enumerate(changes):
                work.commit(branch, files, message=f"{branch} {number}", author="Ada")
        said = git(work, "merge-tree", "--write-tree", "main", "dev", code=None)
        if "CONFLICT" in said:
            with pytest.raises(WorkspaceError, match="cannot be merged"):
                work.merge("main", "dev", message="m", author="CTO")
        else:
            merged = work.merge("main", "dev", message="m", author="CTO")
            assert git(work, "rev-parse", f"{merged}^{{tree}}") == said
