from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.sandbox.base import Limits, SandboxResult
from nodes.contract import Contract
from nodes.packaging_check import PackagingFault, check_packaging
from nodes.packaging_inside import REPORT
from tests.support.contracts import make_contract
from tests.support.sandboxes import environments, opened

# A build backend of the project's own, so that nothing need be installed: it packs two folders.
BACKEND = """\
import pathlib, zipfile

def build_wheel(folder, config_settings=None, metadata_directory=None):
    import tomllib
    project = tomllib.loads(pathlib.Path("pyproject.toml").read_text())
    name = "lamp-1.0-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
        for root in project["tool"]["pack"]["roots"]:
            for path in sorted(pathlib.Path(root).rglob("*.py")):
                wheel.write(path, path)
        scripts = "".join(f"{one} = {target}\\n" for one, target in project["project"].get("scripts", {}).items())
        wheel.writestr("lamp-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: lamp\\nVersion: 1.0\\n")
        wheel.writestr("lamp-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("lamp-1.0.dist-info/entry_points.txt", "[console_scripts]\\n" + scripts)
        wheel.writestr("lamp-1.0.dist-info/RECORD", "")
    return name
"""
OWN = '[build-system]\nrequires = []\nbuild-backend = "pack"\nbackend-path = ["."]\n'
PROJECT = '[project]\nname = "lamp"\nversion = "1.0"\n'
SCRIPTS = '[project.scripts]\nlamp = "lamp.cli:main"\n'
PACK = '[tool.pack]\nroots = ["lamp", "dim"]\n'
CLI = "import argparse\n\ndef main():\n    argparse.ArgumentParser('lamp').parse_args()\n"
FILES = {
    "pyproject.toml": OWN + PROJECT + SCRIPTS + PACK,
    "pack.py": BACKEND,
    "lamp/__init__.py": "",
    "lamp/cli.py": CLI,
    "tests/test_lamp.py": "",
}


class Sandboxed:
    """A context with a real sandbox, and a record of what was required."""

    def __init__(self, cache: Path) -> None:
        self.sandbox, self.required = opened("auto", cache), [["?"]]

    async def run(
        self, command: Sequence[str], files: Mapping[str, bytes], *, collect: Sequence[str] = (), seconds: float = 30.0
    ) -> SandboxResult:
        limits = Limits(cpus=2.0, timeout=seconds)
        return await self.sandbox.run(command, files, limits=limits, collect=collect)

    async def require(self, requirements: Sequence[str]) -> Mapping[str, str]:
        self.required.append(list(requirements))
        return await self.sandbox.use(requirements)

    def as_context(self) -> Any:
        return self


@pytest.fixture(scope="module")
def sandboxed(tmp_path_factory: pytest.TempPathFactory) -> Sandboxed:
    return Sandboxed(environments(tmp_path_factory))


def check(context: Any, files: Mapping[str, str], dependencies: Sequence[str] = ()) -> list[PackagingFault]:
    data = make_contract({path: [] for path in files}) | {"dependencies": list(dependencies)}
    repository = {path: text.encode() for path, text in files.items()}
    return asyncio.run(check_packaging(Contract(data), repository, context))


def codes(found: Sequence[PackagingFault]) -> list[tuple[str, str]]:
    return [(one.code, one.path) for one in found]


def test_a_sound_project_installs_imports_and_starts(sandboxed: Sandboxed) -> None:
    assert check(sandboxed.as_context(), FILES) == []
    assert sandboxed.required[-1] == []  # what the build needed is taken back


