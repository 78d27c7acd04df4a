"""Sources as they are written, Git repositories, and the package index, from a server on this machine."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from dulwich import porcelain

from engine.errors import InputError
from nodes.references import git_source
from nodes.references.addresses import is_address, name_of, project_of, without_secrets
from nodes.references.git_source import Remote
from nodes.references.maker import ReferenceMaker
from nodes.references.package_index import download, find_release, index_address
from nodes.references.sources import expand, shown
from tests.references.test_sources_of_files import tarball
from tests.support.repositories import TIDEWATCH, lay


def test_a_folder_of_checkouts_is_each_of_them(tmp_path: Path) -> None:
    for name in ("b", "a"):
        lay(tmp_path / name, {"pyproject.toml": "", "x.py": ""})
    lay(tmp_path / "notes", {"x.md": ""})
    assert expand([str(tmp_path)]) == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert expand([str(tmp_path / "a"), str(tmp_path / "a")]) == [str(tmp_path / "a")]
    assert expand([str(tmp_path / "notes")]) == [str(tmp_path / "notes")]


def test_a_list_holds_sources_lists_and_descriptions(tmp_path: Path) -> None:
    described = {"clone_url": "https://example.org/a/b.git", "fork": True, "stars": 3, "description": "x # y"}
    lay(tmp_path, {"x/pyproject.toml": "", "inner.txt": "installed:rich\n"})
    lay(tmp_path, {"list.txt": f"# mine\npypi:click==8.0 # why\n\nx\n@inner.txt\n{json.dumps(described)}\n"})
    found = expand([f"@{tmp_path / 'list.txt'}"])
    assert found[:3] == ["pypi:click==8.0", str(tmp_path / "x"), "installed:rich"]
    made = ReferenceMaker().make(found[3], {})
    assert (made.repository, made.excluded) == ("a/b", "the list of sources says: fork")


@pytest.mark.parametrize("line", ["pypi:", "nowhere", "{", '{"clone_url": "rm -rf"}', "@none.txt", "installed: "])
def test_a_source_that_is_none_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    (tmp_path / "list.txt").write_text(f"installed:rich\n{line}\n")
    with pytest.raises(InputError, match=r"list\.txt:2: source"):
        expand([f"@{tmp_path / 'list.txt'}"])


def test_a_list_that_names_itself_ends(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("@list.txt\n")
    with pytest.raises(InputError, match="name one another"):
        expand([f"@{tmp_path / 'list.txt'}"])


def test_addresses() -> None:
    secret = "https://me:hunter2@Example.org:8443/Owner/Repo.git?token=abc#x"
    assert without_secrets(secret) == "https://example.org:8443/Owner/Repo.git"
    assert "hunter2" not in shown(secret)
    same = (
        "https://example.org/Owner/Repo.git",
        "git+https://example.org/owner/repo",
        "git@example.org:owner/repo.git",
    )
    assert {project_of(one) for one in same} == {"example.org/owner/repo"}
    assert {name_of(one).lower() for one in same} == {"owner/repo"}
    assert [is_address(one) for one in ("click", "pypi:click", "./a/b", "C:/x", "ftp://x/y", *same)] == [False] * 5 + [
        True
    ] * 3


@pytest.fixture
def repository(tmp_path: Path) -> str:
    root = lay(tmp_path / "owner" / "tide", TIDEWATCH)
    (root / "README.rst").symlink_to("/etc/passwd")
    porcelain.init(str(root))
    porcelain.add(str(root), paths=[str(root / path) for path in (*TIDEWATCH, "README.rst")])
    porcelain.commit(str(root), message=b"All", author=b"a <a@example.org>", committer=b"a <a@example.org>")
    return f"file://{root}"


def test_a_git_repository_is_read_at_its_latest_commit(repository: str) -> None:
    made = ReferenceMaker().make(repository, {})
    assert made.chunks is not None
    assert {one.origin for one in made.chunks} == {repository}
    assert {one.licence for one in made.chunks} == {"MIT"}
    text = "\n".join(one.text for one in made.chunks)
    assert "tidewatch/tables.py: Tables of the moon." in text
    assert "README.rst" not in text
    unchanged = ReferenceMaker().make(repository, {made.repository: made.digest})
    assert unchanged.chunks is None


def test_a_repository_that_cannot_be_fetched_is_an_error(
    tmp_path: Path, repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    porcelain.init(str(tmp_path / "empty"))
    for address, message in (
        (f"file://{tmp_path / 'none'}", "cannot be fetched"),
        (f"file://{tmp_path / 'empty'}", "empty repository"),
        ("http://127.0.0.1:9/a/b.git", "cannot be fetched"),
        ("ext::sh -c touch% x", "is no URL"),
        ("ftp://example.org/a", "is no URL"),
    ):
        with pytest.raises(InputError, match=message):
            Remote(address).head()
    monkeypatch.setattr(git_source, "_MOST_FETCHED", 100)
    with pytest.raises(InputError, match="larger than"):
        Remote(repository).read()


class Index:
    """A package index on this machine. `files` by path; what was asked is in `asked`."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, bytes]] = {}
        self.asked: list[str] = []
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked.append(self.path)
                kind, body = index.files.get(self.path, ("", b""))
                self.send_response(200 if kind else 404)
                self.send_header("Content-Type", kind or "text/plain")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple/"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def list(self, name: str, files: Mapping[str, bytes], status: str = "", **yanked: bool) -> None:
        listed = []
        for filename, data in files.items():
            self.files[f"/files/{filename}"] = ("application/gzip", data)
            digest = hashlib.sha256(data).hexdigest()
            pulled = yanked.get("yanked") and "0.3" in filename
            listed.append(
                {"filename": filename, "url": f"../../files/{filename}", "hashes": {"sha256": digest}, "yanked": pulled}
            )
        page = {"files": listed, "project-status": {"status": status or "active"}}
        self.files[f"/simple/{name}/"] = ("application/vnd.pypi.simple.v1+json", json.dumps(page).encode())


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    made = Index()
    monkeypatch.setenv("PIP_INDEX_URL", made.url.replace("http://", "http://me:hunter2@"))
    index_address.cache_clear()
    yield made
    index_address.cache_clear()
    made.server.shutdown()
    made.server.server_close()


