"""What the probe runs inside a sandbox: it tries what must not work and prints what happened, as JSON.

Arguments: a TCP port of the machine that listens, a folder outside the sandbox, a file outside that holds a secret,
how many processes to try.
"""

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path


def connects(port: int) -> bool:
    """Whether a connection to a port of the machine comes about."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        return False
    return True


def writes(folder: str) -> bool:
    """Whether a file can be made outside."""
    try:
        Path(folder, "written").touch()
        return True
    except OSError:
        return False


def reads(file: str) -> bool:
    """Whether a file outside can be read."""
    try:
        return bool(Path(file).read_text())
    except OSError:
        return False


def changes(file: str) -> None:
    """Try to change permission bits of a file outside; whether that worked is seen from outside."""
    with suppress(OSError):
        Path(file).chmod(0o666)


def processes(most: int) -> int:
    """How many processes can be there at once, of `most` that are tried."""
    children: list[int] = []
    with suppress(OSError):
        while len(children) < most:
            child = os.fork()
            if child == 0:
                signal.pause()
            children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return len(children)


def main() -> None:
    """Try everything."""
    port, folder, file, most = sys.argv[1:]
    changes(file)
    print(
        json.dumps(
            {
                "network": connects(int(port)),
                "write": writes(folder),
                "read": reads(file),
                "variables": "FLOWRUN_PROBE" in os.environ,
                "packages": sys.prefix == sys.base_prefix or find_spec("pytest") is None,
                "processes": processes(int(most)),
            }
        )
    )


if __name__ == "__main__":
    main()
