"""Design references from repositories (CodeTeam, 3.2.3 and 3.3.3): what a project's README, file tree, dependencies, file
roles and interfaces say of its design, never its code.

Read `maker.py` first: a source becomes a `Repository` (its readers: folder, archive, installed, package_index,
git_source), a repository becomes chunks (`design.py`), and `screening.py` says which must not be in a corpus. `prompt.py`
is how references reach an architect.
"""
