from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.models.structured import schema_faults
from engine.resources import schema_file
from nodes.normalise import NormalisationError, normalise
from nodes.sketch import check_json
from nodes.sketch_checks import canonical
from nodes.sketch_signatures import Symbol, parse_public_api
from tests.support.planning import make_document, make_sketch, with_file


def as_sketch(contract: dict[str, Any]) -> dict[str, Any]:
    """A contract written as a sketch again."""
    return {
        "tech_stack": contract["tech_stack"],
        "repo_tree": contract["repo_tree"],
        "dependencies": contract["dependencies"],
        "developer_plan": {
            "num_developers": len(contract["developers"]),
            "owners": [{"id": number} for number, _ in enumerate(contract["developers"])],
        },
        "files": [
            {
                "path": file["path"],
                "purpose": file["purpose"],
                "public_api": [_declaration(symbol) for symbol in file["public_api"]],
                "depends_on": [*file["depends_on"], *file["uses"]],
                "owner": contract["developers"].index(file["owner"]),
                "implements": file["requirements"],
                "lines": file["lines"],
            }
            for file in contract["files"]
        ],
    }


def _declaration(symbol: dict[str, str]) -> str:
    owner, _, name = symbol["name"].rpartition(".")
    return symbol["signature"].replace(name, f"{owner}.{name}", 1) if owner else symbol["signature"]


def test_a_valid_sketch_becomes_a_contract_of_the_right_shape() -> None:
    sketch = make_sketch()
    before = copy.deepcopy(sketch)
    contract = normalise(sketch, make_document())
    assert sketch == before
    schema = json.loads(schema_file("contract").read_text(encoding="utf-8"))
    assert schema_faults(contract, schema) == []
    assert contract["developers"] == ["dev-0", "dev-1"]
    assert contract["notes"] == []
    command = contract["files"][4]
    assert command == {
        "path": "shop/cli.py",
        "purpose": "The command.",
        "public_api": [
            {"name": "main", "kind": "function", "signature": "def main(argv: list[str] | None=None) -> int"}
        ],
        "depends_on": ["shop/items.py"],
        "uses": ["shop/items.py::Inventory", "shop/items.py::Item"],
        "owner": "dev-1",
        "requirements": ["command"],
        "order": 4,
        "lines": 50,
    }


def test_everything_that_is_changed_is_noted() -> None:
    sketch = with_file(
        "shop/cli.py",
        path="./shop//cli.py",
        purpose="The\n  command.",
        public_api=["def main() -> int", "def main() -> int", "def Runner.go(self) -> None"],
        depends_on=["shop/items.py", "shop/items.py::Item", "shop/cli.py::main", "shop/items.py"],
        implements=["{#command}", "Command", "items", "nowhere"],
        owner="b",
        lines=-3,
    )
    sketch["repo_tree"] += ["shop/", "./README.md"]
    sketch["dependencies"] = ["Rich>=13", "rich >=13"]
    sketch["developer_plan"]["owners"] = [{"id": 1}, {"id": 0}, {"id": "b"}]
    sketch["developer_plan"]["num_developers"] = 3
    assert check_json(sketch) == []
    contract = normalise(sketch, make_document())
    file = contract["files"][4]
    assert (file["path"], file["purpose"], file["lines"], file["owner"]) == ("shop/cli.py", "The command.", 0, "dev-2")
    assert [one["name"] for one in file["public_api"]] == ["main", "Runner", "Runner.go"]
    assert (file["depends_on"], file["uses"]) == (["shop/items.py"], ["shop/items.py::Item"])
    assert file["requirements"] == ["command", "items"]
    assert contract["dependencies"] == ["rich>=13"]
    assert contract["notes"] == [
        "path './shop//cli.py' is written 'shop/cli.py'",
        "developer 1 is called dev-0",
        "developer 0 is called dev-1",
        "developer 'b' is called dev-2",
        "folders are no entries of repo_tree",
        "1 repeated entries of repo_tree are left out",
        "'shop/cli.py' does not depend on itself",
        "'shop/cli.py': 'main' is declared once",
        "'shop/cli.py': 'class Runner' is declared, since its members are",
        "'shop/cli.py': there is no section 'nowhere'",
        "dependency 'rich' is listed once",
    ]