def test_all_that_is_wrong_with_a_project_is_told_at_once(
    sandboxed: Sandboxed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodes.packaging_check._SECONDS", 3.0)
    scripts = "".join(f'{name} = "lamp.cli:{name}"\n' for name in ("dark", "usage", "hang", "gone", "main"))
    cli = "import sys, time\ndef dark():\n    raise ValueError('no light')\ndef hang():\n    time.sleep(60)\n"
    files = FILES | {
        "pyproject.toml": OWN + PROJECT + "[project.scripts]\n" + scripts + PACK,
        "lamp/cli.py": cli + "def usage():\n    sys.exit('usage: lamp')\ndef main():\n    import lamp.missing\n",
        "lamp/data.json": "{}",
        "dim/__init__.py": "import lamp.missing\n",
        "shade/__init__.py": "",
    }
    found = check(sandboxed.as_context(), files)
    expected = [
        ("script_target", "pyproject.toml", "has no 'gone'"),
        ("not_packaged", "pyproject.toml", "lamp/data.json"),
        ("not_packaged", "pyproject.toml", "installs no package 'shade'"),
        ("import", "dim/__init__.py", "No module named 'lamp.missing'"),
        ("script", "lamp/cli.py", "ValueError: no light"),
        ("script_hangs", "lamp/cli.py", "'hang --help' does not end"),
        ("script", "lamp/cli.py", "No module named 'lamp.missing'"),
    ]
    assert codes(found) == [(code, path) for code, path, _ in expected]
    assert all(said in one.message for (_, _, said), one in zip(expected, found, strict=True))
    assert "Traceback" in found[-1].detail


def test_a_build_that_fails_says_what_the_backend_said(sandboxed: Sandboxed) -> None:
    files = FILES | {"pack.py": "def build_wheel(*a):\n    raise RuntimeError('no version is set')\n"}
    found = check(sandboxed.as_context(), files)
    assert codes(found) == [("install", "pyproject.toml")]
    assert "no version is set" in found[0].message and "Traceback" in found[0].detail


@pytest.mark.parametrize(
    ("backend", "folder", "more"),
    [
        ("setuptools.build_meta", "src/lamp", '[tool.setuptools]\npackages = ["lamp"]\npackage-dir = {"" = "src"}\n'),
        ("hatchling.build", "lamp", ""),
    ],
)
def test_the_usual_backends(backend: str, folder: str, more: str, sandboxed: Sandboxed) -> None:
    """Both install the project; setuptools is told of one package only, so it leaves the inner one out."""
    name = backend.partition(".")[0]  # both are asked for, so that one environment serves both
    system = f'[build-system]\nrequires = ["setuptools", "hatchling"]\nbuild-backend = "{backend}"\n'
    files = {
        "pyproject.toml": system + PROJECT + SCRIPTS + more,
        f"{folder}/__init__.py": "",
        f"{folder}/cli.py": CLI,
        f"{folder}/deep/__init__.py": "",
    }
    found = check(sandboxed.as_context(), files)
    if ("environment", "") in codes(found):
        pytest.skip(f"{name} cannot be installed here: {found[0].detail}")
    assert codes(found) == ([("not_packaged", "pyproject.toml")] if more else [])
    assert not found or f"{folder}/deep/__init__.py" in found[0].message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[project]\nname = 'lamp'\nversion = \n", "pyproject.toml:3: "),
        (b"\xff", "pyproject.toml is not UTF-8"),
        (b"x = " + b"[" * 5000, "pyproject.toml:"),
    ],
)
def test_metadata_that_does_not_parse_is_told_with_its_line(content: bytes, said: str) -> None:
    repository = {path: text.encode() for path, text in FILES.items()} | {"pyproject.toml": content}
    context: Any = Scripted()
    found = asyncio.run(check_packaging(Contract(make_contract({path: [] for path in FILES})), repository, context))
    assert codes(found) == [("syntax", "pyproject.toml")] and said in found[0].message
    assert context.runs == 0


