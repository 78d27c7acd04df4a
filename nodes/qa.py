"""QA: conformance, temporary tests written from the contract and the requirements, and the repository's own tests.

Findings become issue records with the likely file at fault (CodeTeam, 3.2.5).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.models.extraction import file_content
from engine.node import node
from engine.prompts import render
from nodes.briefs import brief
from nodes.conformance import violations
from nodes.contract import Contract, is_source, is_test, module_name
from nodes.develop import fragment, outline, requirement_spans
from nodes.localise import category, suspects
from nodes.testing import Failure, TestRun, run_own_tests, run_qa_test

_PROMPTS = Path(__file__).parent / "prompts"
_MISMATCHES = ("interface", "import")

Issue = dict[str, Any]


@node(
    reads=("contract", "document", "head", "tasks", "pending", "files", "qa_round"),
    optional=("tests",),
    writes=("issues", "tests", "qa_round", "rounds"),
    role="qa",
    calls="1 per source file of the wave",
)
async def validate(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Validate what the last wave wrote; with nothing pending, the whole repository.

    Files are checked against the contract first; only those that keep it get tests. All temporary tests written so far
    run again, each in a sandbox of its own, and once every file is there the repository's own tests too.
    """
    look = _Look.at(inputs, ctx)
    issues = [*await _missing_requirements(look), *look.conformance()]
    broken = {path for issue in issues for path in issue["repair"]}
    tests = await _tests(look, broken)
    runs = await _run_tests(look, {path: tests[path] for path in tests if not look.relies_on(path, broken)})
    tests = await _reread(look, tests, runs)
    issues += [look.issue(failure, path) for path, run in runs.items() for failure in run.failures]
    own = await _own_tests(look) if not look.pending and not broken else None
    if own is not None:
        issues += look.own_issues(own, issues)
    found = _unique(issues)
    done = [run for run in (*runs.values(), own) if run is not None]
    return {
        "issues": found,
        "tests": {path: _count(test, runs.get(path)) for path, test in tests.items()},
        "qa_round": look.round if found else look.round - 1,
        "rounds": [_round(look, found, done)],
    }


@dataclass
class _Look:
    """What a validation looks at."""

    contract: Contract
    document: Mapping[str, Any]
    wave: list[str]
    pending: set[str]
    files: Mapping[str, Any]
    tests: dict[str, Any]
    round: int
    ctx: Context
    repository: dict[str, bytes] = field(default_factory=dict)

    @staticmethod
    def at(inputs: Mapping[str, Any], ctx: Context) -> _Look:
        return _Look(
            contract=Contract(inputs["contract"]),
            document=inputs["document"],
            wave=[task["path"] for task in inputs["tasks"]],
            pending=set(inputs["pending"]),
            files=inputs["files"],
            tests=dict(inputs.get("tests", {})),
            round=inputs["qa_round"] + 1,
            ctx=ctx,
            repository=ctx.workspace.files(inputs["head"]),
        )

    def text(self, path: str) -> str:
        return self.repository[path].decode("utf-8", "replace")

    def conformance(self) -> list[Issue]:
        """An issue per violation of the contract, over all files written so far."""
        found = []
        for path in self.contract.order:
            if path in self.pending:
                continue
            entry = self.contract.files[path]
            for kind, message in violations(entry, self.text(path)):
                found.append(self._record(kind, message, [path], path if is_test(path) else None, ""))
            for place in self.files[path]["placeholders"]:
                found.append(self._record("placeholder", f"{path}: {place}", [path], None, ""))
        return found

    def relies_on(self, path: str, broken: set[str]) -> bool:
        """Whether a file is, or needs, directly or not, one of `broken` or of those that are still pending."""
        seen, open_ = set(), [path]
        while open_:
            one = open_.pop()
            if one in broken or one in self.pending:
                return True
            if one not in seen:
                seen.add(one)
                open_ += self.contract.files[one]["depends_on"]
        return False

    def issue(self, failure: Failure, test: str) -> Issue:
        """The issue for a failing test about the file `test`."""
        found = suspects(failure, test, self.contract)
        message = f"{failure.name}: {failure.message}"
        return self._record(category(failure), message, found, test, failure.detail)

    def own_issues(self, own: TestRun, known: Sequence[Issue]) -> list[Issue]:
        """Issues of the repository's own tests. Where QA found nothing else, a wrong value is the test's own fault."""
        blamed = {path for issue in known for path in issue["repair"]}
        issues = []
        for failure in own.failures:
            frames = [path for path in self.contract.files if path in failure.detail and is_test(path)]
            target = frames[0] if frames else next((path for path in self.contract.files if is_test(path)), "")
            if not target:
                continue
            needed = set(self.contract.files[target]["depends_on"])
            issue = self.issue(failure, target)
            if needed & blamed and issue["category"] == "assertion":
                continue  # its cause is being repaired already
            issues.append(issue)
        return issues

    def _record(self, kind: str, message: str, found: Sequence[str], test: str | None, detail: str) -> Issue:
        head = message.partition("\n")[0][:400]
        identity = f"{kind}|{test}|{found[0]}|{re.sub(r'0x[0-9a-f]+|[0-9]+', '#', head)}"
        return {
            "id": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:10],
            "category": kind,
            "message": head,
            "suspected": list(found),
            "repair": list(found[:1]),
            "test": test,
            "detail": detail,
            "round": self.round,
        }


