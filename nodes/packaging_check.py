"""Whether a project can be installed and started: from its own metadata, in the sandbox, without network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from engine.context import Context
from engine.sandbox.base import SandboxResult
from nodes import packaging_inside as inside
from nodes.contract import Contract, is_source, is_test, module_name
from nodes.data_files import data_fault, script_faults
from nodes.import_names import DeclaredImports
from nodes.manifest import Manifest
from nodes.project_code import ProjectCode
from nodes.sketch_requirements import package_name

_PROGRAM = ".flowrun-packaging.py"
_INSTALL_SECONDS, _SECONDS = 60.0, 10.0  # for the installation; for each import and each script
_MOST_DETAIL = 3000  # characters of an output that are kept
_BESIDE = {"tests", "test", "docs", "doc", "examples", "scripts", "tools", "benchmarks", "bench"}  # not to be installed
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '([\w.]+)'", re.MULTILINE)


@dataclass(frozen=True)
class PackagingFault:
    """One thing that keeps the project from being installed and used.

    code     no_manifest, syntax, metadata, install, not_packaged, import, script_target, script, script_hangs,
             undeclared_dependency, missing_dependency; or environment: what this machine lacks, no fault of the project
    path     the file to be repaired; empty for "environment" and "no_manifest"
    detail   what pip, the import or the script said
    """

    code: str
    message: str
    path: str
    detail: str = ""


async def check_packaging(contract: Contract, repository: Mapping[str, bytes], ctx: Context) -> list[PackagingFault]:
    """Install the repository in the sandbox, import its packages, start its console scripts with `--help`.

    What the build needs is installed beforehand, from wheels, and taken back afterwards: so nothing else may run in the
    sandbox meanwhile. Raises SandboxError.
    """
    try:
        manifest = Manifest.of(repository)
    except UnicodeDecodeError:
        return [PackagingFault("syntax", "pyproject.toml is not UTF-8", "pyproject.toml")]
    except ValueError as error:
        line, why = data_fault("pyproject.toml", repository["pyproject.toml"].decode()) or (0, str(error))
        return [PackagingFault("syntax", f"pyproject.toml:{line}: {why}", "pyproject.toml")]
    if manifest is None:
        return [PackagingFault("no_manifest", "there is neither a pyproject.toml nor a setup.py to install from", "")]
    check = _Check(contract, repository, manifest)
    faults = [*check.dependencies(), *check.scripts()]
    declared = list(contract.data["dependencies"])
    needed = manifest.build_requirements
    try:
        # an installed pip starts faster than the one that comes with Python, which does where none can be installed
        failed = await ctx.require(list(dict.fromkeys([*declared, *needed, *(["pip"] if needed else [])])))
        failed = {one: why for one, why in failed.items() if one in (*declared, *needed)}
        faults += [_lacking(one, why) for one, why in failed.items()]
        if not any(one in failed for one in needed):
            faults += check.read(await _install(check, ctx), {package_name(one) for one in failed})
    finally:
        await ctx.require(declared)
    return faults


async def _install(check: _Check, ctx: Context) -> SandboxResult:
    request = {"imports": check.packages, "install_seconds": _INSTALL_SECONDS, "seconds": _SECONDS}
    files = {
        **check.repository,
        _PROGRAM: Path(inside.__file__).read_bytes(),
        inside.REQUEST: json.dumps(request).encode(),
    }
    seconds = _INSTALL_SECONDS + _SECONDS * (len(check.packages) + 4)
    return await ctx.run(["python", _PROGRAM], files, collect=[inside.REPORT], seconds=seconds)


def _lacking(requirement: str, why: str) -> PackagingFault:
    return PackagingFault("environment", f"{requirement} cannot be installed here from a wheel", "", why)


class _Check:
    """What is known of the project before it is installed."""

    def __init__(self, contract: Contract, repository: Mapping[str, bytes], manifest: Manifest) -> None:
        self.contract, self.repository, self.manifest = contract, repository, manifest
        self.sources = {path: content.decode("utf-8", "replace") for path, content in repository.items()}
        inner = {path: text for path, text in self.sources.items() if path in contract.files}
        self.project = ProjectCode(contract, inner)

    @property
    def packages(self) -> list[str]:
        """The top-level packages that an installation must bring."""
        names = (module_name(path) for path in self.contract.files if path.endswith("/__init__.py") and is_source(path))
        return sorted({name for name in names if "." not in name and name not in _BESIDE})

    @cached_property
    def _wrong_scripts(self) -> list[tuple[str, str]]:
        return list(script_faults(self.project, self.sources.get(self.manifest.path, "")))

    def dependencies(self) -> Iterator[PackagingFault]:
        """Where the manifest and the contract name different packages."""
        required = self.manifest.dependencies
        if required is None:
            return
        path, contracted = self.manifest.path, {package_name(one) for one in self.contract.data["dependencies"]}
        for one in required:
            if not package_name(one):
                yield PackagingFault("metadata", f"{path}: '{one[:100]}' is no requirement", path)
            elif package_name(one) not in contracted:
                message = f"{path} requires '{one[:100]}', which the contract does not name"
                yield PackagingFault("undeclared_dependency", message, path)
        for name in sorted(contracted - {package_name(one) for one in required} - self.manifest.optional - {"pytest"}):
            message = f"{path} does not require '{name}', which the contract names"
            yield PackagingFault("missing_dependency", message, path)

    def scripts(self) -> Iterator[PackagingFault]:
        """Console scripts that name what is not there."""
        for _, message in self._wrong_scripts:
            yield PackagingFault("script_target", f"{self.manifest.path}: {message}", self.manifest.path)

    def read(self, result: SandboxResult, absent: set[str]) -> Iterator[PackagingFault]:
        """What the sandbox showed. `absent` are packages that could not be installed."""
        report = _report(result)
        path = self.manifest.path
        if report is None:
            said = (result.stdout + result.stderr)[-_MOST_DETAIL:]
            yield PackagingFault("install", f"the installation was ended: {result.ended}", path, said)
        elif not report.get("pip"):
            yield PackagingFault("environment", "this Python has no pip to install with", "")
        elif (install := _ended(report, "install"))[0] != 0:
            yield PackagingFault("install", f"{path}: {_why(install)}", path, install[1][-_MOST_DETAIL:])
        else:
            yield from self._packaged(report)
            yield from self._imported(report, absent)
            yield from self._started(report, absent)

    def _packaged(self, report: Mapping[str, Any]) -> Iterator[PackagingFault]:
        """Files of the packages that the installation left out."""
        installed = {one for one in report.get("installed", ()) if isinstance(one, str)}
        for package in self.packages:
            inner = {path: _place(path) for path in self.contract.files if _place(path).startswith(f"{package}/")}
            left_out = [path for path, place in inner.items() if place not in installed and not _is_apart(path)]
            if len(left_out) == len(inner):
                message = f"{self.manifest.path} installs no package '{package}'"
            elif left_out:
                message = f"{self.manifest.path} does not install {', '.join(left_out[:5])}"
            else:
                continue
            yield PackagingFault("not_packaged", message, self.manifest.path, "\n".join(left_out))

    def _imported(self, report: Mapping[str, Any], absent: set[str]) -> Iterator[PackagingFault]:
        for name in self.packages:
            code, output = _ended(report, "imports", name)
            packaged = any(str(one).startswith(f"{name}/") for one in report.get("installed", ()))
            if code == 0 or not packaged or _lacks(output, absent):
                continue
            path = self.project.modules.get(name, self.manifest.path)
            what = "does not end" if code is None else "fails"
            yield PackagingFault("import", f"'import {name}' {what}: {_last(output)}", path, output[-_MOST_DETAIL:])

    def _started(self, report: Mapping[str, Any], absent: set[str]) -> Iterator[PackagingFault]:
        scripts, wrong = report.get("scripts"), {name for name, _ in self._wrong_scripts}
        for name in sorted(scripts.keys() - wrong) if isinstance(scripts, dict) else ():
            code, output = _ended(report, "scripts", name)
            path = self._home(name)
            if code is None:
                message = f"'{name} --help' does not end within {_SECONDS:g} s"
                yield PackagingFault("script_hangs", message, path, output[-_MOST_DETAIL:])
            elif code != 0 and "Traceback (most recent call last)" in output and not _lacks(output, absent):
                message = f"'{name} --help' fails: {_last(output)}"
                yield PackagingFault("script", message, path, output[-_MOST_DETAIL:])

    def _home(self, script: str) -> str:
        """The file that holds a script's function, or the manifest."""
        project = self.manifest.data.get("project", {})
        scripts = project.get("scripts", {}) if isinstance(project, dict) else {}
        target = str(scripts.get(script, "")) if isinstance(scripts, dict) else ""
        module = target.partition(":")[0].strip()
        return self.project.modules.get(module, self.manifest.path)


