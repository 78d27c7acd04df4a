"""Runs what a node gives to its sandbox as plain subprocesses: for programs that the tests wrote themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.sandbox.base import SandboxResult


def run_here(command: Sequence[str], files: Mapping[str, bytes]) -> SandboxResult:
    """Run a Python command over files in a fresh folder; every file that is there afterwards is collected."""
    assert command[0] == "python", command
    with tempfile.TemporaryDirectory(prefix="flowrun-test-") as name:
        folder = Path(name)
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        done = subprocess.run(
            [sys.executable, *command[1:]],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        left = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    sizes = len(done.stdout), len(done.stderr)
    return SandboxResult("exit", done.returncode, done.stdout, done.stderr, *sizes, 0.1, files=left)
