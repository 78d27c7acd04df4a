"""Runs the command line as a user would, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def flowrun(*arguments: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `flowrun` to its end and return what it said."""
    command = [sys.executable, "-m", "engine.cli.main", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=clean_environment(**environment), capture_output=True, text=True, timeout=240
    )


def start_flowrun(*arguments: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.Popen[str]:
    """Start `flowrun` and return the running process."""
    command = [sys.executable, "-m", "engine.cli.main", *map(str, arguments)]
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=clean_environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without keys, model settings and corpora, with flowrun importable from anywhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI")}
    no_corpora = {"FLOWRUN_CORPORA": str(ROOT / "no-corpora")}  # not those of who runs the tests
    return {**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **no_corpora, **more}


def git(repository: Path, *arguments: str) -> str:
    """What the git program says about a repository."""
    settings = ["-c", f"safe.directory={repository}"]
    done = subprocess.run(["git", *settings, *arguments], cwd=repository, capture_output=True, text=True, check=True)
    return done.stdout
