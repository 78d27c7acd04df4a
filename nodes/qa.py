"""QA looks at a wave: what keeps the contract, what the tests found, which files are at fault (CodeTeam, 3.2.6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine.context import Context
from engine.node import node
from nodes.conformance import conformance
from nodes.contract import Contract
from nodes.failure_class import failure_class
from nodes.issues import Issue, IssueBook, unique
from nodes.localise import category
from nodes.schedule import PACKAGING, ROUND_ROBIN
from nodes.testing import Failure
from nodes.tracing import Traced, trace_failures

MISMATCHES = ("interface", "import")
_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


@node(
    reads=("contract", "head", "tasks", "files", "pending", "untested", "runs", "unwritten", "issues", "qa_round"),
    optional=("tests", "rounds"),
    writes=("issues", "repairs", "untested", "qa_round", "rounds", "validated"),
    params=("allocation.mode",),
)
async def collect_findings(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Issue records of the wave, the dependents that must follow a changed interface, and what is still untested.

    All files written so far are checked against the contract; what the tests of the wave found is traced to the files
    at fault. A validation of the whole repository without a finding makes its commit the validated one.
    """
    wave = _Wave.of(inputs, ctx)
    missing = await ctx.require(wave.contract.data["dependencies"])
    found = unique([*wave.unwritten(), *wave.missing(missing), *wave.violations(), *wave.failures()])
    carried = [] if wave.whole else wave.carried({issue["id"] for issue in found})
    followers = [] if ctx.params["allocation"]["mode"] == ROUND_ROBIN else wave.followers(found)
    qa_round = wave.book.number if found else wave.book.number - 1
    issues = [*found, *carried]
    _tell(wave, issues, ctx)
    return {
        "issues": issues,
        "repairs": followers,
        "untested": wave.untested(found),
        "qa_round": qa_round,
        "rounds": [wave.record(ctx.visit, qa_round, issues, [one["path"] for one in followers])],
        "validated": inputs["head"] if wave.whole and not issues and not wave.doubted() else "",
    }