class Scripted:
    """A context whose sandbox reports what it is told to, and where some packages cannot be installed."""

    def __init__(self, report: Any = None, failed: Mapping[str, str] | None = None, ended: Any = "exit") -> None:
        self.report, self.failed, self.ended, self.runs = report, failed or {}, ended, 0

    async def run(self, command: Sequence[str], files: Mapping[str, bytes], **_: Any) -> SandboxResult:
        self.runs += 1
        content = {} if self.report is None else {REPORT: json.dumps(self.report).encode()}
        return SandboxResult(self.ended, 0, "said", "", 4, 0, 0.1, None, content)

    async def require(self, requirements: Sequence[str]) -> Mapping[str, str]:
        return {one: why for one, why in self.failed.items() if one in requirements}


def test_what_this_machine_lacks_is_told_and_not_blamed_on_the_project() -> None:
    context = Scripted(failed={"hatchling": "no wheel"})
    files = FILES | {
        "pyproject.toml": '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n' + PROJECT
    }
    assert codes(check(context, files)) == [("environment", "")]
    assert context.runs == 0  # without what builds it nothing can be tried
    report = {
        "pip": True,
        "install": {"code": 0, "output": ""},
        "installed": ["lamp/__init__.py", "lamp/cli.py"],
        "imports": {"lamp": {"code": 1, "output": "Traceback\nModuleNotFoundError: No module named 'yaml'\n"}},
        "scripts": {},
    }
    declared = FILES["pyproject.toml"].replace("[project.scripts]", 'dependencies = ["pyyaml"]\n[project.scripts]')
    lacking = Scripted(report, failed={"pyyaml": "no wheel"})
    assert codes(check(lacking, FILES | {"pyproject.toml": declared}, ["pyyaml"])) == [("environment", "")]
    assert codes(check(Scripted(report), FILES)) == [("import", "lamp/__init__.py")]
    assert codes(check(Scripted({"pip": False}), FILES)) == [("environment", "")]


@pytest.mark.parametrize(
    ("line", "contracted", "expected"),
    [
        ('dependencies = ["PyYAML>=6"]', ["pyyaml"], []),
        ('dependencies = ["pyyaml", "requests"]', ["pyyaml"], ["undeclared_dependency"]),
        ("dependencies = []", ["pyyaml"], ["missing_dependency"]),
        ("", ["pyyaml", "pytest"], ["missing_dependency"]),
        ('optional-dependencies = {dev = ["pyyaml"]}', ["pyyaml"], []),
        ('dependencies = ["py yaml"]', [], ["metadata"]),
        ('dynamic = ["dependencies"]', ["pyyaml"], []),
        ("dependencies = 5", [], []),
    ],
)
def test_the_metadata_and_the_contract_name_the_same_packages(
    line: str, contracted: list[str], expected: list[str]
) -> None:
    report = {
        "pip": True,
        "install": {"code": 0},
        "installed": ["lamp/__init__.py", "lamp/cli.py"],
        "imports": {"lamp": {"code": 0}},
    }
    text = FILES["pyproject.toml"].replace("[project.scripts]", f"{line}\n[project.scripts]")
    found = check(Scripted(report), FILES | {"pyproject.toml": text}, contracted)
    assert [one.code for one in found] == expected
    assert all(one.path == "pyproject.toml" for one in found)


@pytest.mark.parametrize(
    ("report", "ended", "expected"),
    [
        (None, "timeout", "install"),
        ([], "exit", "install"),
        ({"pip": True, "install": "yes"}, "exit", "install"),
        ({"pip": True, "install": {"code": None, "output": ""}}, "exit", "install"),
        (
            {"pip": True, "install": {"code": 0}, "installed": [7], "imports": [], "scripts": [1]},
            "exit",
            "not_packaged",
        ),
    ],
)
def test_a_report_may_hold_anything(report: Any, ended: str, expected: str) -> None:
    found = check(Scripted(report, ended=ended), FILES)
    assert [one.code for one in found][:1] == [expected]


def test_without_a_manifest_there_is_nothing_to_install_from() -> None:
    files = {path: text for path, text in FILES.items() if path != "pyproject.toml"}
    assert codes(check(Scripted(), files)) == [("no_manifest", "")]
