"""Runs tests over the repository in the sandbox and reads what pytest found."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from engine.context import Context
from engine.sandbox.base import SandboxResult

TEMPORARY = ".flowrun-qa/"  # where temporary tests stand

_REPORT = ".flowrun-report.xml"
_SETTINGS = ".flowrun-pytest.ini"
_PYTEST = (
    *("python", "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"),
    *("-o", "junit_family=xunit1", f"--junitxml={_REPORT}"),  # a report that names each test's file
)
_SUITE = 4  # time limits of a command that a whole test suite may take
_MOST_DETAIL = 3000  # characters of a traceback that are kept


@dataclass(frozen=True)
class Failure:
    """One failing test: its name, the error's type, its message in one line, and the traceback.

    test  which of a file's temporary tests it belongs to, from 1; 0 for the repository's own
    """

    name: str
    error: str
    message: str
    detail: str
    test: int = 0


@dataclass(frozen=True)
class TestRun:
    """What a test run showed. `ended` is how the sandbox ended it; a run without a test is no pass."""

    __test__ = False

    run: int
    passed: int
    failures: tuple[Failure, ...]
    ended: str
    output: str

    def failures_of(self, test: int) -> list[Failure]:
        """The failures of one of a file's temporary tests; a failure of the whole run is one of each."""
        return [one for one in self.failures if one.test in (test, 0)]


def temporary_test(path: str, number: int) -> str:
    """Where the `number`-th temporary test of a file stands while it runs, from 1."""
    return f"{TEMPORARY}test_{re.sub(r'[^a-zA-Z0-9]+', '_', path.removesuffix('.py'))}_{number}.py"


async def run_qa_tests(sources: Mapping[str, str], repository: Mapping[str, bytes], ctx: Context) -> TestRun:
    """Run temporary test files (path -> source) beside a copy of the repository, without its own pytest settings."""
    tests = {path: source.encode("utf-8", "replace") for path, source in sources.items()}
    files = {**repository, **tests, _SETTINGS: b"[pytest]\npythonpath = . src\n"}
    command = [*_PYTEST, "-c", _SETTINGS, "--rootdir=.", *tests]
    return _read(await ctx.run(command, files, collect=[_REPORT]), list(tests))


async def run_own_tests(repository: Mapping[str, bytes], ctx: Context) -> TestRun:
    """Run the repository's own tests as its user would, from its root; all of them may take longer than one command."""
    seconds = _SUITE * ctx.time_limit
    command = [*_PYTEST, "-o", "pythonpath=. src"]
    return _read(await ctx.run(command, repository, collect=[_REPORT], seconds=seconds))


def _read(result: SandboxResult, tests: Sequence[str] = ()) -> TestRun:
    output = (result.stdout + "\n" + result.stderr).strip()
    report = result.files.get(_REPORT)
    if result.ended != "exit" or report is None:
        return TestRun(
            0, 0, (Failure("pytest", result.ended, _why(result), output[-_MOST_DETAIL:]),), result.ended, output
        )
    cases = list(_cases(report, tests))
    failures = tuple(failure for failure in cases if failure is not None)
    if not cases:
        failures = (Failure("pytest", "no_tests", "no test was executed", output[-_MOST_DETAIL:]),)
    return TestRun(len(cases), len(cases) - len(failures) if cases else 0, failures, "exit", output)


def _why(result: SandboxResult) -> str:
    if result.ended == "exit":
        return f"pytest ended with exit code {result.exit_code} and no report"
    return f"the test run was ended: {result.ended}"


def _cases(report: bytes, tests: Sequence[str]) -> list[Failure | None]:
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
            failure = _failure(case.get("name", "?"), bad.get("message", ""), bad.text or "")
            cases.append(replace(failure, test=_number(case, tests)))
        elif case.find("skipped") is None:
            cases.append(None)
    return cases


def _number(case: ET.Element, tests: Sequence[str]) -> int:
    """Which of the temporary tests a case belongs to: by its file, or where that is not said by its module."""
    file, words = case.get("file", ""), f"{case.get('classname', '')} {case.get('name', '')}"
    for number, path in enumerate(tests, 1):
        if file == path or re.search(rf"\b{PurePosixPath(path).stem}\b", words):
            return number
    return 0


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
