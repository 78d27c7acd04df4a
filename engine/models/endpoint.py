"""Where an OpenAI-compatible endpoint is, and the key to it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from engine.errors import InputError
from engine.models.spec import ModelSpec

OPENAI = "https://api.openai.com/v1"
_NO_KEY = "no-key"  # what is sent to an endpoint that wants none
_SECRET_LENGTH = 12  # shorter ones are no secrets ("EMPTY", "ollama") and are words of their own
_KEY_LIKE = re.compile(r"\bsk-[\w*.-]{6,}")


@dataclass(frozen=True)
class Endpoint:
    """An address, and a key that is never shown."""

    url: str
    key_env: str
    key: str = field(repr=False)

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own, which is stricter and newer than what follows its protocol."""
        return urlsplit(self.url).hostname == "api.openai.com"

    def without_key(self, text: str) -> str:
        """A text in which the key, and whatever looks like one, is replaced."""
        if len(self.key) >= _SECRET_LENGTH:
            text = text.replace(self.key, "[key]")
        return _KEY_LIKE.sub("[key]", text)


def find_endpoint(spec: ModelSpec, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint of a model: its own address, or OPENAI_BASE_URL, or OpenAI's.

    OpenAI's own needs a key; another one needs it only if `api_key_env` names a variable of its own.
    Raises InputError if the key is missing or the address is none.
    """
    url = (spec.base_url or environment.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
    check_address(url)
    endpoint = Endpoint(url, spec.api_key_env, environment.get(spec.api_key_env, "").strip())
    if endpoint.key:
        return endpoint
    if endpoint.is_openai or spec.api_key_env != ModelSpec.api_key_env:
        raise InputError(
            f"model '{spec.name}': no key: the environment variable {spec.api_key_env} is not set.\n"
            f"  export {spec.api_key_env}=...          or name another variable with model.api_key_env\n"
            "  --base-url URL                     for an endpoint of your own, which may need none\n"
            "  --model replay:FILE                to run from a recording, without a model"
        )
    return Endpoint(url, spec.api_key_env, _NO_KEY)


def check_address(url: str) -> None:
    """Raise InputError if this is no address, or one that holds a password; it is not repeated then."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        shown = "base URL" if "@" in url else f"base URL '{url}'"  # what stands before an @ may be a password
        raise InputError(f"{shown}: not an address; give one such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query:
        raise InputError("base URL: it holds a password or a query; give the key in the environment instead")
