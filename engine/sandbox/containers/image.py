"""What a container is made of: an image of empty folders over this machine's own programs, or the user's image."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import sys
import sysconfig
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.errors import InputError, SandboxError
from engine.sandbox import order
from engine.sandbox.environment import Environment, base_python

if TYPE_CHECKING:
    from podman import PodmanClient

OURS = "localhost/flowrun"
_OPEN, _CLOSED = 0o1777, 0o755
_FOLDERS = {"dev": _CLOSED, "etc": _CLOSED, "flowrun": _CLOSED, "proc": _CLOSED, "run": _CLOSED, "sys": _CLOSED}
# A runtime may give a mounted file system the mode of the folder that it is mounted on.
_WRITABLE = {"sandbox": _OPEN, "tmp": _OPEN, "work": _OPEN}
_LINKS = ("bin", "lib", "lib32", "lib64", "sbin")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/:/bin/sh\nsandbox:x:65534:65534:sandbox:/sandbox/home:/bin/sh\n",
    "etc/group": "root:x:0:\nsandbox:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}
_ASK = "import json, os, sys, sysconfig as c; print(json.dumps([c.get_config_var('EXT_SUFFIX'), sys.executable]))"


@dataclass(frozen=True)
class Image:
    """What containers are made from.

    reference  its name, or its id
    python     the interpreter that the warden is started with
    own        whether it is the user's: with programs and a Python of its own
    path       where its programs are, if it is the user's
    """

    reference: str
    python: str
    own: bool = False
    path: str = ""

    def binds(self, python: Environment, folder: Path, *, network: bool) -> dict[str, str]:
        """What a container shows of this machine, read-only: by place, its source. `folder` is one of ours."""
        if not self.own:
            places = order.system(python, network=network)
            return {one: one for one in places if not (Path(one).is_symlink() and len(Path(one).parts) == 2)}
        place = python.python.parents[1]
        shown = _with_other_python(place, self.python, folder)
        return {str(place / "lib"): str(place / "lib"), **{str(place / one.name): str(one) for one in shown}}


def make_image(client: PodmanClient) -> Image:
    """The image of empty folders; it is made where it is not there. No registry is asked."""
    content = _archive()
    reference = f"{OURS}:{hashlib.sha256(content).hexdigest()[:12]}"
    if not client.images.exists(reference):
        head = {"content-type": "application/x-tar"}
        client.api.post(
            "/images/import", params={"reference": reference}, data=content, headers=head
        ).raise_for_status()
    return Image(reference, base_python())


def user_image(client: PodmanClient, name: str, *, pull: bool) -> Image:
    """The user's image, pulled if it is not there and that was asked for. Raises InputError if it cannot serve."""
    from podman.errors import PodmanError

    if not client.images.exists(name):
        if not pull:
            raise InputError(f"there is no image {name} here: podman pull {name}, or say sandbox: {{pull: true}}")
        try:
            client.images.pull(name)
        except (PodmanError, OSError, ValueError) as error:
            raise InputError(f"the image {name} cannot be pulled: {error}") from error
    found = client.images.get(name)
    suffix, python = _python_of(client, str(found.id))
    if suffix != (needed := sysconfig.get_config_var("EXT_SUFFIX")):
        raise InputError(
            f"the image {name} has a Python of another kind ({suffix}) than flowrun's ({needed}), so the packages "
            f"that flowrun installs would not work in it; take one with Python {sysconfig.get_python_version()}"
        )
    variables = dict(one.split("=", 1) for one in found.attrs.get("Config", {}).get("Env") or ())
    return Image(str(found.id), python, own=True, path=variables.get("PATH", "/usr/local/bin:/usr/bin:/bin"))


def _python_of(client: PodmanClient, image: str) -> tuple[str, str]:
    """The suffix of extension modules of an image's python3, which tells version and platform; and where it is."""
    from podman.errors import PodmanError

    container = client.containers.create(
        image, command=["60"], entrypoint=["sleep"], network_mode="none", cap_drop=["ALL"], stop_timeout=0
    )
    try:
        container.start()
        code, said = container.exec_run(["python3", "-I", "-c", _ASK], demux=True)
        suffix, python = json.loads(cast("tuple[bytes, bytes]", said)[0]) if code == 0 else ("none", "")
        return str(suffix), str(python)
    except (PodmanError, ValueError) as error:
        raise SandboxError(f"the image {image} cannot be used: {error}") from error
    finally:
        container.remove(force=True, v=True)


def _with_other_python(place: Path, python: str, folder: Path) -> list[Path]:
    """The parts of an environment that name its Python, made anew for the Python of an image."""
    made = folder / place.name
    if not made.exists():
        shutil.copytree(place / "bin", made / "bin", symlinks=True)
        for one in (made / "bin").glob("python*"):
            one.unlink()
        for name in ("python", "python3"):
            (made / "bin" / name).symlink_to(python)
        version = ".".join(map(str, sys.version_info[:3]))
        (made / "pyvenv.cfg").write_text(f"home = {Path(python).parent}\nversion = {version}\n")
    return [made / "bin", made / "pyvenv.cfg"]


def _archive() -> bytes:
    """The image's files: the same bytes for the same content."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, mode in (_FOLDERS | _WRITABLE).items():
            _add(archive, name, type=tarfile.DIRTYPE, mode=mode)
        for name in _LINKS:
            if (link := Path("/", name)).is_symlink():
                _add(archive, name, type=tarfile.SYMTYPE, linkname=str(link.readlink()))
        for name, text in _FILES.items():
            _add(archive, name, text.encode(), mode=0o644)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes = b"", **more: Any) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    for field, value in more.items():
        setattr(entry, field, value)
    archive.addfile(entry, io.BytesIO(content))