SOURCE = tarball(TIDEWATCH).getvalue()


def test_the_latest_final_source_archive_is_taken(index: Index) -> None:
    names = ("tide-watch-0.1.tar.gz", "tide_watch-0.2.tar.gz", "tide-watch-0.3.tar.gz", "tide-watch-1.0a1.tar.gz")
    other = {"tide-watch-0.2-py3-none-any.whl": b"x", "other-9.tar.gz": b"x", "tide-watch-9.exe": b"x"}
    index.list("tide-watch", {**dict.fromkeys(names, SOURCE), **other}, yanked=True)
    found = find_release("Tide.Watch", "", index.url)
    assert (found.version.public, found.url.rpartition("/")[2]) == ("0.2", "tide_watch-0.2.tar.gz")
    assert find_release("tide_watch", "1.0a1", index.url).version.public == "1.0a1"
    with download(found) as file:
        file.seek(0)
        assert file.read() == SOURCE


def test_an_index_that_has_no_json_is_read_too(index: Index) -> None:
    digest = hashlib.sha256(SOURCE).hexdigest()
    page = f'<a href="../../files/t-1.tar.gz#sha256={digest}">t</a><a href="/files/t-2.tar.gz" data-yanked="">u</a><a>'
    index.files["/simple/t/"] = ("text/html", page.encode())
    index.files["/files/t-1.tar.gz"] = ("application/gzip", SOURCE)
    found = find_release("t", "", index.url)
    assert (found.version.public, found.sha256) == ("1", digest)


def test_a_package_is_made_once_and_nothing_is_downloaded_again(index: Index) -> None:
    index.list("tidewatch", {"tidewatch-1.2.tar.gz": SOURCE})
    maker = ReferenceMaker()
    assert maker.expand(["pypi:tidewatch"]) == ["pypi:tidewatch"]
    made = maker.make("pypi:tidewatch", {})
    assert made.chunks is not None
    assert (made.repository, made.chunks[0].origin) == ("tidewatch 1.2", "pypi:tidewatch==1.2")
    index.asked.clear()
    assert maker.make("pypi:tidewatch==1.2", {made.repository: made.digest}).chunks is None
    assert index.asked == ["/simple/tidewatch/"]


def test_what_an_index_cannot_give_is_an_error_without_its_password(index: Index) -> None:
    index.list("wheel-only", {"wheel_only-1-cp311-cp311-linux_x86_64.whl": b"x"})
    index.list("changed", {"changed-1.tar.gz": SOURCE})
    index.files["/files/changed-1.tar.gz"] = ("application/gzip", SOURCE + b"!")
    index.list("gone", {"gone-1.tar.gz": SOURCE})
    del index.files["/files/gone-1.tar.gz"]
    index.list("broken", {"broken-1.tar.gz": b"\x1f\x8bnot really"})
    index.files["/simple/odd/"] = ("application/vnd.pypi.simple.v1+json", b'{"files": 3}')
    index.files["/simple/odder/"] = ("application/vnd.pypi.simple.v1+json", b"\xff")
    index.list("old", {"old-1.tar.gz": SOURCE}, status="archived")
    maker = ReferenceMaker()
    maker.expand(["pypi:x"])
    for source, message in (
        ("pypi:nothing", "has no package 'nothing'"),
        ("pypi:wheel-only", "has no source archive in"),
        ("pypi:changed==7", "has no source archive of version 7"),
        ("pypi:changed==x y", "is no version"),
        ("pypi:changed", "the digests differ"),
        ("pypi:gone", "cannot be fetched"),
        ("pypi:broken", "broken archive"),
        ("pypi:odd", "cannot be read"),
        ("pypi:odder", "cannot be read"),
    ):
        with pytest.raises(InputError, match=message) as raised:
            maker.make(source, {})
        assert "hunter2" not in str(raised.value)
    assert maker.make("pypi:old", {}).excluded == "the package index says: archived"
    with pytest.raises(InputError, match="does not answer"):
        find_release("x", "", "http://127.0.0.1:9/simple/")


def test_a_pure_wheel_serves_where_there_is_no_source_archive(index: Index) -> None:
    import zipfile

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("pure/__init__.py", '"""Pure as can be."""\n')
        made.writestr(
            "pure-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: pure\nVersion: 1\nSummary: Pure\n\n# Pure\n"
        )
        made.writestr("pure-1.dist-info/RECORD", "")
    index.list("pure", {"pure-1-py3-none-any.whl": file.getvalue()})
    maker = ReferenceMaker()
    maker.expand(["pypi:pure"])
    made_of = maker.make("pypi:pure", {})
    assert made_of.chunks is not None
    assert made_of.chunks[0].text.startswith("pure: Pure")
    assert all("dist-info" not in one.text for one in made_of.chunks)


def test_the_index_is_pips_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://packages.example.org/simple\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    index_address.cache_clear()
    assert index_address() == "https://packages.example.org/simple/"
    index_address.cache_clear()
    (tmp_path / "pip.conf").write_text("")
    assert index_address().startswith("https://")
    index_address.cache_clear()
