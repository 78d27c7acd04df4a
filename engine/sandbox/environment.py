"""An isolated Python environment for generated code: pytest, and what the project declares, from wheels only.

Nothing of a stranger runs while it is made: no build script (wheels only), and no start-up hook of an installed package
either, since the environment's own Python is never started outside the sandbox.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from engine.errors import SandboxError
from engine.sandbox import owner

_FORMAT = 2  # counts up when what is put into an environment changes
_BUILDING, _OWNER = ".building-", ".owner"
_ABANDONED = 3600.0  # seconds after which what has no owner is nobody's
_PIP_TIMEOUT = 600.0  # seconds
_PIP = ("--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--no-compile", "--retries", "1")


@dataclass(frozen=True)
class Environment:
    """A Python to run generated code with.

    python    its executable
    readable  files and folders that a process needs to read to use it
    failed    declared requirement -> why it could not be installed
    """

    python: Path
    readable: tuple[Path, ...]
    failed: Mapping[str, str] = field(default_factory=dict)


def default_cache() -> Path:
    """$XDG_CACHE_HOME/flowrun, or ~/.cache/flowrun."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flowrun"


async def environment(requirements: Sequence[str], cache: Path) -> Environment:
    """The environment that holds pytest and `requirements`: from the cache, or made now and kept there.

    A requirement that cannot be installed is in `failed`; the others are there. Raises SandboxError.
    """
    wanted, failed = _sorted_out(requirements)
    place = _place(cache, wanted)
    if not place.exists():
        cache.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(_sweep, cache)
        aside = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=cache))
        try:
            (aside / _OWNER).write_text(owner.mark())
            await asyncio.to_thread(venv.EnvBuilder(symlinks=True).create, aside)
            refused = await _install(wanted, _site(aside))
            failed |= refused
            place = _place(cache, [one for one in wanted if one not in refused])
            await _finish(aside, place)
        finally:
            await asyncio.to_thread(shutil.rmtree, aside, ignore_errors=True)
    return Environment(place / "bin" / "python", (place, *_base()), failed)


def _sweep(cache: Path) -> None:
    """Remove what processes left behind that were killed while they made an environment."""
    for aside in cache.glob(f"{_BUILDING}*"):
        try:
            nobody = owner.is_dead((aside / _OWNER).read_text())
        except OSError:  # it has none yet, or is gone or finished meanwhile
            nobody = _is_old(aside)
        if nobody:
            shutil.rmtree(aside, ignore_errors=True)


def _is_old(place: Path) -> bool:
    try:
        return time.time() - place.stat().st_mtime > _ABANDONED
    except OSError:
        return False


