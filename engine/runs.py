"""A run's folder: its record, its resolved flow, its lock.

runs/<id>/run.json  flow.yaml  checkpoints.sqlite  journal.sqlite  events.jsonl  repo/
"""

from __future__ import annotations

import json
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from engine.errors import InputError
from engine.flow.model import Flow
from engine.locks import is_locked, locked

# Step n makes a record of format n + 1 out of one of format n. Steps are only ever added.
_STEPS: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = ()
FORMAT = 1 + len(_STEPS)
_NEEDED = frozenset(
    {
        "id",
        "flow",
        "inputs",
        "params",
        "model",
        "options",
        "sandbox",
        "thread",
        "reruns",
        "approvals",
        "resumed",
        "status",
        "outcome",
        "usage",
        "head",
        "waiting",
        "parent",
    }
)


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def id(self) -> str:
        """The run's name, which is the folder's."""
        return self.path.name

    def record(self) -> dict[str, Any]:
        """What run.json says, in the present format. Raises InputError if it is damaged or of a newer format."""
        file = self.path / "run.json"
        try:
            record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            newer = record["format"] > FORMAT
        except (OSError, ValueError, KeyError, TypeError) as error:
            why = error if isinstance(error, OSError | ValueError) else "it is no object with a 'format'"
            raise InputError(f"{file}: no readable run record: {why}; restore it, or remove the folder") from error
        if newer:
            raise InputError(
                f"{file}: format {record['format']} is newer than this flowrun knows ({FORMAT}); update flowrun"
            )
        for step in _STEPS[record["format"] - 1 :]:
            record = step(record)
        missing = sorted(_NEEDED - record.keys())
        if missing:
            raise InputError(f"{file}: not a whole run record: it lacks {', '.join(missing)}")
        return {**record, "format": FORMAT}

    def write_flow(self, flow: Flow) -> None:
        """Keep the resolved flow."""
        _write_whole(self.path / "flow.yaml", flow_text(flow))

    def update(self, **changes: Any) -> None:
        """Change fields of run.json, in one step."""
        _write_whole(self.path / "run.json", _to_json({**self.record(), **changes}))

    def status(self) -> str:
        """The record's status, or "killed" for a run that says it is running and is held by no process."""
        status = str(self.record()["status"])
        return "killed" if status in ("new", "running") and not is_locked(self.path / "lock") else status

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the run; a second process is told who does. The lock of a process that died is free."""
        with locked(self.path / "lock", f"run {self.id}"):
            yield


def create_run(
    root: Path, flow: Flow, record: Mapping[str, Any], fill: Callable[[Path], None] = lambda folder: None
) -> RunFolder:
    """Make a run's folder, whole or not at all; `fill` may put more into it first.

    Raises InputError when `root` cannot be written.
    """
    now = time.time()
    date = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    name = f"{flow.name}-{date}-{int(now % 1 * 1000):03}{secrets.token_hex(1)}"
    half: Path | None = None
    try:
        root.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
        half.chmod(0o755)
        fill(half)
        (half / "flow.yaml").write_text(flow_text(flow), encoding="utf-8")
        (half / "run.json").write_text(_to_json({"format": FORMAT, "id": name, **record}), encoding="utf-8")
        half.rename(root / name)
    except BaseException as error:
        if half is not None:
            shutil.rmtree(half, ignore_errors=True)
        if isinstance(error, OSError):
            why = f"cannot make a run folder there: {error.strerror}; choose another with --runs DIR"
            raise InputError(f"{root}: {why}") from error
        raise
    return RunFolder(root / name)


def find_run(root: Path, name: str) -> RunFolder:
    """A run by id, by a unique beginning of it, by its folder, or "last". Raises InputError, naming the known ones."""
    if (Path(name) / "run.json").is_file():
        return RunFolder(Path(name).resolve())
    known = list_runs(root)
    if name == "last" and known:
        return known[-1]
    found = [run for run in known if run.id == name] or [run for run in known if run.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"'{name}' is the beginning of {len(found)} runs: {', '.join(run.id for run in found)}")
    recent = ", ".join(run.id for run in known[-5:]) or "none"
    raise InputError(f"{root}: no run '{name}'; the latest there: {recent}. Another folder is given with --runs DIR")


def list_runs(root: Path) -> list[RunFolder]:
    """The runs below a folder, oldest first."""
    if not root.is_dir():
        return []
    found = [RunFolder(path.parent) for path in root.glob("*/run.json") if not path.parent.name.startswith(".")]
    return sorted(found, key=lambda run: run.id.split("-")[-3:])  # a run's name ends with when it was made


def remove_run(run: RunFolder) -> None:
    """Remove a run's folder. Raises InputError while a process holds the run."""
    with run.locked():
        shutil.rmtree(run.path)


def flow_text(flow: Flow) -> str:
    """A resolved flow as YAML."""
    return yaml.safe_dump(dict(flow.document), sort_keys=False, allow_unicode=True, width=120)


def _to_json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _write_whole(path: Path, text: str) -> None:
    half = path.with_suffix(".half")
    half.write_text(text, encoding="utf-8")
    half.replace(path)