def test_a_class_declared_otherwise_than_where_it_comes_from_is_handed_on() -> None:
    api = ["class Inventory(dict)", "def Inventory.pop(self) -> Item"]
    sketch = with_file("shop/__init__.py", public_api=api, depends_on=["shop/items.py"])
    contract = normalise(sketch, make_document())
    assert contract["files"][2]["public_api"] == [
        {"name": "Inventory", "kind": "class", "signature": "class Inventory"}
    ]
    assert contract["notes"] == ["'shop/__init__.py' hands 'Inventory' of 'shop/items.py' on: class Inventory"]
    functions = with_file("shop/__init__.py", public_api=["def main() -> None"], depends_on=["shop/cli.py::main"])
    assert normalise(functions, make_document())["files"][2]["public_api"][0]["signature"] == "def main() -> None"


@pytest.mark.parametrize(
    ("sketch", "message"),
    [
        (with_file("shop/__init__.py", public_api=["class main"], depends_on=["shop/cli.py"]), "none of 'shop/cli.py'"),
        (with_file("shop/items.py", depends_on=["shop/cli.py"]), "ring"),
        (with_file("shop/items.py", depends_on=["shop/gone.py"]), "no file"),
        (with_file("shop/items.py", public_api=["nothing"]), "declares nothing"),
        (with_file("shop/items.py", owner=9), "no developer"),
        (make_sketch(repo_tree=["shop/items.py"]), "do not name the same files"),
    ],
)
def test_what_makes_no_contract_says_why(sketch: dict[str, Any], message: str) -> None:
    with pytest.raises(NormalisationError, match=message):
        normalise(sketch, make_document())


@st.composite
def sketches(draw: st.DrawFn) -> dict[str, Any]:
    """Valid sketches with files in any order, spelled in several ways, with doubled symbols and self-references."""
    sketch = make_sketch()
    count = draw(st.integers(1, 6))
    names = [f"shop/m{number}.py" for number in range(count)]
    exported: list[str] = []
    for number, name in enumerate(names):
        earlier = draw(st.lists(st.sampled_from(names[: number + 1]), max_size=4))
        symbols = draw(
            st.lists(
                st.sampled_from(["def f(x: int) -> int", "class A", "def A.g(self) -> str", "B.x: int", "N: int = 1"]),
                max_size=5,
            )
        )
        spelled = draw(st.sampled_from([name, f"./{name}", name.replace("/", "//")]))
        extra = {
            "path": spelled,
            "purpose": " p\n q ",
            "public_api": symbols,
            "depends_on": [
                *earlier,
                *draw(st.lists(st.sampled_from(exported), max_size=3) if exported else st.just([])),
            ],
            "owner": draw(st.integers(0, 1)),
        }
        sketch["files"].append(extra)
        declared = (one for _, one in parse_public_api(symbols) if isinstance(one, Symbol))
        exported += [f"{draw(st.sampled_from(['', './']))}{name}::{one.name}" for one in declared]
        sketch["repo_tree"].append(name)
    sketch["files"] = draw(st.permutations(sketch["files"]))
    sketch["repo_tree"] = draw(st.permutations(sketch["repo_tree"]))
    return sketch


@settings(max_examples=70, deadline=None)
@given(sketches())
def test_normalising_twice_is_normalising_once_and_keeps_the_dependency_relation(sketch: dict[str, Any]) -> None:
    assert check_json(sketch) == []
    once = normalise(sketch, make_document())
    again = normalise(as_sketch(once), make_document())
    assert again == {**once, "notes": []}
    wanted = {
        canonical(file["path"]): {canonical(one.partition("::")[0]) for one in file.get("depends_on", [])}
        - {canonical(file["path"])}
        for file in sketch["files"]
    }
    assert {file["path"]: set(file["depends_on"]) for file in once["files"]} == wanted
    uses = {
        canonical(file["path"]): {one.removeprefix("./") for one in file.get("depends_on", []) if "::" in one}
        for file in sketch["files"]
    }
    assert {file["path"]: set(file["uses"]) for file in once["files"]} == uses
    exports = {file["path"]: {one["name"] for one in file["public_api"]} for file in once["files"]}
    assert all(one.partition("::")[2] in exports[one.partition("::")[0]] for found in uses.values() for one in found)
    assert [file["path"] for file in once["files"]] == [canonical(file["path"]) for file in sketch["files"]]
    assert [file["owner"] for file in once["files"]] == [f"dev-{file['owner']}" for file in sketch["files"]]
