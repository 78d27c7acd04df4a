"""Declarations in a sketch's `public_api`, parsed with `ast` into name, kind and one-line signature.

The form that architects are told is one stub line per symbol, a member with its class:

    class Inventory(Store)
    @dataclass class Item: name: str; price: float = 0.0
    def Inventory.add(self, item: Item) -> None
    def load(path: Path) -> Inventory
    LIMIT: int = 100
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from nodes import api

Kind = Literal["function", "class", "method", "constant"]

_LONGEST = 4000
_ACTIONS = frozenset({"__import__", "eval", "exec", "compile", "open", "input", "breakpoint", "getattr", "setattr"})
_NAMED = re.compile(r"(?P<name>[^\W\d]\w*(?:\.\w+)*)\s*:\s*(?P<rest>(?:@|async\s+def\b|def\b|class\b).*)", re.DOTALL)
_DECORATORS = re.compile(r"(?:@[\w.]+(?:\([^()\n]*\))?\s+)*")
_HEAD = re.compile(r"(?P<word>async\s+def|def|class)\s+(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)")
_CALL = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*\s*\(")
_CONSTANT = re.compile(r"(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)+)(?=\s*[:=])")
_COMMENT = re.compile(r"\s+#[^\"'\n]*$")
_CONSTRUCTOR = re.compile(r"class\s+([^\W\d]\w*)\s*(\(.*\))\s*:?\s*$", re.DOTALL)


@dataclass(frozen=True)
class Symbol:
    """One exported name: `Inventory.add` for a member; `signature` is without the class name."""

    name: str
    kind: Kind
    signature: str


class SignatureFault(ValueError):
    """A declaration that cannot be used; `code` names the failed check."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def parse_declaration(text: str, last_class: str | None = None) -> list[Symbol]:
    """The symbols that one declaration exports: a class with members in its body gives several.

    A method that names no class belongs to `last_class`, the class declared before it. Raises SignatureFault.
    """
    if len(text) > _LONGEST:
        raise SignatureFault("bad_signature", f"{len(text)} characters are no signature")
    stripped = _COMMENT.sub("", text.strip().strip("`").strip())
    named = _NAMED.fullmatch(stripped)
    claimed = named["name"] if named else ""
    try:
        owner, statement = _statement(named["rest"] if named else stripped)
        _check_values(statement, text)
        symbols = list(_symbols(statement, owner or claimed.rpartition(".")[0] or None, last_class, text))
    except RecursionError as error:
        raise SignatureFault("bad_signature", f"'{_short(text)}' is nested too deep") from error
    if claimed and claimed.rpartition(".")[2] != symbols[0].name.rpartition(".")[2]:
        raise SignatureFault("name_mismatch", f"'{claimed}' is declared as '{symbols[0].signature}': the names differ")
    return symbols


def parse_public_api(declarations: Sequence[str]) -> Iterator[tuple[int, Symbol | SignatureFault]]:
    """What each declaration of a file exports, or why it cannot be used, with its index."""
    last_class: str | None = None
    for index, text in enumerate(declarations):
        try:
            symbols = parse_declaration(text, last_class)
        except SignatureFault as fault:
            yield index, fault
            continue
        if symbols[0].kind == "class":
            last_class = symbols[0].name
        yield from ((index, symbol) for symbol in symbols)


def parse_signature(signature: str) -> ast.stmt:
    """The statement that a symbol's signature is. Raises SignatureFault."""
    return _parsed(_separate_decorators(signature.strip()))


def annotation_names(signature: str) -> set[str]:
    """The names that a symbol's annotations and base classes mention; `pd.DataFrame` as a whole."""
    statement = _parsed(_separate_decorators(signature))
    return {name for expression in _annotations(statement) for name in _names(expression)}


def untyped(symbol: Symbol) -> bool:
    """Whether a function leaves a parameter (save `self` and `cls`) or its result without a type."""
    if symbol.kind not in ("function", "method"):
        return False
    statement = _parsed(_separate_decorators(symbol.signature))
    assert isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
    given = [*statement.args.posonlyargs, *statement.args.args, *statement.args.kwonlyargs]
    unannotated = [one.arg for one in given if one.annotation is None and one.arg not in ("self", "cls")]
    return bool(unannotated) or (statement.returns is None and statement.name != "__init__")


