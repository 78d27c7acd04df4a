"""Runs tests over the repository in the sandbox and reads what pytest found."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass

from engine.context import Context
from engine.sandbox.base import SandboxResult

_REPORT = ".flowrun-report.xml"
_SETTINGS = ".flowrun-pytest.ini"
_PYTEST = ("python", "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", f"--junitxml={_REPORT}")
_MOST_DETAIL = 3000  # characters of a traceback that are kept


@dataclass(frozen=True)
class Failure:
    """One failing test: its name, the error's type, its message in one line, and the traceback."""

    name: str
    error: str
    message: str
    detail: str


@dataclass(frozen=True)
class TestRun:
    """What a test run showed. `ended` is how the sandbox ended it; a run without a test is no pass."""

    __test__ = False

    run: int
    passed: int
    failures: tuple[Failure, ...]
    ended: str
    output: str


async def run_qa_test(source: str, name: str, repository: Mapping[str, bytes], ctx: Context) -> TestRun:
    """Run one temporary test file beside a copy of the repository, without the repository's own pytest settings."""
    path = f".flowrun-qa/test_{name}.py"
    files = {**repository, path: source.encode(), _SETTINGS: b"[pytest]\npythonpath = . src\n"}
    return _read(await ctx.run([*_PYTEST, "-c", _SETTINGS, "--rootdir=.", path], files, collect=[_REPORT]))


async def run_own_tests(repository: Mapping[str, bytes], ctx: Context) -> TestRun:
    """Run the repository's own tests as its user would, from its root."""
    return _read(await ctx.run([*_PYTEST, "-o", "pythonpath=. src"], repository, collect=[_REPORT]))


def _read(result: SandboxResult) -> TestRun:
    output = (result.stdout + "\n" + result.stderr).strip()
    report = result.files.get(_REPORT)
    if result.ended != "exit" or report is None:
        return TestRun(
            0, 0, (Failure("pytest", result.ended, _why(result), output[-_MOST_DETAIL:]),), result.ended, output
        )
    cases = list(_cases(report))
    failures = tuple(failure for failure in cases if failure is not None)
    if not cases:
        failures = (Failure("pytest", "no_tests", "no test was executed", output[-_MOST_DETAIL:]),)
    return TestRun(len(cases), len(cases) - len(failures) if cases else 0, failures, "exit", output)


def _why(result: SandboxResult) -> str:
    if result.ended == "exit":
        return f"pytest ended with exit code {result.exit_code} and no report"
    return f"the test run was ended: {result.ended}"


def _cases(report: bytes) -> list[Failure | None]:
    """A failure, or None for a pass, for each executed test of a JUnit report."""
    if b"<!DOCTYPE" in report or b"<!ENTITY" in report:
        return []
    try:
        root = ET.fromstring(report)  # noqa: S314 - no document type, so no entity to expand
    except ET.ParseError:
        return []
    cases: list[Failure | None] = []
    for case in root.iter("testcase"):
        bad = next((one for one in case if one.tag in ("failure", "error")), None)
        if bad is not None:
            cases.append(_failure(case.get("name", "?"), bad.get("message", ""), bad.text or ""))
        elif case.find("skipped") is None:
            cases.append(None)
    return cases


_MARKS = re.compile(r"^[ E]*[~^]+[ \t]*\n", re.MULTILINE)
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_ERROR_TYPE = re.compile(r"^E\s+([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning))\b", re.MULTILINE)


def _failure(name: str, message: str, detail: str) -> Failure:
    found = _ERROR_TYPE.findall(detail)
    if found:
        error = found[-1].rpartition(".")[2]
    else:
        error = "AssertionError" if "assert" in message or "assert" in detail else "Exception"
    first = next((line for line in message.splitlines() if line.strip()), "") or error
    return Failure(name, error, _stable(first)[:300], _stable(detail).strip()[-_MOST_DETAIL:])


def _stable(text: str) -> str:
    """Without what differs between Python versions and runs: marks under a line of code, addresses."""
    return _ADDRESS.sub("0x...", _MARKS.sub("", text))
