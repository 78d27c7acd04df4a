"""Which licence a text is, by its first words."""

from __future__ import annotations

import re

from nodes.references.files import Files

# In this order: a text that names another one further on is told by what it begins with.
_KNOWN = (
    (re.compile(r"apache license\s+version 2\.0"), "Apache-2.0"),
    (re.compile(r"gnu affero general public license\s+version 3"), "AGPL-3.0"),
    (re.compile(r"gnu lesser general public license\s+version 3"), "LGPL-3.0"),
    (re.compile(r"gnu lesser general public license\s+version 2\.1"), "LGPL-2.1"),
    (re.compile(r"gnu general public license\s+version 3"), "GPL-3.0"),
    (re.compile(r"gnu general public license\s+version 2"), "GPL-2.0"),
    (re.compile(r"mozilla public license,? version 2\.0"), "MPL-2.0"),
    (re.compile(r"mit license|permission is hereby granted, free of charge"), "MIT"),
    (re.compile(r"permission to use, copy, modify, and/or distribute|isc license"), "ISC"),
    (re.compile(r"neither the name"), "BSD-3-Clause"),
    (re.compile(r"redistribution and use in source and binary forms"), "BSD-2-Clause"),
    (re.compile(r"this is free and unencumbered software"), "Unlicense"),
    (re.compile(r"python software foundation license"), "PSF-2.0"),
)
_FILE = re.compile(r"(?:[^/]+/)?(?:licen[sc]e|copying)(?:\.\w+)?", re.IGNORECASE)
_BEGINNING = 3_000


def licence_of(files: Files) -> str:
    """The licence that a repository's licence file is, or ""."""
    for path in sorted(files.contents, key=lambda path: (path.count("/"), path)):
        if _FILE.fullmatch(path):
            text = " ".join((files.text(path) or "")[:_BEGINNING].lower().split())
            for pattern, name in _KNOWN:
                if pattern.search(text):
                    return name
    return ""
