"""The generated Git repository. (Interface agreed; see below.)"""

from __future__ import annotations


class Workspace:
    """To be written."""
