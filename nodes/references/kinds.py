"""Repositories that have no place in a corpus by their kind: forks, archived projects, templates (CodeTeam, 3.3.3)."""

from __future__ import annotations

import re

from nodes.references.files import TEMPLATE_FILES, Files
from nodes.references.manifest import Manifest

_ABANDONED = re.compile(
    r"\b(?:this|the) (?:project|repository|repo|package|library|module) (?:is|has been|was) (?:now |officially )?"
    r"(?:archived|deprecated|abandoned|unmaintained|discontinued"
    r"|no longer (?:actively )?(?:maintained|developed|supported))",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"\b(?:cookiecutter|copier|project|repository|repo|package) (?:template|skeleton|boilerplate)\b"
    r"|\b(?:template|boilerplate|skeleton) for (?:a |an |new )?(?:[\w-]+ ){0,3}"
    r"(?:projects?|packages?|repositor(?:y|ies))\b",
    re.IGNORECASE,
)
_SLOT = re.compile(r"\{\{.*\}\}|\[\[.*\]\]")
_OPENING = 1_500  # characters of a README that say what the project is


def unwanted(files: Files, manifest: Manifest) -> str:
    """Why a repository has no place in a corpus, or ""."""
    if "fork" in files.notes:
        return "a fork: its checkout has an upstream besides its origin"
    if any("7 - Inactive" in one for one in manifest.classifiers):
        return "archived: its metadata say that it is inactive"
    opening = _opening(files, manifest)
    if found := _ABANDONED.search(opening):
        return f"archived: its README says '{found[0]}'"
    if any(path in TEMPLATE_FILES for path in files.paths) or any(map(_SLOT.search, files.paths)):
        return "a template: it holds files that a template engine fills in"
    if found := _TEMPLATE.search(manifest.summary or opening[:300]):
        return f"a template: it says '{found[0]}'"
    return ""


def _opening(files: Files, manifest: Manifest) -> str:
    readme = next((path for path in files.paths if "/" not in path and path.lower().startswith("readme")), "")
    text = (files.text(readme) if readme else None) or manifest.description
    return " ".join(text[:_OPENING].split())
