"""Warm containers: reused, replaced when something is wrong, gone when their owner is."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from engine.errors import InputError, SandboxError
from engine.sandbox import open_sandbox
from engine.sandbox.base import Sandbox, SandboxResult
from engine.sandbox.containers.container import LABEL, sweep
from engine.sandbox.environment import environment
from engine.sandbox.podman import PodmanSandbox, open_podman
from tests.support.sandboxes import LIMITS, environments, opened, run

ROOT = Path(__file__).parents[2]
# Opens a sandbox, says so, and runs something that does not end; what it prints leads to what it holds.
CALLER = """
import asyncio, sys
from pathlib import Path
from engine.sandbox.base import Limits
from engine.sandbox.containers.container import LABEL, sweep
from engine.sandbox.environment import environment
from engine.sandbox.podman import open_podman

async def main():
    cache, limits = Path(sys.argv[1]), Limits()
    sandbox = await open_podman(await environment((), cache), cache, limits=limits)
    print(sandbox._service.folder, flush=True)
    await sandbox.run(["python", "-c", "import time; time.sleep(1000)"], {}, limits=limits)

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> PodmanSandbox:
    found = opened("podman", environments(tmp_path_factory))
    assert isinstance(found, PodmanSandbox)
    return found


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environments(tmp_path_factory)


def containers(sandbox: PodmanSandbox, process: int | None = None) -> set[str]:
    """The ids of the containers of this process or another one; others may have some on this machine too."""
    from podman import PodmanClient

    with PodmanClient(base_url=sandbox._service.address) as client:
        found = client.containers.list(all=True, filters={"label": LABEL})
        return {str(one.id) for one in found if one.labels[LABEL].split(" ")[2] == str(process or os.getpid())}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_container_is_used_again(sandbox: PodmanSandbox) -> None:
    run(sandbox, "pass")
    before = containers(sandbox)
    for _ in range(5):
        assert run(sandbox, "print(1)").stdout == "1\n"
    assert containers(sandbox) == before