def _statement(text: str) -> tuple[str | None, ast.stmt]:
    """The class that a dotted declaration belongs to, and its statement with a plain name."""
    text = _separate_decorators(text)
    if _CALL.match(text):
        text = f"def {text}"
    decorators, _, body = text.rpartition("\n") if text.startswith("@") else ("", "", text)
    owner = None
    if found := _HEAD.match(body) or _CONSTANT.match(body):
        owner, _, name = found["name"].rpartition(".")
        body = body[: found.start("name")] + name + body[found.end("name") :]
    return owner or None, _parsed(f"{decorators}\n{body}" if decorators else body)


def _separate_decorators(text: str) -> str:
    """Decorators on lines of their own; the whole declaration on the lines that its author gave it."""
    found = _DECORATORS.match(text)
    head = found[0] if found else ""
    decorators = re.findall(r"@[\w.]+(?:\([^()\n]*\))?", head)
    return "\n".join([*decorators, text[len(head) :]])


def _parsed(text: str) -> ast.stmt:
    bare = text.rstrip().rstrip(":;,").rstrip()
    for source in (text, f"{bare}: ...", bare):
        try:
            with warnings.catch_warnings(action="ignore"):
                statements = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if len(statements) == 1:
            return statements[0]
    if constructor := _CONSTRUCTOR.search(text):
        return _class_of(constructor[1], constructor[2])
    raise SignatureFault("bad_signature", f"'{_short(text)}' is no Python declaration")


def _class_of(name: str, parameters: str) -> ast.stmt:
    """`class Item(name: str)` as people write it: a class with that constructor."""
    inner = parameters[1:-1].strip()
    body = f"def __init__(self{', ' + inner if inner else ''}) -> None: ..."
    try:
        return ast.parse(f"class {name}:\n    {body}").body[0]
    except (SyntaxError, ValueError) as error:
        raise SignatureFault("bad_signature", f"'class {name}{_short(parameters)}' is no Python declaration") from error


def _check_values(statement: ast.stmt, text: str) -> None:
    """Raise SignatureFault for a declaration that would do something rather than say what there is."""
    for one in ast.walk(statement):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in _ACTIONS:
            raise SignatureFault("bad_signature", f"'{_short(text)}' calls {one.func.id}(); a declaration does nothing")


def _symbols(statement: ast.stmt, owner: str | None, last_class: str | None, text: str) -> Iterator[Symbol]:
    prefix = f"{owner}." if owner else ""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            if owner is None and _takes_self(statement):
                if last_class is None:
                    raise SignatureFault(
                        "bad_signature",
                        f"'{_short(text)}' takes {statement.args.args[0].arg} but names no class: "
                        f"write 'def Class.{statement.name}(...)'",
                    )
                prefix = f"{last_class}."
            kind: Kind = "method" if prefix else "function"
            yield Symbol(prefix + statement.name, kind, api.signature(statement))
        case ast.ClassDef():
            yield Symbol(prefix + statement.name, "class", api.class_signature(statement))
            for member in statement.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef | ast.AnnAssign | ast.Assign):
                    yield from _symbols(member, prefix + statement.name, None, text)
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield Symbol(prefix + name, "constant", ast.unparse(statement))
        case ast.Assign(targets=[ast.Name(id=name)]):
            yield Symbol(prefix + name, "constant", ast.unparse(statement))
        case _:
            raise SignatureFault(
                "bad_signature", f"'{_short(text)}' declares nothing: write a 'def', a 'class' or 'NAME: type'"
            )


def _takes_self(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    first = [*function.args.posonlyargs, *function.args.args][:1]
    return bool(first) and first[0].arg in ("self", "cls")


def _annotations(statement: ast.stmt) -> Iterator[ast.expr]:
    match statement:
        case ast.FunctionDef(args=args, returns=returns) | ast.AsyncFunctionDef(args=args, returns=returns):
            every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
            yield from (one.annotation for one in every if one is not None and one.annotation is not None)
            if returns is not None:
                yield returns
        case ast.ClassDef(bases=bases):
            yield from bases
        case ast.AnnAssign(annotation=annotation):
            yield annotation


def _names(expression: ast.expr) -> Iterator[str]:
    match expression:
        case ast.Attribute():
            yield ast.unparse(expression)
        case ast.Name(id=name):
            yield name
        case ast.Constant(value=str(text)):
            try:
                yield from _names(ast.parse(text, mode="eval").body)
            except (SyntaxError, ValueError, RecursionError):
                return
        case ast.Subscript(value=ast.Name(id="Literal") | ast.Attribute(attr="Literal")):
            yield "Literal"
        case _:
            for child in ast.iter_child_nodes(expression):
                if isinstance(child, ast.expr):
                    yield from _names(child)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:117] + "..."
