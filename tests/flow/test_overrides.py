from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.errors import FlowError, InputError
from engine.flow import load_flow

BASE = """\
version: 1
name: base
params: {n: 1, qa: {rounds: 2, mode: end}, names: [a], free: {}}
budget: {calls: 3}
nodes:
  a: {call: placeholder, when: "${params.qa.rounds > 1}", next: b}
  b: {call: placeholder, max_visits: 2}
"""

_paths = [("params", "n"), ("params", "names"), ("params", "qa", "mode"), ("params", "free", "x"), ("budget", "calls")]
_paths += [("nodes", "a", "when"), ("nodes", "b", "max_visits"), ("summary",), ("params", "free", "y", "z")]
_text = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff"), max_size=6)
_scalars = st.one_of(st.none(), st.booleans(), st.integers(0, 9), st.floats(0, 9), _text)
_values = _scalars | st.lists(_scalars, max_size=2) | st.dictionaries(_text, _scalars, max_size=2)


def _inline(value: Any) -> str:
    """A value as YAML in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10**9, allow_unicode=True)
    return text.removesuffix("...\n").strip()


def _outcome(path: str, *sets: str) -> Any:
    try:
        flow = load_flow(path, sets=sets)
    except FlowError as error:
        return {one.message for one in error.diagnostics}
    return flow.document


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(_paths), _values)
@example(("params", "n"), "1e3")
@example(("nodes", "a", "when"), False)
@example(("summary",), None)
def test_a_set_equals_an_edit(workdir: Path, path: tuple[str, ...], value: Any) -> None:
    Path("base.yaml").write_text(BASE)
    edit: Any = value
    for key in reversed(path):
        edit = {key: edit}
    Path("edited.yaml").write_text(yaml.safe_dump({"extends": "base.yaml", **edit}, allow_unicode=True))
    assert _outcome("base.yaml", f"{'.'.join(path)}={_inline(value)}") == _outcome("edited.yaml")


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("n=2", ("n",), 2),
        ("params.n=2", ("n",), 2),
        ("n='2'", ("n",), "2"),
        ("n=", ("n",), None),
        ("n=yes", ("n",), True),
        ("qa.mode=layer", ("qa", "mode"), "layer"),
        ("qa.mode=a=b", ("qa", "mode"), "a=b"),
        ("names=[x, y]", ("names",), ["x", "y"]),
        ("names=", ("names",), None),
        ("qa={rounds: 9}", ("qa", "rounds"), 9),
        ("free.new=1", ("free", "new"), 1),
    ],
)
def test_values_are_typed_and_short_paths_are_parameters(
    text: str, path: tuple[str, ...], value: Any, workdir: Path
) -> None:
    Path("x.yaml").write_text(BASE)
    found: Any = load_flow("x.yaml", sets=[text]).params
    for key in path:
        found = found.get(key)
    assert found == value


def test_later_sets_stand_over_earlier_ones(workdir: Path) -> None:
    Path("x.yaml").write_text(BASE)
    assert load_flow("x.yaml", sets=["n=2", "n=3"]).params["n"] == 3
    assert load_flow("x.yaml", sets=["free={a: {b: 1}}", "free.a.b=2"]).params["free"] == {"a": {"b": 2}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qa.round=3", "--set:1:4: unknown parameter 'round' in 'qa'. Did you mean 'rounds'?"),
        ("params.m=3", "--set:1:8: unknown parameter 'm'. Known: free, n, names, qa"),
        ("names.0=x", "--set:1:7: params.names is a list, which is replaced as a whole"),
        ("n.x=1", "--set:1:3: params.n is no map"),
        ("nodes.a.nxt=b", "--set:1:9: node 'a': unknown key 'nxt'. Did you mean 'next'?"),
        ("nodes.a.next=c", "--set:1:14: node 'a': next: no node 'c'"),
        ("budget.calls=many", "--set:1:14: budget: calls: expected a whole number from 1, not 'many'"),
        (
            "nodes.a.when=${params.m > 1}",
            "--set:1:16: node 'a': when: unknown name 'params.m'. 'params' has n, qa, names, free",
        ),
        ("n=[1", "--set:1:5: not YAML: did not find expected ',' or ']' (while parsing a flow sequence)"),
        ("qa.mode=a\udcffb", "--set:1:10: not YAML: the character U+DCFF is not allowed"),
        ("n={a: 1, a: 2}", "--set:1:10: duplicate key 'a', first given in line 1"),
    ],
)
def test_a_wrong_set_is_shown_with_its_place(text: str, message: str, workdir: Path) -> None:
    Path("x.yaml").write_text(BASE)
    with pytest.raises(FlowError) as raised:
        load_flow("x.yaml", sets=[text])
    assert [str(one).split("\n")[0] for one in raised.value.diagnostics] == [message]
    assert raised.value.diagnostics[0].snippet == text


@pytest.mark.parametrize("text", ["n", "=3", ".n=3", "a..b=1"])
def test_a_set_without_a_path_or_a_value(text: str, workdir: Path) -> None:
    Path("x.yaml").write_text(BASE)
    with pytest.raises(InputError, match="expected PATH=VALUE"):
        load_flow("x.yaml", sets=[text])


def test_a_base_is_set_in_a_file_only(workdir: Path) -> None:
    Path("x.yaml").write_text(BASE)
    with pytest.raises(InputError, match="'extends' can be said in a file only"):
        load_flow("x.yaml", sets=["extends=other.yaml"])


def test_set_file_takes_the_text_of_a_file(workdir: Path) -> None:
    Path("x.yaml").write_text(BASE)
    Path("prompt.txt").write_text("a: 1\n${x} é\n")
    assert load_flow("x.yaml", set_files=["qa.mode=prompt.txt"]).params["qa"]["mode"] == "a: 1\n${x} é\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("qa.mode=none.txt", "cannot read the file: No such file"),
        ("qa.mode=latin.txt", "not UTF-8"),
        ("qa.mode", "expected PATH=FILE"),
        ("qa.mode=/dev/zero", "no regular file"),
    ],
)
def test_a_wrong_set_file(text: str, message: str, workdir: Path) -> None:
    Path("x.yaml").write_text(BASE)
    Path("latin.txt").write_bytes(b"\xe9")
    with pytest.raises(InputError, match=message):
        load_flow("x.yaml", set_files=[text])