async def _missing_requirements(look: _Look) -> list[Issue]:
    failed = await look.ctx.require(look.contract.data["dependencies"])
    manifest = next((path for path in ("pyproject.toml", "setup.py", "requirements.txt") if path in look.files), None)
    if manifest is None:
        return []
    return [
        look._record("dependency", f"{name} cannot be installed from a wheel: {why}", [manifest], None, "")
        for name, why in failed.items()
    ]


async def _tests(look: _Look, broken: set[str]) -> dict[str, Any]:
    """Temporary tests by target: those there are, and new ones for files of this wave that have none."""
    wanted = [
        path
        for path in look.wave
        if path not in look.tests
        and is_source(path)
        and look.contract.files[path]["public_api"]
        and not look.relies_on(path, broken)
    ]
    sources = await asyncio.gather(*(_write_test(look, path) for path in wanted))
    return look.tests | {path: {"source": source, "failures": 0} for path, source in zip(wanted, sources, strict=True)}


async def _write_test(look: _Look, path: str) -> str:
    messages = render(_PROMPTS / "qa.md", **_slots(look, path))
    answer = await look.ctx.ask(messages, step=path)
    return file_content(answer.text, f"test_{_slug(path)}.py")


def _slots(look: _Look, path: str) -> dict[str, str]:
    entry = look.contract.files[path]
    briefs = [brief(look.contract, one, look.files.get(one), look.ctx.workspace) for one in entry["depends_on"]]
    return {
        "path": path,
        "module": module_name(path),
        "tree": outline(look.contract),
        "fragment": fragment(entry),
        "requirements": requirement_spans(look.document, entry),
        "briefs": "\n\n".join(briefs) or "(it depends on no file)",
    }


async def _run_tests(look: _Look, tests: Mapping[str, Any]) -> dict[str, TestRun]:
    paths = look.contract.sorted(tests)
    runs = await asyncio.gather(
        *(run_qa_test(tests[path]["source"], _slug(path), look.repository, look.ctx) for path in paths)
    )
    return dict(zip(paths, runs, strict=True))


async def _reread(look: _Look, tests: dict[str, Any], runs: dict[str, TestRun]) -> dict[str, Any]:
    """A test that failed the validation before and fails again is read again before its file is blamed again.

    A corrected test is run at once; its result takes the place of the old one in `runs`.
    """
    tests = dict(tests)
    for path, run in runs.items():
        if not run.failures or not tests[path]["failures"]:
            continue
        failures = "\n\n".join(f"{one.name}: {one.message}\n{one.detail}" for one in run.failures)
        messages = render(
            _PROMPTS / "qa_reread.md", **_slots(look, path), test=tests[path]["source"], failures=failures
        )
        answer = await look.ctx.ask(messages, step=f"{path}:reread")
        source = file_content(answer.text, f"test_{_slug(path)}.py")
        if source.strip() and source != tests[path]["source"]:
            tests[path] = {"source": source, "failures": 0}
            runs[path] = await run_qa_test(source, _slug(path), look.repository, look.ctx)
            look.ctx.event("note", text=f"the test of {path} was corrected: it contradicted the requirements")
    return tests


async def _own_tests(look: _Look) -> TestRun | None:
    if not any(is_test(path) for path in look.contract.files):
        return None
    return await run_own_tests(look.repository, look.ctx)


def _count(test: Mapping[str, Any], run: TestRun | None) -> dict[str, Any]:
    if run is None:
        return dict(test)
    return {"source": test["source"], "failures": test["failures"] + 1 if run.failures else 0}


def _unique(issues: Sequence[Issue]) -> list[Issue]:
    return list({issue["id"]: issue for issue in issues}.values())


def _round(look: _Look, issues: Sequence[Issue], runs: Sequence[TestRun]) -> dict[str, Any]:
    ran, passed = sum(run.run for run in runs), sum(run.passed for run in runs)
    what = f"{len(look.wave)} files, {passed} of {ran} tests passed, {len(issues)} issues"
    look.ctx.event("note", text=what)
    for issue in issues:
        look.ctx.event("note", text=f"{issue['category']} in {issue['repair'][0]}: {issue['message'][:120]}")
    return {
        "validation": look.ctx.visit,
        "round": look.round if issues else look.round - 1,
        "files": look.wave,
        "tests_run": ran,
        "tests_passed": passed,
        "issues": list(issues),
        "mismatches": sum(issue["category"] in _MISMATCHES for issue in issues),
    }


def _slug(path: str) -> str:
    return re.sub(r"\W+", "_", path.removesuffix(".py"))