def _place(path: str) -> str:
    """Where a file of the tree is installed."""
    return path.removeprefix("src/")


def _is_apart(path: str) -> bool:
    """Whether a file in a package need not be installed."""
    return is_test(path) or PurePosixPath(path).suffix in (".md", ".rst")


def _report(result: SandboxResult) -> dict[str, Any] | None:
    try:
        data = json.loads(result.files[inside.REPORT])
    except (KeyError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _ended(report: Mapping[str, Any], *keys: str) -> tuple[int | None, str]:
    """The exit code and the output of one step of the report, which may hold anything."""
    found: Any = report
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if not isinstance(found, dict):
        return 1, ""
    code = found.get("code")
    return (code if isinstance(code, int) else None), str(found.get("output", ""))


def _why(install: tuple[int | None, str]) -> str:
    """The line of pip's output that says most: the backend's own error, else pip's."""
    if install[0] is None:
        return f"the installation does not end within {_INSTALL_SECONDS:g} s"
    lines = [line.strip() for line in install[1].splitlines() if line.strip()]
    own = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    pips = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (own or pips or lines or ["pip failed"])[-1][:300]


def _lacks(output: str, absent: set[str]) -> bool:
    """Whether something failed for want of a package that cannot be installed here."""
    missing = _MISSING.findall(output)
    return bool(missing and absent) and DeclaredImports(absent).provides(missing[-1])


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it says nothing"
