"""Places where a model left out what it should have written: "rest unchanged", "..." for a body, "TODO implement"."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from engine.models.languages import is_markdown, python_tree, suffix_of

_OMISSION = re.compile(
    r"""
      \b(rest|remainder|remaining)\b.{0,60}\b(unchanged|same|as\ (before|above|is)|omitted|goes\ here|(un)?modified)\b
    | \b(rest\ of|remainder\ of)\ (the\ )?(\w+\ )?(file|code|class|function|method|module|implementation|script)s?\b
    | \b(existing|previous|original|other|same)\ (\w+\ )?(code|methods?|functions?|implementations?|imports?|content)\b
      .{0,30}(\.{3}|…|\b(unchanged|here|as\ (before|above)|remains?|omitted)\b)
    | (\.{3}|…)\W{0,3}(existing|previous|original|other|same|rest|remaining|more|unchanged)\b
    | \b(omitted|left\ out|abbreviated|shortened|truncated)\ for\ (brevity|clarity|space)\b
    | \b(unchanged|same\ as)\ (from\ )?(before|above|earlier|previous(ly)?|original)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_UNDONE = re.compile(
    r"""
      \bTODO\b.{0,20}\b(implement|complete|finish|write|fill\ in|add\ (the\ )?(code|logic|implementation))
    | \b(your|actual|real|more)\ (code|logic|implementation)\ (goes\ |would\ go\ |should\ go\ )?here\b
    | \b(implementation|logic|code)\ (goes|would\ go|should\ go|to\ be\ (added|written|implemented|done))\b
    | \b(implement|add|write|put|insert)\ (the\ |your\ |this\ )?(\w+\ )?(code|logic|implementation|body)?\s*
      \b(here|later)\b
    | \b(not\ yet\ implemented|not\ implemented\ yet|to\ be\ implemented)\b
    | \b(placeholder\ (for|implementation|code)|stub\ implementation)\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ONLY_DOTS = re.compile(r"[^\w.]*(\.{3}|…)[^\w.]*")
_DOTS_AS_BODY = re.compile(r"\{\s*(\.{3}|…)\s*\}")
_COMMENT = re.compile(r"(?:^|\s)(?:#|//|/\*|\*|--(?=\s)|<!--|;+|%)\s*(?P<said>.*)$")
_ASIDE = re.compile(r"^\s*(?:<!--(?P<comment>.*)-->|[\[(](?P<bracket>.*)[\])]|(?P<dots>(?:\.{3}|…).*))\s*$")
_BODILESS = {"overload", "abstractmethod", "abstractproperty", "singledispatch"}
_DOTS_MEAN_SOMETHING = {".yml", ".yaml", ".rst", ".txt"}
_LONGEST = 120


def placeholders(text: str, path: str) -> list[str]:
    """What is left out of a file's content, as "line 12: ..." in the order of the file; empty when it is whole.

    Comments are looked at in code (strings and documentation are not), asides in Markdown. A Python function whose body
    is only `...` counts, unless it has none by nature: in a Protocol, abstract, overloaded, or in a stub file.
    """
    if is_markdown(path):
        found = list(_of_prose(text))
    elif suffix_of(path) in (".py", ".pyi"):
        found = [*_of_comments(_python_comments(text)), *_empty_bodies(text, path)]
    else:
        found = [*_of_comments(_comments(text)), *_dots(text, path)]
    return [f"line {line}: {what}" for line, what in sorted(set(found))]


def _of_comments(comments: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for line, said in comments:
        if _OMISSION.search(said) or _ONLY_DOTS.fullmatch(said):
            yield line, f"something is left out: {_short(said)}"
        elif _UNDONE.search(said):
            yield line, f"something is not done: {_short(said)}"


def _of_prose(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        aside = _ASIDE.match(line)
        said = next((one for one in aside.groups() if one), "") if aside else ""
        if _OMISSION.search(said) or _UNDONE.search(said):
            yield number, f"something is left out: {_short(line)}"


def _python_comments(text: str) -> Iterator[tuple[int, str]]:
    """The comments of a Python file, up to where it stops being one."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string.lstrip("#").strip()
    except (tokenize.TokenError, SyntaxError):
        return


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        found = _COMMENT.search(line)
        if found:
            yield number, found["said"].strip()


def _dots(text: str, path: str) -> Iterator[tuple[int, str]]:
    if suffix_of(path) in _DOTS_MEAN_SOMETHING:
        return
    for number, line in enumerate(text.split("\n"), 1):
        if _DOTS_AS_BODY.search(line) or _ONLY_DOTS.fullmatch(line):
            yield number, f"only dots: {_short(line)}"


def _empty_bodies(text: str, path: str) -> Iterator[tuple[int, str]]:
    if suffix_of(path) == ".pyi":
        return
    try:
        tree = python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from _functions_in(tree, excused=False, method=False)


def _functions_in(node: ast.AST, *, excused: bool, method: bool) -> Iterator[tuple[int, str]]:
    """Functions without a body below a node; `excused` inside a Protocol."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            what = None if excused or _decorated(child) else _emptiness(child, method)
            if what:
                yield child.lineno, f"{child.name}() {what}"
            yield from _functions_in(child, excused=False, method=False)
        elif isinstance(child, ast.ClassDef):
            yield from _functions_in(child, excused="Protocol" in {_name(one) for one in child.bases}, method=True)
        else:
            yield from _functions_in(child, excused=excused, method=method)


def _emptiness(function: ast.FunctionDef | ast.AsyncFunctionDef, method: bool) -> str | None:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if len(body) != 1:
        return None
    only = body[0]
    if isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is ...:
        return "has only ... for a body"
    if isinstance(only, ast.Raise) and only.exc is not None and not method and _name(only.exc) == "NotImplementedError":
        return "only raises NotImplementedError"
    return None


def _decorated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_name(one) in _BODILESS for one in function.decorator_list)


def _name(node: ast.expr) -> str:
    """The last name of `a.b`, `a.b(...)` or `a.b[...]`."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Subscript):
        return _name(node.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _short(said: str) -> str:
    said = " ".join(said.split())
    return said if len(said) <= _LONGEST else said[:_LONGEST] + "…"
