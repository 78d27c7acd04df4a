"""Design references from repositories (CodeTeam, 3.2.3 and 3.3.3): what a project's README, file tree, dependencies,
file roles and interfaces say of its design, never its code.

Read `maker.py` first: a source becomes `Files` (its readers: folder, archive, installed, package_index, git_source),
files become chunks (`design.py`), and `screening.py` says what must not be in a corpus. `filters.py` chooses among what
was found for a task, and `prompt.py` shows it to an architect.
"""
