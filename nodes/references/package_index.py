"""Source archives from the package index that pip is set up to use. They are unpacked in memory; nothing is run.

The simple repository API (JSON, or HTML where an index has no JSON) says which files there are. pip itself is not asked
to download: it would build a source archive's metadata, and that runs its code.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from engine.errors import InputError

if TYPE_CHECKING:
    import httpx

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.5, text/html;q=0.1"
_MOST_PAGE, _MOST_ARCHIVE = 64 * 2**20, 256 * 2**20
_SECONDS = 60.0
_SETTINGS = (":env:.index-url", "download.index-url", "install.index-url", "global.index-url")
_DEFAULT = re.compile(r"\(default\s+(https?://[^\s)]+)\)")


@dataclass(frozen=True)
class Release:
    """A file of an index. `status` is what the index says of the project, such as "archived", or ""."""

    name: str
    version: Version
    url: str
    sha256: str
    status: str


@cache
def index_address() -> str:
    """The index that pip uses: PIP_INDEX_URL, its configuration, or its default. Raises InputError without any."""
    found = os.environ.get("PIP_INDEX_URL") or _configured()
    if not found:
        found = next(iter(_DEFAULT.findall(" ".join(_pip("help", "download").split()))), "")
    if not found.startswith(("https://", "http://")):
        raise InputError("no package index is known: set PIP_INDEX_URL, or install pip")
    return found.rstrip("/") + "/"


def find_release(name: str, version: str, index: str) -> Release:
    """The source archive of a package, or its pure Python wheel; of the latest final version if none is given.

    Raises InputError if there is no such package, version or archive, or the index does not answer.
    """
    canonical = canonicalize_name(name)
    with _client() as client:
        page, address = _page(client, urljoin(index, f"{canonical}/"), canonical)
    files, status = page
    try:
        wanted = SpecifierSet(f"=={version}" if version else "")
    except InvalidSpecifier as error:
        raise InputError(f"'{version}' is no version") from error
    found = [one for one in _releases(files, canonical, address, status) if wanted.contains(one[2].version, True)]
    final = [one for one in found if version or not (one[2].version.is_prerelease or one[1])] or found
    if not final:
        raise InputError(f"has no source archive{f' of version {version}' if version else ''} in the package index")
    return max(final, key=lambda one: (one[2].version, one[0], one[2].url))[2]


def download(release: Release) -> IO[bytes]:
    """A release's archive as an open file without a name. Raises InputError if it is too large or not as listed."""
    import httpx

    file = tempfile.TemporaryFile(prefix="flowrun-")  # noqa: SIM115 - the caller closes it
    seen, left = hashlib.sha256(), _MOST_ARCHIVE
    try:
        with _client() as client, client.stream("GET", release.url) as answer:
            answer.raise_for_status()
            for part in answer.iter_bytes():
                seen.update(part)
                file.write(part)
                left -= len(part)
                if left < 0:
                    raise InputError(f"its archive is larger than {_MOST_ARCHIVE // 2**20} MB; refused")
    except httpx.HTTPError as error:
        file.close()
        raise InputError(f"its archive cannot be fetched: {_reason(error)}") from error
    except BaseException:
        file.close()
        raise
    if release.sha256 and seen.hexdigest() != release.sha256:
        file.close()
        raise InputError("its archive is not the one that the index lists: the digests differ")
    return file


def _configured() -> str:
    """What pip's configuration says. Its list is asked for: getting one value passes over PIP_CONFIG_FILE."""
    told = dict(line.partition("=")[::2] for line in _pip("config", "list").splitlines())
    found = next((told[name] for name in _SETTINGS if name in told), "")
    return found.strip("'\"")


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.stdout.strip() if done.returncode == 0 else ""


def _client() -> httpx.Client:
    import ssl

    import httpx

    certificates = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    try:
        verify: ssl.SSLContext | bool = ssl.create_default_context(cafile=certificates) if certificates else True
    except OSError as error:
        raise InputError(f"certificates '{certificates}' cannot be read: {error.strerror}") from error
    return httpx.Client(follow_redirects=True, timeout=_SECONDS, verify=verify)


def _page(client: httpx.Client, address: str, name: str) -> tuple[tuple[list[dict[str, Any]], str], str]:
    """The files that an index lists for a project, the project's status, and the page's final address."""
    import httpx

    try:
        with client.stream("GET", address, headers={"Accept": _ACCEPT}) as answer:
            if answer.status_code == httpx.codes.NOT_FOUND:
                raise InputError(f"the package index has no package '{name}'")
            answer.raise_for_status()
            body = _bounded(answer)
            final, kind = str(answer.url), answer.headers.get("content-type", "")
    except httpx.HTTPError as error:
        raise InputError(f"the package index does not answer: {_reason(error)}") from error
    try:
        return (_from_json(body) if "json" in kind else (_from_html(body), "")), final
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"the package index answers what cannot be read: {_reason(error)}") from error


def _bounded(answer: httpx.Response) -> bytes:
    body = bytearray()
    for part in answer.iter_bytes():
        body += part
        if len(body) > _MOST_PAGE:
            raise InputError("the package index answers too much")
    return bytes(body)


def _from_json(body: bytes) -> tuple[list[dict[str, Any]], str]:
    import json

    data = json.loads(body)
    status = data.get("project-status", {}).get("status", "")
    files = [
        {
            "name": one["filename"],
            "url": one["url"],
            "sha256": one.get("hashes", {}).get("sha256", ""),
            "yanked": bool(one.get("yanked")),
        }
        for one in data["files"]
    ]
    return files, str(status)


def _from_html(body: bytes) -> list[dict[str, Any]]:
    parser = _Links()
    parser.feed(body.decode("utf-8", "replace"))
    return parser.files


class _Links(HTMLParser):
    """The links of an index's page."""

    def __init__(self) -> None:
        super().__init__()
        self.files: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        address = given.get("href") if tag == "a" else None
        if not address:
            return
        plain, _, fragment = address.partition("#")
        sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else ""
        name = urlsplit(plain).path.rpartition("/")[2]
        self.files.append({"name": name, "url": plain, "sha256": sha256, "yanked": "data-yanked" in given})


def _releases(files: list[dict[str, Any]], name: str, address: str, status: str) -> Iterator[tuple[int, bool, Release]]:
    """Rank (a source archive before a wheel), whether it was withdrawn, and the release."""
    for one in files:
        parsed = _parsed(one["name"])
        if parsed is not None and parsed[1] == name:
            rank, _, version = parsed
            url = urljoin(address, one["url"])
            if url.startswith(("https://", "http://")):
                yield rank, one["yanked"], Release(name, version, url, one["sha256"], status)


def _parsed(filename: str) -> tuple[int, str, Version] | None:
    try:
        if filename.endswith(".whl"):
            name, version, _, tags = parse_wheel_filename(filename)
            return (0, name, version) if any(tag.platform == "any" for tag in tags) else None
        name, version = parse_sdist_filename(filename)
    except (InvalidSdistFilename, InvalidWheelFilename):
        return None
    return 1, name, version


def _reason(error: Exception) -> str:
    """What went wrong, without the address, which may hold a password."""
    text = re.sub(r"https?://\S+", "(address)", str(error))
    return (text.strip().split("\n") or [""])[0][:200] or type(error).__name__
