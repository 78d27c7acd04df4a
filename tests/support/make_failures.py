"""What pytest prints for each made fault of tests/nodes/localisation_cases.py, kept beside it.

Run it from the root after a change of the cases: `python -m tests.support.make_failures`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sysconfig
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodes.testing import TEMPORARY, Failure, run_own_tests, run_qa_tests
from tests.nodes.localisation_cases import CASES, Case
from tests.support.forked_pytest import ForkedPytest

STORED = Path(__file__).parents[1] / "nodes" / "localisation_failures.json"


def digest(case: Case) -> str:
    """Of what the case's failure depends on."""
    return hashlib.sha256(json.dumps([case.sources, case.test]).encode()).hexdigest()[:16]


def stored() -> dict[str, Any]:
    """The kept failures by the case's name, each with the digest of its case."""
    return dict(json.loads(STORED.read_text("utf-8")))


def first_failure(case: Case, pytest: ForkedPytest) -> Failure:
    """Run pytest over the made fault."""
    repository = {path: source.encode() for path, source in case.sources.items()}
    context = pytest.as_context(case.seconds)
    own = not case.test
    tests = {f"{TEMPORARY}test_x.py": case.test}
    run = asyncio.run(run_own_tests(repository, context) if own else run_qa_tests(tests, repository, context))
    return run.failures[0]


def main() -> None:
    pytest = ForkedPytest()
    found = {case.name: {"digest": digest(case), **asdict(first_failure(case, pytest))} for case in CASES}
    pytest.close()
    text = json.dumps(found, indent=1, ensure_ascii=False).replace(sysconfig.get_path("purelib"), "/usr/lib")
    text = text.replace(sysconfig.get_path("stdlib"), "/usr/lib/python3")
    STORED.write_text(re.sub(re.escape(tempfile.gettempdir()) + r"/case-\w+", "/case", text) + "\n", "utf-8")


if __name__ == "__main__":
    main()
