"""Hostile sketches: what each is, the answer that holds it, and the check that refuses it (None: it is harmless)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.planning import make_sketch, with_file

Hostile = tuple[str, str, str | None]

_PATHS: list[tuple[str, str, str | None]] = [
    ("absolute", "/etc/cron.d/x.py", "bad_path"),
    ("absolute, two slashes", "//server/share/x.py", "bad_path"),
    ("parent", "../x.py", "bad_path"),
    ("parent inside", "shop/../../x.py", "bad_path"),
    ("parent at the end", "shop/..", "bad_path"),
    ("drive", "C:/Windows/x.py", "bad_path"),
    ("drive, relative", "C:x.py", "bad_path"),
    ("UNC", "\\\\server\\share\\x.py", "bad_path"),
    ("device namespace", "\\\\?\\C:\\x.py", "bad_path"),
    ("backslashes", "shop\\..\\..\\x.py", "bad_path"),
    ("full-width dots and slash", "．．／x.py", "bad_path"),
    ("one-dot and two-dot leaders", "‥/x.py", "bad_path"),
    ("full-width backslash", "shop/..＼..＼x.py", "bad_path"),
    ("full-width colon", "C：/x.py", "bad_path"),
    ("reserved name", "shop/CON", "bad_path"),
    ("reserved name with an ending", "shop/nul.py", "bad_path"),
    ("reserved name with a superscript", "shop/COM¹.py", "bad_path"),
    ("reserved name before a blank", "shop/aux .txt", "bad_path"),
    ("NTFS stream", "shop/items.py::$DATA", "bad_path"),
    ("NTFS stream of a folder", "shop:$I30:$INDEX_ALLOCATION/x.py", "bad_path"),
    ("Git's own", ".git/config", "bad_path"),
    ("a hook", ".git/hooks/pre-commit", "bad_path"),
    ("a hook, other case", ".GiT/hooks/post-checkout", "bad_path"),
    ("short name of .git", "GIT~1/config", "bad_path"),
    ("Git of a folder", "shop/.git/config", "bad_path"),
    (".git with a dot", ".git./config", "bad_path"),
    (".git with a blank", ".git /config", "bad_path"),
    (".git with a stream", ".git::$INDEX_ALLOCATION/config", "bad_path"),
    (".git with an invisible character", ".g\u200cit/config", "bad_path"),
    (".git in full width", "．ｇｉｔ/config", "bad_path"),
    ("submodules", ".gitmodules", "bad_path"),
    ("submodules, short name", "GITMOD~1", "bad_path"),
    ("trailing dot", "shop/x.py.", "bad_path"),
    ("trailing blank", "shop/x.py ", "bad_path"),
    ("trailing wide blank", "shop/x.py\u3000", "bad_path"),
    ("leading blank", " shop/x.py", "bad_path"),
    ("NUL", "shop/x.py\0.txt", "bad_path"),
    ("newline", "shop/x.py\n../../y.py", "bad_path"),
    ("carriage return", "shop/x\r.py", "bad_path"),
    ("escape sequence", "shop/\x1b[2J.py", "bad_path"),
    ("bidi override", "shop/\u202eyp.x", "bad_path"),
    ("line separator", "shop/x\u2028.py", "bad_path"),
    ("5,000 characters", "shop/" + "x" * 5000 + ".py", "bad_path"),
    ("300 characters in one name", "shop/" + "é" * 150 + ".py", "bad_path"),
    ("500 levels", "shop/" + "a/" * 500 + "x.py", "bad_path"),
    ("an option", "--upload-pack=x/y.py", "bad_path"),
    ("a home folder", "~/.ssh/authorized_keys", "bad_path"),
    ("a home folder inside", "shop/~root/x.py", "bad_path"),
    ("empty", "", "bad_path"),
    ("a dot", ".", "bad_path"),
    ("wildcards", "shop/*.py", "bad_path"),
    ("a redirection", "shop/x.py>y", "bad_path"),
    ("an arrow to elsewhere", "shop/link -> ../../etc", "bad_path"),
    ("case collision", "shop/Items.py", "path_collision"),
    ("case collision of folders", "SHOP/till.py", "path_collision"),
    ("ligature collision", "ﬁle.py", None),
    ("a file below a file", "shop/items.py/x.py", "path_clash"),
    ("a file where a folder is", "shop", "path_clash"),
    ("one module twice", "shop/items/__init__.py", "module_collision"),
    ("one module twice, below src", "src/shop/items.py", "module_collision"),
    ("percent signs are a name", "shop/%2e%2e/x.py", None),
    ("a variable is a name", "shop/$HOME.py", None),
    ("dots inside a name", "shop/...x.py", None),
    ("slashes in a row", "shop//.//till.py", None),
    ("other scripts", "shop/商店/مخزن.txt", None),
]  # fmt: skip

_SHOP: dict[str, Any] = {"path": "shop/x.py", "purpose": "x", "owner": 0}


def _bent(**changes: Any) -> str:
    return json.dumps(make_sketch(**changes))


def _file(**changes: Any) -> str:
    return json.dumps(with_file("shop/cli.py", **changes))


def _two(*names: str) -> str:
    sketch = make_sketch()
    for name in names:
        sketch = with_file(name, sketch)
    return json.dumps(sketch)


def _raw(old: str, new: str) -> str:
    text = json.dumps(make_sketch())
    assert old in text
    return text.replace(old, new, 1)


def hostile_sketches() -> Iterator[Hostile]:
    """All of them."""
    for name, path, code in _PATHS:
        yield f"path: {name}", json.dumps(with_file(path)), code
        if code == "bad_path":
            tree = make_sketch(repo_tree=[*make_sketch()["repo_tree"], path])
            yield f"in the tree alone: {name}", json.dumps(tree), code
    yield from _collisions()
    yield from _shapes()
    yield from _texts()
    yield from _declarations()
    yield from _requirements()


def _collisions() -> Iterator[Hostile]:
    yield "NFC and NFD", _two("shop/caf\u00e9.py", "shop/cafe\u0301.py"), "duplicate_path"
    yield "full width beside plain", _two("shop/till.py", "shop/ｔill.py"), "path_collision"
    yield "ligature beside letters", _two("shop/file.py", "shop/ﬁle.py"), "path_collision"
    yield "sharp s beside ss", _two("shop/mass.py", "shop/maß.py"), "path_collision"
    yield "Kelvin sign beside k", _two("shop/k.py", "shop/\u212a.py"), "path_collision"
    yield "duplicate by dots and slashes", _two("shop/a.py", "shop/./a.py", "./shop//a.py"), "duplicate_path"
    yield "folder with another spelling", _two("shop/Sub/a.py", "shop/sub/b.py"), "path_collision"


def _shapes() -> Iterator[Hostile]:
    sketch = make_sketch()
    many = [{**_SHOP, "path": f"shop/m{n}.py"} for n in range(100_000)]
    yield "100,000 files", json.dumps({**sketch, "files": many}), "too_many_files"
    yield "1,001 files", json.dumps({**sketch, "files": many[:1001]}), "too_many_files"
    yield "100,000 names in the tree", _bent(repo_tree=[f"shop/m{n}.py" for n in range(100_000)]), "too_many_files"
    for name in ("tech_stack", "repo_tree", "developer_plan", "files", "dependencies"):
        for wrong in (None, True, 7, "../x", [["../x"]], {"../x": 1}, [None]):
            yield f"{name} is {wrong!r}", _bent(**{name: wrong}), "schema"
    for name in ("path", "purpose", "public_api", "depends_on", "owner", "implements", "lines"):
        for wrong in (None, {"a": 1}, [["x"]]):
            yield f"{name} of a file is {wrong!r}", _file(**{name: wrong}), "schema"
    yield "a symbolic link", _file(type="symlink", target="/etc/passwd", mode="120000", content="/etc/passwd"), None
    yield (
        "an owner with a path",
        _bent(developer_plan={"num_developers": 1, "owners": [{"id": "../../x"}]}),
        "unknown_owner",
    )
    yield "an owner that is a truth", _file(owner=True), "schema"
    yield "a dependency outside", _file(depends_on=["../../etc/passwd"]), "unknown_dependency"
    yield "a dependency by a link", _file(depends_on=["shop/items.py::../../x"]), "unknown_symbol"
    yield "lines beyond counting", _file(lines=-(10**300)), None
    yield "a marker with a path", _file(implements=["../../x", "{#../x}"]), None
    yield "a purpose of a megabyte", _file(purpose="../ \n" * 200_000), None
    yield "a stack with paths", _bent(tech_stack={"language": "Python", "../x": ["../y"] * 3}), None


def _texts() -> Iterator[Hostile]:
    whole = json.dumps(make_sketch())
    yield "NaN", _raw('"lines": 20', '"lines": NaN'), "not_json"
    yield "infinity", _raw('"lines": 20', '"lines": -Infinity'), "not_json"
    yield "1e999", _raw('"lines": 20', '"lines": 1e999'), "not_json"
    yield "1e300", _raw('"lines": 20', '"lines": 1e300'), None
    yield "5,000 digits", _raw('"lines": 20', '"lines": ' + "9" * 5000), "not_json"
    yield "a duplicate key", _raw('"files": [', '"files": [], "files": ['), "not_json"
    yield "a duplicate path key", _raw('"path": "shop/cli.py"', '"path": "../x", "path": "shop/cli.py"'), "not_json"
    yield "100,000 brackets", "[" * 100_000, "not_json"
    yield "100,000 objects", '{"a":' * 100_000 + "1" + "}" * 100_000, "not_json"
    yield "deep inside a field", _raw('"framework": "none"', '"framework": ' + "[" * 500 + "]" * 500), "schema"
    yield "deep inside an unknown field", _raw('"framework": "none"', '"x": ' + "[" * 500 + "]" * 500), None
    yield "a lone surrogate", _raw("shop/cli.py", "shop/\\ud800.py"), "not_json"
    yield "a byte order mark", "\ufeff" + whole, None
    yield "a comment", whole.replace("{", "{ // x\n", 1), "not_json"
    yield "single quotes", whole.replace('"', "'"), "not_json"
    yield "a trailing comma", whole[:-1] + ",}", "not_json"
    yield "two sketches", f"{whole}\n{_file(purpose='another')}", "not_json"
    yield "a sketch in a list", f"[{whole}]", "not_json"
    yield "cut off", whole[:-20], "not_json"
    yield "nothing", "", "not_json"


def _declarations() -> Iterator[Hostile]:
    for text in (
        "def f() -> None: ...\nimport os; os.system('x')",
        "def f(x=__import__('os').system('x')) -> None",
        "class A(eval('object')): x: int",
        "X: int = exec('import os')",
        "import os",
        "os.system('x')",
        "@eval('x') def f() -> None",
        "lambda: 1",
        "def f(x: int = open('/etc/passwd')) -> None",
        "X = '" + "x" * 5000 + "'",
        "def " + "f(" * 2000,
        "X: " + "list[" * 900 + "int" + "]" * 900,
        "def f\0() -> None",
        "```python\nimport os\n```",
        "../../x.py",
        "def ../../x() -> None",
    ):
        yield f"declared: {text[:40]!r}", _file(public_api=[text]), "bad_signature"
    yield "declared: two of one name", _file(public_api=["def f() -> int", "def f() -> str"]), "conflicting_symbol"
    yield "declared: another name", _file(public_api=["f: def g() -> int"]), "name_mismatch"


def _requirements() -> Iterator[Hostile]:
    for text, code in (
        ("x @ https://example.org/x.whl", "bad_requirement"),
        ("x @ file:///etc/passwd", "bad_requirement"),
        ("git+https://example.org/x", "bad_requirement"),
        ("../../x", "bad_requirement"),
        ("./x.whl", "bad_requirement"),
        ("/etc/passwd", "bad_requirement"),
        ("-r ../x.txt", "bad_requirement"),
        ("-e .", "bad_requirement"),
        ("--index-url=https://example.org rich", "bad_requirement"),
        ("rich --no-deps", "bad_requirement"),
        ("rich\n--extra-index-url https://example.org", "bad_requirement"),
        ("rich===../../x", "bad_requirement"),
        ("rich>=13; exec('x')", "bad_requirement"),
        ("rich>=13; python_version", "bad_requirement"),
        ("rich\0", "bad_requirement"),
        ("ｒich", "bad_requirement"),
        ("", "bad_requirement"),
        ("rich>2,<1", "conflicting_requirement"),
        ("json", "stdlib_requirement"),
        ("Sqlite3>=3", "stdlib_requirement"),
        ("python>=3.11", "stdlib_requirement"),
        ("shop", "own_requirement"),
        ("SHOP>=1", "own_requirement"),
        ("reqeusts", "lookalike_requirement"),
        ("requestss", "lookalike_requirement"),
        ("djang0", "lookalike_requirement"),
        ("beautiful-soup4", "lookalike_requirement"),
        ("python-requests", "lookalike_requirement"),
        ("pypandas", "lookalike_requirement"),
        ("yaml", "lookalike_requirement"),
        ("rich>=13; python_version < '3.9'", None),
        ("requests[socks]>=2", None),
    ):  # fmt: skip
        yield f"required: {text!r}", _bent(dependencies=[text]), code
    yield "required: too many", _bent(dependencies=[f"package-number-{n}" for n in range(3000)]), "bad_requirement"
