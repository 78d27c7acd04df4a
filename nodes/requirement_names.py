"""Whether a sketch may depend on a distribution: a real specifier, not the standard library's, not a look-alike."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_NAMES = """
    aiohttp attrs beautifulsoup4 black boto3 cachetools certifi click colorama cryptography django
    django-rest-framework fastapi feedparser flask gunicorn httpx hypothesis jinja2 joblib jsonschema
    keras keyring loguru lxml markdown markdown-it-py matplotlib mypy networkx nltk numpy openai
    openpyxl orjson packaging pandas paramiko pillow platformdirs playwright plotly polars psutil
    psycopg psycopg2 psycopg2-binary pydantic pygments pyjwt pymongo pypdf pypdf2 pyserial pytest
    pytest-cov python-dateutil python-dotenv pytz pyyaml redis regex requests rich ruff scikit-learn
    scipy seaborn selenium setuptools sqlalchemy sqlmodel starlette streamlit sympy tabulate tenacity
    textual tomli tomlkit torch tornado tqdm transformers typer typing-extensions urllib3 uvicorn
    websockets werkzeug wheel xmltodict
"""
_WELL_KNOWN = frozenset(_NAMES.split())


def dependency_fault(text: str, standard_library: Collection[str]) -> str | None:
    """Why a requirement specifier may not stand in a sketch, or None if it may."""
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        return f"no requirement specifier: {str(error).splitlines()[0]}"
    if requirement.url is not None:
        return "a requirement by address cannot be installed here; name a distribution"
    name = canonicalize_name(requirement.name)
    if name.replace("-", "_") in standard_library:
        return "it is part of the standard library"
    if name not in _WELL_KNOWN and (near := get_close_matches(name, _WELL_KNOWN, n=1, cutoff=0.85)):
        return f"its name is nearly that of '{near[0]}'; if that is meant, write it so"
    return None
