"""What tests of flow files share: a folder to write them in, and nodes to call."""

from __future__ import annotations

from pathlib import Path

import pytest

NODES = """
from engine.node import node

@node(writes=("plan",))
async def plan(inputs, ctx): return {}

@node(reads=("plan",))
async def build(inputs, ctx): return {}

@node(writes=("count",))
async def count(inputs, ctx): return {}

@node(params=("qa.rounds",))
async def tuned(inputs, ctx): return {}

@node()
def blocking(inputs, ctx): return {}

@node()
async def three(inputs, ctx, more): return {}

def plain(): pass
"""


@pytest.fixture(scope="session")
def node_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "wrong_nodes.py").write_text(NODES)
    (folder / "broken_nodes.py").write_text("raise ValueError('no key')\n")
    (folder / "needy_nodes.py").write_text("import a_module_of_another_world\n")
    return folder


@pytest.fixture
def workdir(tmp_path: Path, node_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory from which the nodes above can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(node_folder))
    return tmp_path