def _sorted_out(requirements: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """What pip is asked for, in a canonical order; and what it is not asked for, with the reason."""
    wanted, failed = set(), {}
    for text in requirements:
        try:
            one = Requirement(text)
        except InvalidRequirement as error:
            failed[text] = f"it is no requirement: {str(error).splitlines()[0]}"
            continue
        if one.url:
            failed[text] = "it is not taken from an address; declare a name and perhaps a version"
        elif one.name.replace("-", "_").lower() in sys.stdlib_module_names:
            failed[text] = "it is part of Python's standard library and must not be declared"
        elif (one.marker is None or one.marker.evaluate()) and not _there(one):
            one.marker = None
            wanted.add(str(one))
    return sorted(wanted, key=str.lower), failed


def _there(one: Requirement) -> bool:
    """Whether the pytest that every environment has satisfies the requirement."""
    return canonicalize_name(one.name) == "pytest" and one.specifier.contains(metadata.version("pytest"))


def _place(cache: Path, wanted: Sequence[str]) -> Path:
    content = [_FORMAT, sys.version, sys.base_prefix, metadata.version("pytest"), *wanted]
    return cache / f"python-{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:20]}"


def _site(place: Path) -> Path:
    return place / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"


async def _install(wanted: Sequence[str], site: Path) -> dict[str, str]:
    """Install what can be installed, as a whole that fits together; returns what cannot, with the reason."""
    if not wanted or await _pip(wanted, site) is None:
        return {}
    good: list[str] = []
    refused: dict[str, str] = {}
    for one in wanted:
        if (why := await _pip([*good, one], site, "--dry-run")) is None:
            good.append(one)
        else:
            refused[one] = why
    if good and (why := await _pip(good, site)) is not None:
        refused |= dict.fromkeys(good, why)
    return refused


async def _pip(wanted: Sequence[str], site: Path, *options: str) -> str | None:
    """Run pip; None if it succeeded, else the last thing it said.

    `--target` and not `--python`, which would start the environment's Python here and with it what was just installed.
    """
    python = sys.executable if importlib.util.find_spec("pip") else base_python()
    command = [python, "-I", "-m", "pip", "install", "--target", str(site), *_PIP, *options, *wanted]
    said, code = await _command(command, site)
    if code == 0:
        return None
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    telling = [line for line in errors if not line.startswith("ResolutionImpossible")]
    return (telling or errors or lines or ["pip failed"])[-1]


async def _command(command: Sequence[str], folder: Path) -> tuple[str, int]:
    """Run a command in a folder of ours, where a requirement cannot be taken for a file; its output and exit code."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )
    try:
        async with asyncio.timeout(_PIP_TIMEOUT):
            said, _ = await process.communicate()
    except TimeoutError:
        return f"it took longer than {_PIP_TIMEOUT:g} s", 1
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return said.decode("utf-8", "replace"), process.returncode


async def _finish(aside: Path, place: Path) -> None:
    """Add pytest, compile everything, and move the environment to its place; one that is there already stays."""
    site = _site(aside)
    try:
        await asyncio.to_thread(_copy_distribution, "pytest", site)
    except OSError as error:  # a package has a folder where pytest has a file
        raise SandboxError(f"a required package is in the way of pytest: {error}; require another one") from error
    if not (site / "pytest" / "__init__.py").exists():
        raise SandboxError("pytest cannot be copied from flowrun's own environment; install it anew with pip")
    await asyncio.to_thread(_settle_scripts, aside, place)
    await _command([base_python(), "-I", "-S", "-m", "compileall", "-q", "-j", "0", str(site)], site)
    await asyncio.to_thread(_open_to_all, aside)
    (aside / _OWNER).unlink()
    try:
        aside.rename(place)
    except OSError:
        if not place.exists():
            raise


def _open_to_all(aside: Path) -> None:
    """Let everyone read it, whatever the umask: a sandbox that root starts runs as another user."""
    for place in (aside, *aside.rglob("*")):
        if not place.is_symlink():
            mode = place.stat().st_mode
            place.chmod(mode | (0o055 if mode & 0o100 else 0o044))


def _copy_distribution(name: str, site: Path) -> None:
    """Copy an installed distribution and what it requires, unless `site` has it."""
    if any(canonicalize_name(one.name) == canonicalize_name(name) for one in metadata.distributions(path=[str(site)])):
        return
    found = metadata.distribution(name)
    for file in found.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(found.locate_file(file)), target)
    for text in found.requires or ():
        one = Requirement(text)
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            _copy_distribution(one.name, site)


def _settle_scripts(aside: Path, place: Path) -> None:
    """Console scripts go where the environment's Python is, and start that one; none takes the place of another.

    A package chooses the names of its scripts, and what is there already may be a link to a file of this machine.
    """
    for script in (aside / "bin").iterdir():
        if not script.is_symlink():
            script.unlink()
    for script in (_site(aside) / "bin").glob("*"):
        target = aside / "bin" / script.name
        if not script.is_file() or target.is_symlink() or target.exists():
            continue
        first, _, rest = script.read_bytes().partition(b"\n")
        if first.startswith(b"#!") and b"python" in first:
            target.write_bytes(f"#!{place}/bin/python\n".encode() + rest)
            target.chmod(0o755)


def base_python() -> str:
    """The interpreter that environments are made of."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _base() -> tuple[Path, ...]:
    """What the base interpreter consists of: its prefixes, its executable, its shared library."""
    places = {Path(sys.base_prefix), Path(sys.base_exec_prefix), Path(base_python()).resolve()}
    if library := sysconfig.get_config_var("INSTSONAME"):
        places.add(Path(sysconfig.get_config_var("LIBDIR")) / library)
    return tuple(sorted(one for one in places if one.exists() and one != Path("/")))
