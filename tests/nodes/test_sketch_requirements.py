# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import pytest

from nodes.sketch_requirements import requirement_faults


@pytest.mark.parametrize(
    ("requirement", "code"),
    [
        ("argparse", "stdlib_requirement"), ("dataclasses>=0.6", "stdlib_requirement"), ("python>=3.8", "stdlib_requirement"),
        ("reqeusts", "lookalike_requirement"), ("numpyy", "lookalike_requirement"), ("python-dateutils", "lookalike_requirement"),
        ("opencvpython", "lookalike_requirement"), ("yaml", "lookalike_requirement"), ("sklearn", "lookalike_requirement"),
        ("flask @ https://example.org/f.whl", "bad_requirement"), ("-e .", "bad_requirement"), ("", "bad_requirement"),
        ("../other", "bad_requirement"), ("flask >= two", "bad_requirement"), ("the rich library", "bad_requirement"),
        ("requests>=3,<2", "conflicting_requirement"), ("rich==13.0,==13.1", "conflicting_requirement"),
        ("rich>13.0,<13.0", "conflicting_requirement"),
    ],
)  # fmt: skip
def test_what_cannot_be_installed_is_found(requirement: str, code: str) -> None:
    assert [(index, found) for index, found, _ in requirement_faults([requirement])] == [(0, code)]


def test_real_requirements_pass() -> None:
    usual = [
        "flask>=2.0", "pytest", "rich~=13.5.1,!=13.5.2", "httpx[http2]>=0.20,<0.28", "attrs", "toml", "tomli; python_version<'3.11'",
        "psycopg2-binary==2.*", "skyfield", "some-unheard-of-name>1,<1.0.1", "boto3>=1.28,<2",
    ]  # fmt: skip
    assert list(requirement_faults(usual)) == []


def test_a_package_is_asked_for_in_one_way() -> None:
    assert [one[0] for one in requirement_faults(["rich>=13", "Rich>=12"])] == [1]
    assert list(requirement_faults(["rich>=13", "rich>=13"])) == []