def test_one_that_broke_is_replaced(sandbox: PodmanSandbox) -> None:
    run(sandbox, "pass")
    before = containers(sandbox)
    killed = run(sandbox, "import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    assert (killed.ended, killed.exit_code) == ("killed", None)
    assert run(sandbox, "print(1)").stdout == "1\n"
    until(lambda: len(before & containers(sandbox)) == len(before) - 1)


def take_away(sandbox: PodmanSandbox) -> None:
    command = ["podman", "--url", sandbox._service.address, "rm", "--force", *containers(sandbox)]
    subprocess.run(command, check=True, capture_output=True)


def test_one_that_is_taken_away_is_an_error_of_the_sandbox(sandbox: PodmanSandbox) -> None:
    async def taken_away() -> None:
        work = asyncio.create_task(sandbox.run(["python", "-c", "import time; time.sleep(60)"], {}, limits=LIMITS))
        await asyncio.sleep(0.5)
        await asyncio.to_thread(take_away, sandbox)
        with pytest.raises(SandboxError, match="the podman sandbox broke"):
            await work

    asyncio.run(taken_away())
    assert run(sandbox, "print(1)").stdout == "1\n"


def test_a_run_that_is_cancelled_ends_at_once(sandbox: PodmanSandbox) -> None:
    async def cancelled() -> None:
        work = asyncio.create_task(sandbox.run(["python", "-c", "import time; time.sleep(60)"], {}, limits=LIMITS))
        await asyncio.sleep(0.5)
        began = time.monotonic()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert time.monotonic() - began < 15

    asyncio.run(cancelled())


def test_nothing_outlives_the_caller_for_long(sandbox: PodmanSandbox, cache: Path) -> None:
    command = [sys.executable, "-c", CALLER, str(cache)]
    caller = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert caller.stdout
    folder = Path(caller.stdout.readline().strip())
    until(lambda: bool(containers(sandbox, caller.pid)))
    swept(sandbox)  # as another run begins by doing; what a living process owns is not touched
    assert containers(sandbox, caller.pid)
    caller.kill()
    caller.wait()
    caller.stdout.close()
    until(lambda: not folder.exists())  # its service has ended too
    swept(sandbox)
    assert not containers(sandbox, caller.pid)


def swept(sandbox: PodmanSandbox) -> None:
    from podman import PodmanClient

    with PodmanClient(base_url=sandbox._service.address) as client:
        sweep(client)


async def used_and_closed(cache: Path, image: str | None = None) -> list[SandboxResult]:
    """What some commands give in a sandbox that is open no longer."""
    other = await open_podman(await environment((), cache), cache, limits=LIMITS, image=image)
    pytest_run = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    commands = (pytest_run, ["python", "-c", "import sys; print(sys.base_prefix)"], ["env"])
    try:
        return [await other.run(one, {"test_x.py": b"def test_x(): pass\n"}, limits=LIMITS) for one in commands]
    finally:
        await other.close()


def test_closing_leaves_nothing(sandbox: PodmanSandbox, cache: Path) -> None:
    before = containers(sandbox)

    async def opened_and_closed() -> Path:
        other = await open_podman(await environment((), cache), cache, limits=LIMITS)
        await other.run(["python", "-c", "pass"], {}, limits=LIMITS)
        await other.close()
        return other._service.folder

    folder = asyncio.run(opened_and_closed())
    assert containers(sandbox) <= before and not folder.exists()
    until(lambda: not processes_with(str(folder)))


def processes_with(word: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


def test_files_that_cannot_go_in_are_refused(sandbox: PodmanSandbox) -> None:
    for name in ("../x", "/etc/passwd", "a\nb", "a\0b", ".git/config", "C:\\x"):
        with pytest.raises(SandboxError, match="cannot be put into the sandbox"):
            run(sandbox, "pass", {name: b"x"})
    with pytest.raises(SandboxError, match="do not fit"):
        run(sandbox, "pass", {"x": bytes(LIMITS.disk + 1)})


@pytest.fixture(scope="module")
def own_image(sandbox: PodmanSandbox) -> Iterator[str]:
    """An image with nothing but a Python of the same version and a shell."""
    python = shutil.which(f"python3.{sys.version_info.minor}", path="/usr/bin")
    if python is None or Path("/lib").is_symlink() is False:
        pytest.skip("the system has no Python of the same version to make an image of")
    from podman import PodmanClient

    name = "localhost/flowrun-test:own"
    with PodmanClient(base_url=sandbox._service.address) as client:
        answer = client.api.post(
            "/images/import", params={"reference": name}, data=_image(python), headers={"content-type": "a/tar"}
        )
        answer.raise_for_status()
        yield name
        client.images.remove(name, force=True)


def _image(python: str) -> bytes:
    programs = [python, "/usr/bin/sh", "/usr/bin/sleep"]
    modules = [str(one) for one in Path(f"/usr/lib/python3.{sys.version_info.minor}").glob("lib-dynload/*.so")]
    listed = subprocess.run(["ldd", *programs, *modules], capture_output=True, text=True, check=False).stdout
    libraries = {word for word in listed.split() if word.startswith("/") and not word.endswith(":")}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("bin", "lib", "lib64"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, f"usr/{name}"
            archive.addfile(link)
        for place in [*programs, *libraries, f"/usr/lib/python3.{sys.version_info.minor}"]:
            inside = place if place.startswith("/usr/") else f"/usr{place}"
            archive.add(os.path.realpath(place), inside.lstrip("/"), filter=_needed)
        alias = tarfile.TarInfo("usr/bin/python3")
        alias.type, alias.linkname = tarfile.SYMTYPE, python
        archive.addfile(alias)
    return buffer.getvalue()


def _needed(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    unneeded = {"test", "idlelib", "tkinter", "lib2to3", "ensurepip", "__pycache__", "pydoc_data"}
    return None if unneeded & {*Path(entry.name).parts} or "/config-" in entry.name else entry


def test_an_image_of_one_s_own(own_image: str, cache: Path) -> None:
    tested, prefix, missing = asyncio.run(used_and_closed(cache, own_image))
    assert tested.exit_code == 0 and "1 passed" in tested.stdout
    assert prefix.stdout == "/usr\n"
    assert missing.exit_code == 127  # this machine's programs are not there


def test_an_image_that_is_not_there(sandbox: Sandbox, cache: Path) -> None:
    with pytest.raises(InputError, match=r"no image localhost/none here: podman pull localhost/none, or say .*pull"):
        asyncio.run(open_sandbox("podman", limits=LIMITS, image="localhost/none", cache=cache))
    with pytest.raises(InputError, match="only podman runs an image"):
        asyncio.run(open_sandbox("sandlock", limits=LIMITS, image="localhost/none", cache=cache))
