"""How fast a corpus is built, and in how much memory: a thousand generated repositories."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure, Skipped

_REPOSITORIES, _MODULES, _FUNCTIONS = 1_000, 12, 25
_FUNCTION = 'def {}_{}(a: int, b: str = "") -> None:\n    """Do it."""\n    print(a, b)\n\n\n'
_LOOK = 0.2  # seconds between two looks at the memory


def measure() -> Iterator[Figure | Skipped]:
    """Throughput, what building again costs, and the peak memory of all processes together."""
    with tempfile.TemporaryDirectory() as temporary:
        source, corpus = Path(temporary) / "source", Path(temporary) / "corpus"
        files = _generate(source)
        seconds, peak, said = _build(corpus, source)
        again, _, _ = _build(corpus, source)
    detail = f"{files} files; {said}; built again with nothing new in {again:.1f} s"
    yield Figure("corpus: files read a second while it is built", files / seconds, "files/s", detail=detail)
    if Path("/proc/self/smaps_rollup").exists():
        detail = f"{os.cpu_count()} worker processes among them"
        yield Figure("corpus: peak memory, 1,000 repositories", peak, "MB", 1000, detail)
    else:
        yield Skipped("corpus: peak memory, 1,000 repositories", "this system does not tell it")


def _build(corpus: Path, source: Path) -> tuple[float, float, str]:
    """Seconds, peak memory in MB, and the counts that the command prints."""
    command = [sys.executable, "-m", "engine.cli.main", "corpus", "build", str(corpus), str(source), "--quiet"]
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        watch = _Watch(process.pid)
        watch.start()
        said = process.communicate()[0]
    watch.join()
    if process.returncode:
        raise RuntimeError(f"the build ended with {process.returncode}")
    return time.monotonic() - began, watch.peak, said.partition(",")[0].strip()


class _Watch(threading.Thread):
    """Looks at what the processes of a session take until the first of them is gone; shared pages count once."""

    def __init__(self, session: int) -> None:
        super().__init__(daemon=True)
        self._session, self.peak = session, 0.0

    def run(self) -> None:
        while Path(f"/proc/{self._session}/smaps_rollup").exists():
            self.peak = max(self.peak, sum(map(_memory, self._processes())))
            time.sleep(_LOOK)

    def _processes(self) -> list[str]:
        found = []
        for one in Path("/proc").glob("[0-9]*"):
            try:
                if os.getsid(int(one.name)) == self._session:
                    found.append(one.name)
            except OSError:
                continue
        return found


def _memory(process: str) -> float:
    try:
        told = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
    except OSError:
        return 0.0
    return int(told[1]) / 1024 if told else 0.0


def _generate(source: Path) -> int:
    """Repositories whose READMEs and modules are made of words drawn anew for each; how many files."""
    drawn = random.Random(1)  # noqa: S311 - no secret
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(drawn.choices(letters, k=drawn.randint(3, 9))) for _ in range(5_000)]
    for number in range(_REPOSITORIES):
        name = f"{drawn.choice(words)}{number}x"
        package = source / name / name
        package.mkdir(parents=True)
        prose = "\n\n".join(" ".join(drawn.choices(words, k=40)).capitalize() + "." for _ in range(12))
        (source / name / "README.md").write_text(f"# {name}\n\n{prose}\n")
        (source / name / "pyproject.toml").write_text(f'[project]\nname = "{name}"\nversion = "1.0"\n')
        for _ in range(_MODULES):
            functions = (_FUNCTION.format(drawn.choice(words), index) for index in range(_FUNCTIONS))
            text = f'"""{" ".join(drawn.choices(words, k=9))}."""\n\n\n' + "".join(functions)
            (package / f"{drawn.choice(words)}.py").write_text(text)
    return _REPOSITORIES * (_MODULES + 2)
