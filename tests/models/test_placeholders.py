"""What a model left out is found; what only looks like it is not."""

from __future__ import annotations

import pytest

from engine.models.extraction import placeholders


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.py", "x = 1\n# ... rest of the code unchanged ...\n", 2),
        ("a.py", "# rest of the file remains the same\n", 1),
        ("a.py", "def f():\n    # existing code here\n    return 1\n", 2),
        ("a.py", "class A:\n    # ... (other methods)\n    x = 1\n", 2),
        ("a.py", "def f():\n    ...\n", 1),
        ("a.py", "class A:\n    async def f(self):\n        '''Do.'''\n        ...\n", 2),
        ("a.py", "def f():\n    pass  # TODO: implement this\n", 2),
        ("a.py", "def f():\n    # Your code here\n    pass\n", 2),
        ("a.py", "def f():\n    # ...\n    return 1\n", 2),
        ("a.py", "def f():\n    raise NotImplementedError('later')\n", 1),
        ("a.py", "def f():\n    # omitted for brevity\n    return 1\n", 2),
        ("a.js", "function f() { ... }\n", 1),
        ("a.js", "x();\n// ... rest of the file unchanged\n", 2),
        ("a.go", "func f() {\n    // TODO implement\n}\n", 2),
        ("a.c", "int f() {\n    /* implementation goes here */\n}\n", 2),
        ("a.html", "<p>\n<!-- rest of content unchanged -->\n", 2),
        ("a.rs", "fn f() {\n    ...\n}\n", 2),
        ("README.md", "# T\n\n[rest of the document unchanged]\n", 3),
        ("README.md", "# T\n\n... rest unchanged ...\n", 3),
    ],
)
def test_what_is_left_out_is_found(path: str, text: str, line: int) -> None:
    found = placeholders(text, path)
    assert [one.split(":")[0] for one in found] == [f"line {line}"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "class P(Protocol):\n    def f(self) -> int: ...\n"),
        ("a.py", "class P(typing.Protocol[T]):\n    def f(self) -> int: ...\n"),
        ("a.py", "class A(ABC):\n    @abstractmethod\n    def f(self): ...\n"),
        ("a.py", "@overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return x\n"),
        ("a.py", "class E(Exception): ...\n"),
        ("a.py", "class A:\n    def f(self):\n        raise NotImplementedError\n"),
        ("a.py", "x = '# rest of the file unchanged'\ny[...] = 1\nz: tuple[int, ...]\n"),
        ("a.py", "# Loading...\n# TODO: handle the rest of the world's time zones\n# keep the rest in order\n"),
        ("a.py", "# ....................\ndef f():\n    pass\n"),
        ("a.pyi", "def f() -> int: ...\n"),
        ("a.js", "const b = {...a};\nf(...args);\n// everything else is cached\n"),
        ("a.yml", "a: 1\n...\n"),
        ("a.py", "def f(:\n    ...\n"),
        ("README.md", "Wait...\n\nThe rest of the file is unchanged by the tool.\n"),
    ],
)
def test_what_only_looks_like_it_is_not(path: str, text: str) -> None:
    assert placeholders(text, path) == []
