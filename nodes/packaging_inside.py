"""Runs inside the sandbox: installs the project that it stands in, imports it, starts its scripts, writes a report.

Nothing of flowrun is there, so this file needs the standard library alone. The report is data of a stranger.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

REQUEST, REPORT = ".flowrun-packaging.json", ".flowrun-packaging-report.json"
_PIP = "import runpy, sys; sys.path[:0] = sys.argv[1:2]; del sys.argv[1]; runpy.run_module('pip', run_name='__main__')"
_OPTIONS = (
    *("--no-build-isolation", "--no-deps", "--no-index", "--no-input", "--no-compile", "--no-cache-dir", "--quiet"),
    *("--disable-pip-version-check", "--no-warn-script-location", "--root-user-action", "ignore"),
)
_MOST = 6000  # characters of an output that are kept


def _run(command: list[str], seconds: float, site: str = "", folder: str | None = None) -> dict[str, object]:
    """How a command ended: its exit code, None when it took too long, and the end of what it said."""
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds,
            check=False, cwd=folder, env={**os.environ, "PYTHONPATH": site},
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        return {"code": None, "output": (error.stdout or b"").decode("utf-8", "replace")[-_MOST:]}
    return {"code": ended.returncode, "output": ended.stdout.decode("utf-8", "replace")[-_MOST:]}


def _pip() -> str | None:
    """What must be on the path for pip to be importable: nothing, or the wheel that comes with Python."""
    if importlib.util.find_spec("pip"):
        return ""
    ensurepip = importlib.util.find_spec("ensurepip")
    folders = [Path(ensurepip.origin).parent / "_bundled"] if ensurepip and ensurepip.origin else []
    if other := sysconfig.get_config_var("WHEEL_PKG_DIR"):
        folders.append(Path(other))
    return max((str(wheel) for folder in folders for wheel in folder.glob("pip-*.whl")), default=None)


def main() -> None:
    """Do what the request says."""
    request = json.loads(Path(REQUEST).read_text("utf-8"))
    wheel = _pip()
    report: dict[str, object] = {"pip": wheel is not None}
    if wheel is not None:
        site, elsewhere = tempfile.mkdtemp(), tempfile.mkdtemp()
        command = [sys.executable, "-c", _PIP, wheel, "install", *_OPTIONS, "--target", site, "."]
        install = _run(command, request["install_seconds"])
        report["install"] = install
        if install["code"] == 0:
            seconds, files = request["seconds"], [one for one in Path(site).rglob("*") if one.is_file()]
            report["installed"] = sorted(one.relative_to(site).as_posix() for one in files)
            report["imports"] = {
                name: _run([sys.executable, "-c", f"import {name}"], seconds, site, elsewhere)
                for name in request["imports"]
            }
            report["scripts"] = {
                one.name: _run([sys.executable, str(one), "--help"], seconds, site, elsewhere)
                for one in files
                if one.parent == Path(site, "bin")
            }
    Path(REPORT).write_text(json.dumps(report), "utf-8")


if __name__ == "__main__":
    main()
