from __future__ import annotations

import asyncio
import hashlib
import subprocess
import sys
import tarfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.sandbox import environment as environment_module
from engine.sandbox import owner
from engine.sandbox.base import Sandbox
from engine.sandbox.environment import Environment, environment
from tests.support.sandboxes import environments, opened, run


def wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: str = "") -> None:
    """A wheel, made by hand."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (
        f"Requires-Dist: {requires}\n" if requires else ""
    )
    content = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [
        f"{path},sha256={urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},{len(text.encode())}"
        for path, text in content.items()
    ]
    content[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module", autouse=True)
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of distributions that pip uses instead of an index."""
    folder = tmp_path_factory.mktemp("index")
    wheel(folder, "alpha", "1.0", {"alpha.py": "NAME = 'alpha 1'\n"})
    wheel(folder, "alpha", "2.0", {"alpha.py": "NAME = 'alpha 2'\n"}, requires="beta")
    script = "#!python\nprint('beta runs')\n"
    wheel(folder, "beta", "1.0", {"beta/__init__.py": "VALUE = 7\n", "beta-1.0.data/scripts/beta": script})
    marker = folder / "start-up hook ran"
    hook = f"import pathlib; pathlib.Path({str(marker)!r}).touch()\n"
    wheel(folder, "hooked", "1.0", {"hooked.pth": hook, "hooked.py": "", "sitecustomize.py": hook})
    setup = folder / "setup.py"
    setup.write_text(
        f"open({str(folder / 'build script ran')!r}, 'w')\nfrom setuptools import setup; setup(name='source')\n"
    )
    with tarfile.open(folder / "source-1.0.tar.gz", "w:gz") as archive:
        archive.add(setup, "source-1.0/setup.py")
    setup.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield folder
    assert {one.suffix for one in folder.iterdir()} == {".whl", ".gz"}, "a stranger's code ran outside of the sandbox"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environments(tmp_path_factory)


@pytest.fixture(scope="module")
def sandbox(cache: Path) -> Iterator[Sandbox]:
    found = opened("auto", cache)
    yield found
    asyncio.run(found.use([]))


def make(cache: Path, *requirements: str) -> Environment:
    return asyncio.run(environment(requirements, cache))


def test_declared_requirements_are_there_and_nothing_else_runs(
    sandbox: Sandbox, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asyncio.run(sandbox.use(["alpha", "hooked"])) == {}
    assert run(sandbox, "import alpha, beta, pytest; print(alpha.NAME, beta.VALUE)").stdout == "alpha 2 7\n"
    assert run(sandbox, ["beta"]).stdout == "beta runs\n"
    monkeypatch.setenv("PIP_FIND_LINKS", "/nonexistent")  # it is in the cache now
    first = make(cache, "hooked", "alpha", "alpha", "beta; python_version < '3'")
    assert first == make(cache, "alpha", "hooked") and first.failed == {}
    assert asyncio.run(sandbox.use([])) == {}
    assert "No module named 'alpha'" in run(sandbox, "import alpha").stderr


def test_what_cannot_be_installed_is_told_and_the_rest_is_there(sandbox: Sandbox, cache: Path, index: Path) -> None:
    wanted = ["alpha==1.0", "alpha==2.0", "late>=1", "source", "json", "not a name", "x @ file:///etc/passwd", "-r x"]
    failed = asyncio.run(sandbox.use(wanted))
    assert failed.keys() == {*wanted} - {"alpha==1.0"}
    assert "alpha==1.0 and alpha==2.0" in failed["alpha==2.0"]
    assert "No matching distribution found for late>=1" in failed["late>=1"]
    assert "No matching distribution found for source" in failed["source"]
    assert "standard library" in failed["json"]
    assert "not taken from an address" in failed["x @ file:///etc/passwd"]
    assert run(sandbox, "import alpha; print(alpha.NAME)").stdout == "alpha 1\n"
    wheel(index, "late", "1.0", {"late.py": ""})
    assert make(cache, "alpha==1.0", "late>=1").failed == {}  # a failure is not remembered


def test_pytest_need_not_be_declared(cache: Path) -> None:
    plain = make(cache)
    assert make(cache, "pytest") == make(cache, "PyTest>=7") == make(cache, "alpha; sys_platform == 'none'") == plain


def test_two_processes_build_at_once(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from engine.sandbox.environment import environment\n"
        "print(asyncio.run(environment((), Path(sys.argv[1]))).python)"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = {one.communicate(timeout=60)[0] for one in both}
    assert [one.returncode for one in both] == [0, 0] and len(said) == 1
    assert len(list(tmp_path.iterdir())) == 1
    assert Path(said.pop().strip()).exists()


def test_a_script_of_a_package_takes_no_other_place(tmp_path: Path) -> None:
    victim = tmp_path / "interpreter of the machine"
    victim.write_text("kept")
    aside, place = tmp_path / "aside", tmp_path / "place"
    scripts = environment_module._site(aside) / "bin"
    scripts.mkdir(parents=True)
    (aside / "bin").mkdir()
    (aside / "bin" / "python").symlink_to(victim)
    (aside / "bin" / "dangling").symlink_to(tmp_path / "new")
    for name in ("python", "dangling", "tool"):
        (scripts / name).write_text("#!/x/python\nevil")
    (scripts / "folder").mkdir()
    environment_module._settle_scripts(aside, place)
    assert victim.read_text() == "kept" and not (tmp_path / "new").exists()
    assert (aside / "bin" / "tool").read_text() == f"#!{place}/bin/python\nevil"


def test_a_file_that_lies_about_is_not_taken_for_a_requirement(
    cache: Path, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source-1.0.tar.gz").write_bytes((index / "source-1.0.tar.gz").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert make(cache, "source-1.0.tar.gz").failed.keys() == {"source-1.0.tar.gz"}


def test_what_a_killed_process_left_half_made_is_swept(tmp_path: Path) -> None:
    program = (
        "import asyncio, os, sys; from pathlib import Path; from engine.sandbox import environment as e\n"
        "e._finish = lambda *_: os.kill(os.getpid(), 9)\n"
        "asyncio.run(e.environment((), Path(sys.argv[1])))"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == -9
    (half,) = tmp_path.iterdir()
    (tmp_path / ".building-mine").mkdir()
    (tmp_path / ".building-mine" / ".owner").write_text(owner.mark())
    made = make(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {".building-mine", made.python.parents[1].name}
    assert not half.exists() and not list(made.python.parents[1].glob(".owner"))
