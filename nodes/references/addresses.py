"""Addresses of repositories: which may be fetched, what of them may be shown, and when two mean the same."""

from __future__ import annotations

import re
from urllib.parse import urlsplit, urlunsplit

SCHEMES = ("https", "http", "ssh", "git", "file")
_SHORT_SSH = re.compile(r"(?:[\w.-]+@)?([\w.-]+):(?!//)([\w./~-]+)")


def is_address(text: str) -> bool:
    """Whether a source is the URL of a Git repository, or the short form `host:path` of one."""
    text = text.removeprefix("git+")
    return text.partition("://")[0] in SCHEMES or (_SHORT_SSH.fullmatch(text) is not None and "@" in text)


def without_secrets(address: str) -> str:
    """An address without user and password, query and fragment; what is no address stays as it is."""
    try:
        parts = urlsplit(address)
        if not parts.scheme or not parts.hostname:
            return address
        host = parts.hostname + (f":{parts.port}" if parts.port else "")
    except ValueError:
        return ""
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


def project_of(address: str) -> str:
    """`host/owner/name` in lower case, however the address is written; "" for what is no address."""
    address = address.strip().removeprefix("git+")
    short = _SHORT_SSH.fullmatch(address)
    if short and "://" not in address:
        host, path = short[1], short[2]
    else:
        parts = urlsplit(without_secrets(address))
        host, path = parts.hostname or "", parts.path
    path = path.strip("/").removesuffix(".git").lower()
    return f"{host.lower().removeprefix('www.')}/{path}" if host and path else ""


def name_of(address: str) -> str:
    """`owner/name`, or the last name of a path."""
    path = project_of(address).partition("/")[2] or address.rstrip("/").removesuffix(".git")
    return "/".join(path.split("/")[-2:]) if project_of(address) else path.rpartition("/")[2]