@dataclass(frozen=True, eq=False)
class _Wave:
    """What a wave did, and the repository after it."""

    contract: Contract
    book: IssueBook
    inputs: Mapping[str, Any]
    sources: Mapping[str, str]  # of the files that were written

    @staticmethod
    def of(inputs: Mapping[str, Any], ctx: Context) -> _Wave:
        book = IssueBook.after(inputs.get("rounds", []), inputs["qa_round"] + 1)
        files = ctx.workspace.files(inputs["head"])
        written = [path for path in files if path in inputs["files"]]
        sources = {path: files[path].decode("utf-8", "replace") for path in written}
        return _Wave(Contract(inputs["contract"]), book, inputs, sources)

    @property
    def whole(self) -> bool:
        """Whether it validated the whole repository."""
        return any(task["key"] == PACKAGING for task in self.inputs["tasks"])

    @property
    def written(self) -> list[str]:
        """What developers wrote."""
        mine = (one["path"] for one in self.inputs["tasks"] if one["key"] == one["path"])
        return [path for path in mine if path not in self.inputs["unwritten"]]

    def unwritten(self) -> list[Issue]:
        why = self.inputs["unwritten"]
        return [self.book.issue("unwritten", f"{path} was not written: {why[path]}", [path]) for path in why]

    def missing(self, failed: Mapping[str, str]) -> list[Issue]:
        """What the contract needs and cannot be installed."""
        manifest = next((path for path in _MANIFESTS if path in self.inputs["files"]), None)
        if manifest is None:
            return []
        text = "{} cannot be installed from a wheel: {}"
        return [self.book.issue("dependency", text.format(*one), [manifest]) for one in failed.items()]

    def violations(self) -> list[Issue]:
        """An issue per violation of the contract, over all files written so far."""
        written = {path: self.sources[path] for path in self.contract.order if path in self.inputs["files"]}
        found = [self.book.issue(one.kind, one.message, [one.path]) for one in conformance(self.contract, written)]
        for path in written:
            for place in self.inputs["files"][path]["placeholders"]:
                found.append(self.book.issue("placeholder", f"{path}: {place}", [path]))
        return found

    def failures(self) -> list[Issue]:
        """An issue per failing test.

        No issue is one that only fails until a pending file is there, a wrong value of the repository's own test that
        comes from a file which is repaired anyway, or a temporary test that asks for what nobody promised: QA reads
        that again first.
        """
        packaging = self.inputs["runs"].get(PACKAGING, {"failures": []})["failures"]
        blamed = {path for one in self.traced if one.failure.test for path in one.found.repair}
        pending = set(self.inputs["pending"])
        issues = [
            self._issue(one)
            for one in self.traced
            if not (one.doubted or pending.issuperset(one.repair) or self._follows(one, blamed))
        ]
        return [*(self._packaging(Failure(**one)) for one in packaging), *issues]

    def doubted(self) -> set[str]:
        """Files with a temporary test that is to be read again before anybody is blamed."""
        return {one.target for one in self.traced if one.doubted}

    def carried(self, found: set[str]) -> list[Issue]:
        """Issues that nobody worked on in this wave: they stay open."""
        tried = {issue["id"] for task in self.inputs["tasks"] for issue in task["issues"]}
        return [issue for issue in self.inputs["issues"] if issue["id"] not in tried | found]

    def followers(self, found: Sequence[Issue]) -> list[dict[str, Any]]:
        """Files that use a name which a repair changed or removed: they go back to their owners (3.2.5)."""
        tasks = {one["path"]: one for one in self.inputs["tasks"] if one["kind"] in ("repair", "adapt")}
        notes: dict[str, list[Issue]] = {}
        for path in self.written:
            record = self.inputs["files"][path]
            if path not in tasks or record["compatibility"] != "breaking":
                continue
            names = {one[1:].rpartition(".")[2] for one in record["symbols"] if one[0] in "-~"}
            text = f"{path} changed what it exports ({', '.join(record['symbols'])}): follow it where this file uses it"
            for user in self.contract.dependents[path]:
                knew = user in tasks and path in tasks[user]["depends_on"]
                if user in self.inputs["files"] and not knew and any(name in self.sources[user] for name in names):
                    notes.setdefault(user, []).append(self.book.issue("interface", text, [user]))
        for issue in found:
            for path in issue["repair"]:
                notes.pop(path, None)  # it goes back with that finding, and sees the new brief
        return [{"path": path, "kind": "adapt", "issues": notes[path]} for path in self.contract.sorted(notes)]

    def untested(self, found: Sequence[Issue]) -> list[str]:
        """Files that were written, or whose tests failed, since they were last tested."""
        tested = {one["path"] for one in self.inputs["tasks"] if one["kind"] == "test"}
        blamed_before = {issue["target"] for issue in self.inputs["issues"]}
        left = {issue["target"] for issue in found} | set(self.written) | self.doubted()
        left |= ({*self.inputs["untested"]} | blamed_before) - tested
        return [path for path in self.contract.order if path in left and self.contract.is_testable(path)]

    def record(
        self, validation: int, qa_round: int, issues: Sequence[Issue], requeued: Sequence[str]
    ) -> dict[str, Any]:
        """What is kept of the validation, with its diagnostics."""
        runs = self.inputs["runs"]
        failures = [Failure(**one) for run in runs.values() for one in run["failures"]]
        files = self.inputs["files"]
        return {
            "validation": validation,
            "round": qa_round,
            "written": self.written,
            "whole": self.whole,
            "tests_run": sum(run["run"] for run in runs.values()),
            "tests_passed": sum(run["passed"] for run in runs.values()),
            "issues": list(issues),
            "mismatches": sum(issue["category"] in MISMATCHES for issue in issues),
            "failure_classes": dict(sorted(Counter(map(failure_class, failures)).items())),
            "requeued": list(requeued),
            "brief_requests": sum(files[path]["brief_requests"] for path in self.written),
            "context_tokens": [tokens for path in self.written for tokens in files[path]["context_tokens"]],
        }

    @cached_property
    def traced(self) -> list[Traced]:
        """The failing tests with the files at fault."""
        return trace_failures(self.contract, self.inputs["runs"], self.inputs.get("tests", {}), self.sources)

    def _issue(self, one: Traced) -> Issue:
        return self.book.issue(
            category(one.failure),
            f"{one.failure.name}: {one.failure.message}",
            one.found.suspected,
            one.repair,
            target=one.target,
            test=one.test["source"] if one.test else None,
            detail=one.failure.detail,
        )

    def _packaging(self, failure: Failure) -> Issue:
        return self.book.issue("packaging", failure.message, [failure.name], detail=failure.detail)

    def _follows(self, one: Traced, blamed: set[str]) -> bool:
        """Whether an own test's wrong value comes from a file that is being repaired already."""
        if one.failure.test or category(one.failure) != "assertion" or one.target not in self.contract.files:
            return False
        return self.contract.relies_on(one.target, blamed - {one.target})


def _tell(wave: _Wave, issues: Sequence[Issue], ctx: Context) -> None:
    runs = wave.inputs["runs"].values()
    passed, ran = sum(one["passed"] for one in runs), sum(one["run"] for one in runs)
    ctx.event("note", text=f"written: {len(wave.written)}, tests passed: {passed} of {ran}, issues: {len(issues)}")
    for issue in issues:
        ctx.event("note", text=f"{issue['category']} in {issue['repair'][0]}: {issue['message'][:120]}")
