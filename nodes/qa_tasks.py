"""QA's tasks: temporary tests of a file, written from the contract and the requirements, and the whole repository.

The code is never shown to QA, and what QA writes never enters the repository (CodeTeam, 3.2.6).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.context import Context
from engine.errors import ModelError, ReplayMiss
from engine.models.base import Answer, Message
from engine.models.extraction import file_content
from engine.node import node
from engine.prompts import render
from nodes.briefs import brief
from nodes.compact import Prompt, ask_within
from nodes.contract import Contract, is_test, module_name
from nodes.developer_prompt import CUTS, fragment, requirement_spans
from nodes.packaging_check import check_packaging
from nodes.schedule import PACKAGING
from nodes.testing import TestRun, run_own_tests, run_qa_tests, temporary_test

_PROMPTS = Path(__file__).parent / "prompts"

_READS = ("contract", "document", "head", "files")
_PARAMS = ("git.enabled", "context.max_tokens")


@node(reads=_READS, optional=("tests",), writes=("tests", "runs"), params=_PARAMS, role="qa", calls=1)
async def validate_file(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Run a file's temporary tests, a new one too if the file was written since the last one was made.

    A test that fails for the second time in a row is read again before its file is blamed again: it may contradict
    the requirements.
    """
    task, path = inputs["task"], inputs["task"]["path"]
    tester = _Tester(inputs, path, ctx)
    await ctx.require(inputs["contract"]["dependencies"])
    tests = [dict(one) for one in inputs.get("tests", {}).get(path, [])]
    commit = inputs["files"][path]["commit"]
    if (not tests or tests[-1]["commit"] != commit) and (source := await tester.new_test(tests)):
        tests.append({"source": source, "commit": commit, "failures": 0})
    run = await tester.run(tests)
    doubted = [number for number, test in enumerate(tests) if test["failures"] and run.failures_of(number + 1)]
    corrected = [number for number in doubted if await tester.reread(tests, number, run)]
    if corrected:
        ctx.event("note", text=f"{len(corrected)} tests of {path} were corrected: they contradicted the requirements")
        run = await tester.run(tests)
    for number, test in enumerate(tests):
        test["failures"] = test["failures"] + 1 if run.failures_of(number + 1) else 0
    return {"tests": {path: tests}, "runs": {task["key"]: _record(run)}}


@node(reads=("contract", "head"), writes=("runs",))
async def validate_repository(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Run the repository's own tests as its user would, or try whether it can be installed, as the task says."""
    contract, key = Contract(inputs["contract"]), inputs["task"]["key"]
    repository = ctx.workspace.files(inputs["head"])
    await ctx.require(contract.data["dependencies"])
    if key != PACKAGING:
        if not any(is_test(path) for path in contract.files):
            return {"runs": {key: {"run": 0, "passed": 0, "failures": []}}}
        return {"runs": {key: _record(await run_own_tests(repository, ctx))}}
    found = await check_packaging(contract, repository, ctx)
    faults = [one for one in found if one.path]  # the others are what this machine or the contract's tree lacks
    for one in found:
        if not one.path:
            ctx.event("note", text=f"packaging: {one.message}")
    failures = [
        {"name": fault.path, "error": fault.code, "message": fault.message, "detail": fault.detail, "test": 0}
        for fault in faults
    ]
    return {"runs": {key: {"run": 1, "passed": int(not faults), "failures": failures}}}


@dataclass(frozen=True)
class _Tester:
    """QA's view of one file."""

    inputs: Mapping[str, Any]
    path: str
    ctx: Context

    async def new_test(self, tests: Sequence[Mapping[str, Any]]) -> str | None:
        """A test written from what was promised. One that is none is sent back once, then left out."""
        earlier = sorted({name for one in tests for name in names_of_tests(one["source"])})
        slots = {"earlier": "\n".join(f"- {name}" for name in earlier) or "(none)"}
        try:
            answer, messages = await self._ask("qa.md", slots, step=f"test {len(tests) + 1}")
            source = file_content(answer.text, temporary_test(self.path, len(tests) + 1))
            if fault := fault_of_test(source):
                reply = render(_PROMPTS / "qa_again.md", fault=fault)
                said = Message("assistant", answer.text or "(nothing)")
                answer = await self.ctx.ask([*messages, said, *reply], role="qa", step=f"test {len(tests) + 1} again")
                source = file_content(answer.text, temporary_test(self.path, len(tests) + 1))
                fault = fault_of_test(source)
        except ReplayMiss:
            raise
        except ModelError as error:
            fault = str(error)
        if fault:
            self.ctx.event("note", text=f"QA wrote no test of {self.path}: {fault}"[:300])
            return None
        return source

    async def reread(self, tests: list[dict[str, Any]], number: int, run: TestRun) -> bool:
        """Read a failing test again; whether it was corrected."""
        failures = "\n\n".join(f"{one.name}: {one.message}\n{one.detail}" for one in run.failures_of(number + 1))
        slots = {"test": tests[number]["source"], "failures": failures}
        try:
            answer, _ = await self._ask("qa_reread.md", slots, step=f"reread {number + 1}")
        except ReplayMiss:
            raise
        except ModelError:
            return False
        source = file_content(answer.text, temporary_test(self.path, number + 1))
        if source == tests[number]["source"] or fault_of_test(source):
            return False
        tests[number] |= {"source": source, "failures": 0}
        return True

    async def run(self, tests: Sequence[Mapping[str, Any]]) -> TestRun:
        """Run all tests of the file beside the repository as it was when the wave began."""
        if not tests:
            return TestRun(0, 0, (), "exit", "")
        sources = {temporary_test(self.path, number + 1): one["source"] for number, one in enumerate(tests)}
        return await run_qa_tests(sources, self.ctx.workspace.files(self.inputs["head"]), self.ctx)

    async def _ask(self, template: str, slots: Mapping[str, str], step: str) -> tuple[Answer, list[Message]]:
        prompt = Prompt(_PROMPTS / template, {**self._slots(), **slots}, CUTS)
        limit = min(self.ctx.params["context"]["max_tokens"], self.ctx.max_input_tokens)
        return await ask_within(prompt, limit, lambda messages: self.ctx.ask(messages, role="qa", step=step))

    def _slots(self) -> dict[str, str]:
        contract, files = Contract(self.inputs["contract"]), self.inputs["files"]
        entry, git = contract.files[self.path], self.ctx.params["git"]["enabled"]
        briefs = [brief(contract, one, files.get(one), self.ctx.workspace, git=git) for one in entry["depends_on"]]
        return {
            "path": self.path,
            "module": module_name(self.path),
            "tree": "\n".join(contract.data["repo_tree"]),
            "fragment": fragment(entry),
            "requirements": requirement_spans(self.inputs["document"], entry),
            "briefs": "\n\n".join(briefs) or "(it depends on no file)",
        }


def fault_of_test(source: str) -> str | None:
    """Why a text is no test that can be run, or None."""
    try:
        names = names_of_tests(source)
    except (SyntaxError, ValueError) as error:
        return f"it does not parse: {error}"
    return None if names else "it holds no test function"


def names_of_tests(source: str) -> list[str]:
    """The test functions of a file. Raises SyntaxError."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = (one.name for one in ast.walk(ast.parse(source)) if isinstance(one, functions))
    return [name for name in found if name.startswith("test")]


def _record(run: TestRun) -> dict[str, Any]:
    return {"run": run.run, "passed": run.passed, "failures": [asdict(one) for one in run.failures]}
