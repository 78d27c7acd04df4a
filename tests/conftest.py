"""What several areas' tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import sandboxes
from tests.support.command import ROOT, flowrun

CORPUS = "./.corpus/demo"  # as `make corpus` builds it
INPUT = ("--input", "requirements=examples/cronwhen/README.md", "--set", f"rag.corpus={CORPUS}")
DEMO = ("flows/codeteam.yaml", *INPUT)


@pytest.fixture(scope="session")
def corpus() -> None:
    """The design references that the example's runs were recorded with are there."""
    done = flowrun("corpus", "build", CORPUS, "@examples/corpus.txt", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def demo(corpus: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the demo's run, from its recording, and what was printed. Nothing may change it."""
    runs = tmp_path_factory.mktemp("demo")
    recording = ROOT / "examples" / "cronwhen" / "codeteam.jsonl"
    done = flowrun(*DEMO, "--model", f"replay:{recording}", "--runs", runs, PYTHONHASHSEED="1")
    assert done.returncode == 0, done.stdout + done.stderr
    return next(path.parent for path in runs.glob("*/run.json")), done.stdout


def pytest_sessionfinish() -> None:
    sandboxes.close_all()
