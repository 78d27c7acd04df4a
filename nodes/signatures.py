"""Signatures in a sketch: one string per exported symbol, read with `ast` into name, kind and declaration.

def load(path: str) -> Inventory          class Inventory(Base)
def Inventory.add(self, item: Item) -> None       Inventory.size: int = 0       LIMIT: int = 5
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["function", "class", "method", "constant"]

_MEMBER = re.compile(r"^((?:@\w+(?:\.\w+)*\s+)*)((?:async\s+)?def\s+|)([A-Za-z_]\w*)\.([A-Za-z_]\w*)(?=\s*[(:=])")
_DECORATORS = re.compile(r"^((?:@\w+(?:\.\w+)*\s+)*)(.*)$", re.DOTALL)


@dataclass(frozen=True)
class Symbol:
    """An exported symbol. `name` is `Inventory.add` for a member; `signature` stands without the class name."""

    name: str
    kind: Kind
    signature: str


def read_signature(text: str) -> Symbol:
    """The symbol that a sketch's `public_api` entry declares. Raises ValueError with what is wrong."""
    owner, declaration = "", " ".join(text.split())
    if found := _MEMBER.match(declaration):
        owner = found[3]
        declaration = f"{found[1]}{found[2]}{found[4]}{declaration[found.end() :]}"
    split = _DECORATORS.match(declaration)
    assert split is not None
    decorators, body = split.groups()
    statement = _parse(body)
    name, kind, signature = _describe(statement, text)
    if owner and kind == "class":
        raise ValueError(f"'{text}' declares a class inside a class; declare it by itself")
    if owner:
        return Symbol(f"{owner}.{name}", "method" if kind == "function" else kind, decorators + signature)
    return Symbol(name, kind, decorators + signature)


def _parse(body: str) -> ast.stmt:
    bare = re.sub(r"(?<=[\w)\]\s])\s*:\s*(?:\.\.\.|pass)?\s*$", "", body).strip()
    for candidate in (body, f"{bare}: ...", bare):
        try:
            statements = ast.parse(candidate).body
        except (SyntaxError, ValueError):
            continue
        if len(statements) == 1:
            return statements[0]
    raise ValueError(f"'{body}' is no Python declaration")


def _describe(statement: ast.stmt, text: str) -> tuple[str, Kind, str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            word = "async def" if isinstance(statement, ast.AsyncFunctionDef) else "def"
            returns = f" -> {ast.unparse(statement.returns)}" if statement.returns else ""
            return statement.name, "function", f"{word} {statement.name}({ast.unparse(statement.args)}){returns}"
        case ast.ClassDef():
            bases = ", ".join(ast.unparse(one) for one in [*statement.bases, *statement.keywords])
            return statement.name, "class", f"class {statement.name}" + (f"({bases})" if bases else "")
        case ast.AnnAssign(target=ast.Name(id=name)):
            return name, "constant", ast.unparse(statement)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name, "constant", ast.unparse(statement)
        case _:
            raise ValueError(f"'{text}' declares no function, class, member or constant")
