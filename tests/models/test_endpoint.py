"""Addresses and keys."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.errors import InputError
from engine.models import open_model
from engine.models.endpoint import OPENAI, find_endpoint
from engine.models.openai import OpenAIModel
from engine.models.spec import ModelSpec

KEY = "sk-proj-abcdefghijklmnop"


def test_openai_needs_a_key() -> None:
    with pytest.raises(InputError, match=r"OPENAI_API_KEY is not set(.|\n)*replay:FILE"):
        find_endpoint(ModelSpec("gpt-4o"), {})
    with pytest.raises(InputError, match="OPENAI_API_KEY is not set"):
        find_endpoint(ModelSpec("gpt-4o"), {"OPENAI_API_KEY": "  "})


def test_another_endpoint_needs_one_only_under_a_name_of_its_own() -> None:
    assert find_endpoint(ModelSpec("m", "http://localhost:8000/v1/"), {}).url == "http://localhost:8000/v1"
    with pytest.raises(InputError, match="MY_KEY is not set"):
        find_endpoint(ModelSpec("m", "http://localhost:8000/v1", "MY_KEY"), {"OPENAI_API_KEY": KEY})


def test_the_address_comes_from_the_flow_or_the_environment() -> None:
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "http://a/v1"}
    assert find_endpoint(ModelSpec("m"), {"OPENAI_API_KEY": KEY}).url == OPENAI
    assert find_endpoint(ModelSpec("m"), environment).url == "http://a/v1"
    assert find_endpoint(ModelSpec("m", "http://b/v1"), environment).url == "http://b/v1"


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "ftp://a/v1", "http://", "http://a:port/v1", "http://u:secret@a/v1", "http://a/v1?key=secret"],
)
def test_what_is_no_address_is_refused_without_its_secrets(url: str) -> None:
    with pytest.raises(InputError, match="base URL") as caught:
        find_endpoint(ModelSpec("m", url), {"OPENAI_API_KEY": KEY})
    assert "secret" not in str(caught.value)


def test_a_colon_in_a_name_is_part_of_it() -> None:
    model = open_model(ModelSpec("llama3:8b", "http://localhost:1/v1"))
    assert (type(model), model.name) == (OpenAIModel, "llama3:8b")


def test_a_key_is_never_shown() -> None:
    endpoint = find_endpoint(ModelSpec("m"), {"OPENAI_API_KEY": KEY})
    assert KEY not in repr(endpoint)
    assert endpoint.without_key(f"bad key {KEY}, or sk-proj-abc***nop") == "bad key [key], or [key]"
    plain = find_endpoint(ModelSpec("m"), {"OPENAI_API_KEY": "ollama"})
    assert plain.without_key("ollama is well") == "ollama is well"


def test_nothing_heavy_is_imported_with_the_package() -> None:
    heavy = "langchain_core langchain_openai openai tiktoken jsonschema"
    code = f"import sys, engine.models; sys.exit(str([one for one in '{heavy}'.split() if one in sys.modules] or ''))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
