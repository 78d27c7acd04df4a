"""Delivers the repository and says what it is worth (CodeTeam, 3.2.5, termination)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.context import Context
from engine.errors import FlowrunError
from engine.node import node
from nodes.contract import Contract, is_test
from nodes.testing import TestRun, run_own_tests


@node(
    optional=("contract", "head", "verdict", "files", "issues", "pending", "qa_round", "rounds"),
    writes=("delivery",),
    params=("qa.max_rounds",),
)
async def finish(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Check main out, run the repository's own tests once more, and conclude the run.

    A run that a limit ended before there was a contract delivers nothing, and says so.
    """
    if "head" not in inputs:
        ctx.conclude(False, ctx.ended or "no contract was made", {"repository": "nothing was written"})
        return {}
    contract, head = Contract(inputs["contract"]), inputs["head"]
    ctx.workspace.set_branch("main", head)
    ctx.workspace.checkout("main")
    own = await _own_tests(contract, head, ctx)
    issues, pending = inputs.get("issues", []), inputs.get("pending", list(contract.files))
    failed = own.run != own.passed or (own.run == 0 and any(is_test(path) for path in contract.files))
    reason = _reason(ctx, issues, pending, inputs.get("qa_round", 0), failed)
    ok = not issues and not pending and not failed and ctx.ended is None
    ctx.conclude(ok, reason, _summary(inputs, contract, own, issues, pending))
    delivery = {
        "commit": head,
        "files": len(contract.files) - len(pending),
        "open_issues": len(issues),
        "pending": list(pending),
        "own_tests": {"run": own.run, "passed": own.passed, "ended": own.ended},
    }
    return {"delivery": delivery}


async def _own_tests(contract: Contract, head: str, ctx: Context) -> TestRun:
    if not any(is_test(path) for path in contract.files):
        return TestRun(0, 0, (), "exit", "")
    try:
        return await run_own_tests(ctx.workspace.files(head), ctx)
    except FlowrunError as error:
        return TestRun(0, 0, (), str(error), "")


def _reason(ctx: Context, issues: Sequence[Any], pending: Sequence[str], rounds: int, failed: bool) -> str:
    if ctx.ended:
        return f"{ctx.ended}; what there is was delivered"
    if issues and rounds > ctx.params["qa"]["max_rounds"]:
        return f"the limit of {ctx.params['qa']['max_rounds']} QA rounds was reached with {len(issues)} open issues"
    if issues:
        return f"{len(issues)} issues are open"
    if pending:
        return f"{len(pending)} files were never written"
    return "the repository's own tests fail" if failed else "a whole validation passed"


def _summary(
    inputs: Mapping[str, Any], contract: Contract, own: TestRun, issues: Sequence[Any], pending: Sequence[str]
) -> dict[str, str]:
    rounds = inputs.get("rounds", [])
    validations = [f"{one['tests_passed']}/{one['tests_run']}" for one in rounds]
    rounds_found = inputs.get("qa_round", 0)
    summary = {
        "files": f"{len(contract.files) - len(pending)} of {len(contract.files)} written",
        "developers": _team(contract),
        "QA": f"{len(rounds)} validations, {rounds_found} of them with findings",
        "tests passed": ", ".join(validations) or "none",
        "own tests": f"{own.passed} of {own.run} passed" if own.ended == "exit" else f"ended: {own.ended}",
    }
    if "verdict" in inputs:
        summary = {"sketch": inputs["verdict"]["why"], **summary}
    if issues:
        summary["open issues"] = "\n".join(f"{one['repair'][0]}: {one['message']}" for one in issues[:10])
    return summary


def _team(contract: Contract) -> str:
    counts = dict.fromkeys(contract.data["developers"], 0)
    for entry in contract.files.values():
        counts[entry["owner"]] += 1
    return f"{len(counts)} ({', '.join(f'{owner}: {count} files' for owner, count in counts.items())})"
