"""What holds for the whole session."""

from __future__ import annotations

from tests.support import sandboxes


def pytest_sessionfinish() -> None:
    sandboxes.close_all()
