"""Delivers the repository and says what it is worth (CodeTeam, 3.2.6, termination)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.context import Context
from engine.node import node
from nodes.contract import Contract
from nodes.diagnostics import coordination_figures, planning_figures, size_figures
from nodes.schedule import OWN_TESTS

REPORT = "open-issues.md"


@node(
    optional=("contract", "head", "verdict", "issues", "pending", "qa_round", "rounds", "runs", "validated"),
    writes=("delivery",),
    params=("qa.max_rounds", "reference"),
)
async def finish(inputs: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    """Check main out, report the open issues, and conclude the run: it is good if the whole repository was validated.

    A run that a limit ended before there was a contract delivers nothing, and says so.
    """
    if "head" not in inputs:
        ctx.conclude(False, ctx.ended or "no contract was made", {"repository": "nothing was written"})
        return {}
    contract, head = Contract(inputs["contract"]), inputs["head"]
    ctx.workspace.set_branch("main", head)
    ctx.workspace.checkout("main")
    issues, pending = inputs.get("issues", []), inputs.get("pending", list(contract.files))
    validated = inputs.get("validated") == head
    figures = {
        **planning_figures(inputs.get("verdict")),
        **coordination_figures(inputs.get("rounds", [])),
        **size_figures(ctx.workspace.files(head), ctx.params["reference"]),
        "open_issues": len(issues),
    }
    summary = _summary(inputs, contract, issues, pending, figures)
    if issues:
        summary["report"] = ctx.report(REPORT, report(issues, contract))
    ctx.conclude(validated and ctx.ended is None, _reason(ctx, inputs, validated), summary, figures)
    written = len(contract.files) - len(pending)
    delivery = {"commit": head, "files": written, "open_issues": len(issues), "pending": list(pending)}
    return {"delivery": {**delivery, "diagnostics": figures}}


def report(issues: Sequence[Mapping[str, Any]], contract: Contract) -> str:
    """The open issues in Markdown, a section each."""
    parts = ["# Open issues", ""]
    for issue in issues:
        path = issue["repair"][0]
        fence = "`" * max(3, 1 + max((len(run) for run in _backticks(issue["detail"])), default=0))
        parts += [f"## {path}: {issue['category']}", "", issue["message"], ""]
        parts += [f"- owner: {contract.files[path]['owner']}", f"- suspected: {', '.join(issue['suspected'])}"]
        parts += [f"- found in {issue['seen']} rounds", ""]
        parts += [fence, issue["detail"], fence, ""] if issue["detail"] else []
    return "\n".join(parts)


def _backticks(text: str) -> list[str]:
    return [run for run in "".join(one if one == "`" else " " for one in text).split() if run]


def _reason(ctx: Context, inputs: Mapping[str, Any], validated: bool) -> str:
    issues, pending = inputs.get("issues", []), inputs.get("pending", [])
    most = ctx.params["qa"]["max_rounds"]
    if ctx.ended:
        return f"{ctx.ended}; what there is was delivered"
    if validated:
        return "a whole validation passed"
    if issues and inputs.get("qa_round", 0) > most:
        return f"the limit of {most} QA rounds was reached with {len(issues)} open issues"
    if issues:
        return f"{len(issues)} issues are open"
    return f"{len(pending)} files were never written" if pending else "the repository was never validated as a whole"


def _summary(
    inputs: Mapping[str, Any],
    contract: Contract,
    issues: Sequence[Mapping[str, Any]],
    pending: Sequence[str],
    figures: Mapping[str, Any],
) -> dict[str, str]:
    rounds = inputs.get("rounds", [])
    tested = [f"{one['tests_passed']}/{one['tests_run']}" for one in rounds if one["tests_run"]]
    summary = {
        "files": f"{len(contract.files) - len(pending)} of {len(contract.files)} written",
        "developers": _team(contract),
        "QA": f"{len(rounds)} validations, {figures['qa_rounds']} of them with findings",
        "tests passed": ", ".join(tested) or "none",
        "own tests": _own_tests(inputs.get("runs", {}).get(OWN_TESTS)),
        "context": f"{figures['context_median']:,} tokens in the median of a developer's calls",
    }
    if "verdict" in inputs:
        summary = {"sketch": inputs["verdict"]["why"], **summary}
    if issues:
        summary["open issues"] = "\n".join(f"{one['repair'][0]}: {one['message']}" for one in issues[:10])
    return summary


def _own_tests(run: Mapping[str, Any] | None) -> str:
    return "not run on what is delivered" if run is None else f"{run['passed']} of {run['run']} passed"


def _team(contract: Contract) -> str:
    counts = dict.fromkeys(contract.data["developers"], 0)
    for entry in contract.files.values():
        counts[entry["owner"]] += 1
    return f"{len(counts)} ({', '.join(f'{owner}: {count} files' for owner, count in counts.items())})"
