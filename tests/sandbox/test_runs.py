"""What a run is like, whatever confines it."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import closing
from dataclasses import replace

import pytest

from engine.errors import SandboxError
from engine.sandbox import BACKENDS, folder
from engine.sandbox.base import Sandbox
from tests.support.sandboxes import LIMITS, environments, opened, run

PYTEST = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@pytest.fixture(scope="module", params=BACKENDS)
def sandbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return opened(request.param, environments(tmp_path_factory))


def test_a_command_runs_over_files(sandbox: Sandbox) -> None:
    files = {
        "src/main.py": b"import sys\nprint(open('data.txt').read(), *sys.argv[1:])\nsys.exit(3)",
        "data.txt": "é".encode(),
    }
    result = run(sandbox, ["python", "src/main.py", "a b", "$HOME"], files)
    assert (result.ended, result.exit_code, result.stdout, result.stderr) == ("exit", 3, "é a b $HOME\n", "")
    assert (result.stdout_bytes, result.stderr_bytes) == (len("é a b $HOME\n".encode()), 0)
    assert 0 < result.duration < LIMITS.timeout
    assert result.peak_memory is not None and 2**20 < result.peak_memory < LIMITS.memory


def test_results_are_collected(sandbox: Sandbox) -> None:
    program = "import os; os.mkdir('out'); open('out/x.bin', 'wb').write(b'\\0\\xff'); open('empty', 'w')"
    result = run(sandbox, program, {"in": b"kept"}, collect=["out/x.bin", "empty", "in", "missing"])
    assert result.files == {"out/x.bin": b"\0\xff", "empty": b"", "in": b"kept"}


def test_each_run_begins_anew(sandbox: Sandbox) -> None:
    program = "import os; print(*map(os.listdir, ('.', os.environ['HOME'], os.environ['TMPDIR']))); open('x', 'w')"
    assert run(sandbox, program).stdout == run(sandbox, program).stdout == "[] [] []\n"


def test_the_output_is_the_same_each_time(sandbox: Sandbox) -> None:
    program = (
        "import os, socket, tempfile, sys, subprocess\n"
        "print(os.getcwd(), os.path.expanduser('~'), tempfile.gettempdir(), socket.gethostname(), sys.prefix)\n"
        "print(object(), {'a', 'b', 'c', 'd'}, hash('x'))\n"
        "subprocess.run(['nonexistent'])"
    )
    first, second = run(sandbox, program), run(sandbox, program)
    assert first.stdout.startswith("/work /sandbox/home /sandbox/tmp sandbox /python\n<object object at 0x")
    assert (first.stdout, first.stderr) == (second.stdout, second.stderr)
    assert "FileNotFoundError" in first.stderr and folder.PREFIX not in first.stderr


def test_the_environment_is_clean(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    names = set(run(sandbox, "import os; print(*os.environ, sep='\\n')").stdout.split())
    expected = "PATH HOME TMPDIR USER LOGNAME LANG PYTHONDONTWRITEBYTECODE PYTHONHASHSEED"
    assert names - {"PWD"} == {*expected.split()}


def test_what_programs_usually_do_works(sandbox: Sandbox) -> None:
    programs = [
        "import shutil; shutil.copytree('.', '../tmp/copy'); shutil.copy2('a.txt', 'b'); shutil.move('b', 'c')",
        "import tempfile; tempfile.NamedTemporaryFile().write(b'x'); tempfile.TemporaryDirectory().cleanup()",
        "import sqlite3; sqlite3.connect('x.db').execute('create table t (a)')",
        "import asyncio; asyncio.run(asyncio.wait_for(asyncio.to_thread(print, end=''), 9))",
        "import subprocess; subprocess.run('echo x | cat > y && test -s y', shell=True, check=True)",
        "import uuid, secrets; uuid.uuid4(), secrets.token_hex(), open('/dev/urandom', 'rb').read(1)",
        "from concurrent.futures import ThreadPoolExecutor as T\nwith T(16) as p: list(p.map(str, range(100)))",
        "import zoneinfo, locale, ssl, ctypes, decimal, lzma, bz2, zlib; zoneinfo.ZoneInfo('Europe/Rome')",
        "import os, pathlib; p = pathlib.Path('a.txt'); os.utime(p, (1, 1)); assert p.stat().st_mtime == 1",
        "import socket; socket.socketpair()",
        "import sys; open('/dev/null', 'w').write('x'); assert sys.stdin.read() == ''",
    ]
    tried = "import sys\nfor text in sys.argv[1:]: exec(text, {})"
    result = run(sandbox, ["python", "-c", tried, *programs], {"a.txt": b"x"})
    assert (result.ended, result.exit_code, result.stderr) == ("exit", 0, "")


def test_processes_share_queues_and_locks(sandbox: Sandbox) -> None:
    program = (
        "import multiprocessing as m, os\n"
        "if __name__ == '__main__':\n"
        "    if not os.access('/dev/shm', os.W_OK): print('[1, 2]')\n"  # without a namespace there is none
        "    else:\n"
        "        with m.Pool(2) as pool: print(pool.map(abs, [-1, 2]))"
    )
    assert run(sandbox, ["python", "main.py"], {"main.py": program.encode()}).stdout == "[1, 2]\n"


def test_pytest_tells_passed_failed_and_nothing_apart(sandbox: Sandbox) -> None:
    good = {"shop/__init__.py": b"", "shop/price.py": b"def total(x): return sum(x)\n"}
    test = b"from shop.price import total\ndef test_total(tmp_path): assert total([1, 2]) == %d\n"
    codes = [
        run(sandbox, [*PYTEST, "tests"], {**good, "tests/test_price.py": test % expected}).exit_code
        for expected in (3, 4)
    ]
    empty = run(sandbox, PYTEST, good)
    assert [*codes, empty.exit_code] == [0, 1, 5]
    assert "no tests ran" in empty.stdout


def test_flowrun_and_its_packages_are_not_importable(sandbox: Sandbox) -> None:
    for name in ("engine", "dulwich", "pip", "hypothesis"):
        assert f"No module named '{name}'" in run(sandbox, f"import {name}").stderr


@pytest.mark.parametrize(
    ("program", "code"),
    [("import os; os.abort()", -signal.SIGABRT), ("import ctypes; ctypes.string_at(0)", -signal.SIGSEGV)],
)
def test_a_crash_is_the_program_s_own(sandbox: Sandbox, program: str, code: int) -> None:
    result = run(sandbox, program)
    assert (result.ended, result.exit_code) == ("exit", code)


def test_a_command_that_is_not_there(sandbox: Sandbox) -> None:
    result = run(sandbox, ["no-such-command"])
    assert (result.ended, result.exit_code) == ("exit", 127) and "no-such-command" in result.stderr
    for command in ([], ["echo", "a\0b"]):
        with pytest.raises(SandboxError, match="is no command"):
            run(sandbox, command)


def test_output_within_the_limit_is_whole(sandbox: Sandbox) -> None:
    limits = replace(LIMITS, output=200_000)
    assert run(sandbox, "print('x' * 199_999)", limits=limits).stdout == "x" * 199_999 + "\n"
    over = run(sandbox, "print('x' * 200_000)", limits=limits)
    assert (over.ended, over.exit_code, over.stdout) == ("output", None, "x" * 200_000)


def test_the_event_loop_goes_on_and_runs_do_not_meet(sandbox: Sandbox) -> None:
    async def several() -> tuple[list[str], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticker = asyncio.create_task(tick())
        program = "import os, time; open('mine', 'w'); time.sleep(0.3); print(os.listdir())"
        runs = (sandbox.run(["python", "-c", program], {str(n): b""}, limits=LIMITS) for n in range(6))
        results = await asyncio.gather(*runs)
        ticker.cancel()
        return [one.stdout for one in results], ticks

    outputs, ticks = asyncio.run(several())
    assert [sorted(eval(one)) for one in outputs] == [sorted(["mine", str(n)]) for n in range(6)]
    assert ticks > 10


def test_the_network_is_there_when_it_is_asked_for(sandbox: Sandbox) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        program = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5); print('met')"
        assert run(sandbox, program, limits=replace(LIMITS, network=True)).stdout == "met\n"
        assert run(sandbox, program).exit_code == 1
