"""What must not be in a corpus: targets, forks, mirrors, copies, archived projects, templates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import InputError
from engine.retrieval.base import Chunk
from nodes.references.design import design_chunks
from nodes.references.files import Files
from nodes.references.identity import lineage
from nodes.references.kinds import unwanted
from nodes.references.maker import ReferenceMaker
from nodes.references.manifest import read_manifest
from nodes.references.screening import Screen
from nodes.references.targets import Thresholds, read_targets
from tests.support.repositories import README, TIDEWATCH, lay

OTHER_README = """# Ledger

Ledger keeps accounts in plain text files and prints balances, budgets and yearly reports for small clubs.

- reads statements of several banks as comma separated values
- warns of entries that do not add up to zero, naming the line at which the sum went wrong
"""
NEEDS = 'dependencies = ["click", "rich", "attrs", "httpx", "tomli"]\n'


def files_of(contents: dict[str, str]) -> Files:
    return Files(tuple(sorted(contents)), {path: text.encode() for path, text in contents.items()})


def chunks_of(contents: dict[str, str], repository: str = "", origin: str = "folder:x") -> list[Chunk]:
    found = files_of(contents)
    manifest = read_manifest(found)
    return design_chunks(repository or f"{manifest.name} {manifest.version}".strip(), origin, found, manifest)


def project(name: str, readme: str = "", **more: str) -> dict[str, str]:
    return {
        "pyproject.toml": f'[project]\nname = "{name}"\nversion = "1"\n{more.get("needs", "")}',
        "README.md": readme or f"# {name}\n\nSomething short about it.\n",
        **{f"{name}/{module}.py": f'"""Module {module} here."""\n' for module in more.get("modules", "a b c").split()},
    }


def leaks(tmp_path: Path, targets: str, contents: dict[str, str], origin: str = "folder:x") -> list[str]:
    (tmp_path / "targets.txt").write_text(targets)
    screen = Screen(read_targets(tmp_path / "targets.txt"))
    return [why for _, why in screen.leaks(chunks_of(contents, origin=origin))]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("tidewatch", "the same package: tidewatch"),
        ("pypi:Tidewatch==1.0", "the same package: tidewatch"),
        ("https://example.org/Harbour/Tide.git", "the same origin: example.org/harbour/tide"),
        ("git@example.org:harbour/tide.git", "the same origin"),
        ("py-tidewatch2", "a related name: tidewatch and py-tidewatch2"),
        ("benchmark/README.md", "README: 1.00 of it the same"),
        ("benchmark", "README: 1.00 of it the same"),
        ('{"readme": "benchmark/README.md", "name": "zzz"}', "README: 1.00"),
        ('{"name": "zzz", "dependencies": ["Click", "rich", "attrs", "httpx", "tomli"]}', "dependencies: 1.00"),
    ],
)
def test_each_kind_of_overlap_with_a_target_is_told(tmp_path: Path, target: str, why: str) -> None:
    lay(tmp_path, {"benchmark/README.md": README})
    contents = project("tidewatch", README, needs=NEEDS)
    found = leaks(tmp_path, f"# all of them\n\n{target}\n", contents, "https://example.org/harbour/tide")
    assert any(one.startswith(why) for one in found), found
    unrelated = leaks(tmp_path, target, project("ledger", OTHER_README), "https://example.org/club/ledger")
    assert unrelated == []


def test_a_readme_that_was_reworded_in_part_still_leaks(tmp_path: Path) -> None:
    lay(tmp_path, {"README.md": README.replace("Tidewatch", "Sealevel").replace("- knows daylight saving time\n", "")})
    assert leaks(tmp_path, "README.md", project("other", README))
    (tmp_path / "targets.txt").write_text("README.md")
    strict = Screen(read_targets(tmp_path / "targets.txt"), Thresholds(readme=1.01))
    assert strict.leaks(chunks_of(project("other", README))) == []


def test_few_common_dependencies_say_nothing(tmp_path: Path) -> None:
    target = json.dumps({"name": "zzz", "dependencies": ["click", "rich"]})
    assert leaks(tmp_path, target, project("other", needs='dependencies = ["click", "rich"]\n')) == []


@pytest.mark.parametrize("line", ['{"nam": 1}', "{", "no/such/file", '{"readme": "none.md"}', '{"dependencies": 3}'])
def test_a_list_of_targets_that_cannot_be_read_names_the_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "targets.txt").write_text(f"good\n{line}\n")
    with pytest.raises(InputError, match=r"targets\.txt:2: "):
        read_targets(tmp_path / "targets.txt")


def test_an_empty_or_missing_list_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "targets.txt").write_text("# nothing\n")
    for place, message in (("targets.txt", "names no target"), ("none.txt", "cannot be read")):
        with pytest.raises(InputError, match=message):
            read_targets(tmp_path / place)


def test_lineage_drops_what_renamed_copies_add() -> None:
    assert {
        lineage(name)
        for name in ("Tide_Watch", "python-tide-watch", "tide-watch-ng", "tide.watch2", "py-tide-watch-v3")
    } == {"tide-watch"}
    assert lineage("py") == "py"
    assert lineage("lib2") == "lib2" or lineage("lib2")


def test_copies_are_kept_out_and_the_first_stays() -> None:
    screen = Screen()
    assert screen.judge(chunks_of(dict(TIDEWATCH))) == ""
    again = screen.judge(chunks_of(dict(TIDEWATCH), "me/tidewatch"))
    assert again.startswith("the same package as Tidewatch 1.2")
    renamed = {path: text.replace("Tidewatch", "Sealevel") for path, text in TIDEWATCH.items()}
    assert "the same file tree as Tidewatch 1.2" in screen.judge(chunks_of(renamed))
    grown = {**renamed, "tidewatch/more.py": '"""More of it."""\n'}
    assert "nearly the same as Tidewatch 1.2" in screen.judge(chunks_of(grown))
    assert screen.judge(chunks_of(project("ledger", OTHER_README))) == ""


def test_the_same_origin_under_another_name_is_a_copy() -> None:
    screen = Screen()
    assert screen.judge(chunks_of(project("one"), origin="https://example.org/a/b.git")) == ""
    assert "the same origin" in screen.judge(chunks_of(project("two", modules="x y z"), origin="git@example.org:A/B"))


def test_what_was_taken_back_is_compared_with_no_more() -> None:
    screen = Screen()
    first = chunks_of(dict(TIDEWATCH))
    assert screen.judge(first) == ""
    screen.forget("Tidewatch 1.2")
    screen.forget("never there")
    assert screen.judge(chunks_of(dict(TIDEWATCH), "Tidewatch 1.3")) == ""


@pytest.mark.parametrize(
    ("contents", "why"),
    [
        ({"PKG-INFO": "Name: x\nClassifier: Development Status :: 7 - Inactive\n"}, "archived"),
        ({"README.md": "# X\n\n**This project is no longer maintained.** Use y.\n"}, "archived"),
        ({"README.md": "# X\n\nThis repository has been archived by its owner.\n"}, "archived"),
        ({"cookiecutter.json": "{}", "README.md": "# X"}, "a template"),
        ({"{{cookiecutter.name}}/setup.py": "", "README.md": "# X"}, "a template"),
        ({"README.md": "# X\n\nA cookiecutter template for Python packages.\n"}, "a template"),
        (
            {"pyproject.toml": '[project]\nname="x"\ndescription="Boilerplate for new command line projects"\n'},
            "a template",
        ),
        (dict(TIDEWATCH), ""),
        ({"README.md": "# Jinja\n\nA template engine. Deprecated functions are archived in `old`.\n"}, ""),
        ({"README.md": "# X\n\nMoves files that are no longer maintained by the package manager.\n"}, ""),
    ],
)
def test_kinds_that_have_no_place_in_a_corpus(contents: dict[str, str], why: str) -> None:
    found = files_of(contents)
    said = unwanted(found, read_manifest(found))
    assert said.startswith(why) if why else said == ""


def test_a_checkout_of_a_fork_is_kept_out(tmp_path: Path) -> None:
    lay(tmp_path / "t", TIDEWATCH)
    remotes = "".join(f'[remote "{name}"]\n\turl = https://example.org/{name}/t\n' for name in ("origin", "upstream"))
    lay(tmp_path / "t", {".git/config": remotes})
    assert ReferenceMaker().make(str(tmp_path / "t"), {}).excluded.startswith("a fork")
