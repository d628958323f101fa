"""What stays of a module when its solution is taken out."""

import ast
import textwrap

import pytest

from cs336_grader.handout.stripping import stripped

SOURCE = '''"""What this module is about."""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .inner import Cache, Part

LIMIT = 3  # how many
Rule = Callable[[int], int]


# How it is done.
@np.vectorize
def area(  # noqa: PLR0917
    radius: float,  # in metres
    rule: Rule = abs,
    cache: Cache | None = None,
) -> float:
    """The area of a circle.

    Raises:
        ValueError: there is none.
    """
    # keep: think of a negative radius
    # Nobody may read this.
    return math.pi * radius**2


@dataclass(frozen=True)
class Shape(Part):
    """A shape."""

    name: str
    sides: int = 0

    @property
    def corners(self) -> int:
        """As many as sides."""
        return self.sides

    def hidden(self) -> None:
        """How the solution is divided."""
        os.sync()


def given(text: str) -> str:  # keep
    """Comes as it is."""
    # This, too.
    return os.fspath(text).upper()


class Cache2:
    def nothing(self) -> None: ...


if __name__ == "__main__":
    area(1)
'''
STUBS = {
    "area": "area: write it",
    "Rule": "",
    "Shape": "",
    "Shape.corners": "shape: write Shape.corners",
}
EXPECTED = '''"""What this module is about."""

import os
from collections.abc import Callable
from dataclasses import dataclass

Rule = Callable[[int], int]


def area(
    radius: float,
    rule: Rule = abs,
) -> float:
    """The area of a circle.

    Raises:
        ValueError: there is none.
    """
    # think of a negative radius
    raise NotImplementedError("area: write it")


@dataclass(frozen=True)
class Shape(object):
    """A shape."""

    name: str
    sides: int = 0

    @property
    def corners(self) -> int:
        """As many as sides."""
        raise NotImplementedError("shape: write Shape.corners")


def given(text: str) -> str:
    """Comes as it is."""
    # This, too.
    return os.fspath(text).upper()
'''


def test_all_of_a_module() -> None:
    """Signatures, docstrings, marked comments and bodies stay; the rest and its imports go."""
    aside = {"Cache": "", "Part": "object"}
    assert stripped(SOURCE, STUBS, {"given"}, aside) == EXPECTED


def test_nothing_of_a_body_is_left() -> None:
    """A stub's body is its docstring and one statement, whatever it was."""
    for body in ("yield 1", "x = 1\nreturn x", "if True:\n    return 2", "async_ = 1"):
        source = "def f(x):\n" + textwrap.indent(f'"""Doc."""\n{body}\n', "    ")
        [function] = ast.parse(stripped(source, {"f": "p: f"})).body
        assert isinstance(function, ast.FunctionDef)
        assert [type(node) for node in function.body] == [ast.Expr, ast.Raise], body


def test_what_has_no_body_stays() -> None:
    """Overloads and protocols are their signatures."""
    source = "class C:\n    def f(self) -> int: ...\n\n    def g(self) -> int:\n        pass\n"
    stubs = {"C": "", "C.f": "p: C.f", "C.g": "p: C.g"}
    assert stripped(source, stubs) == source


@pytest.mark.parametrize("length", [10, 90, 200])
def test_a_message_is_whole_however_long_it_is(length: int) -> None:
    """It is broken over lines of the usual width, and reads as one."""
    message = "problem: " + " ".join(["word"] * (length // 5))
    source = stripped("class C:\n    def f(self):\n        return 1\n", {"C": "", "C.f": message})
    assert max(map(len, source.splitlines())) <= 100
    raised = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    assert [node.value for node in raised] == [message]


def test_parameters_that_go_leave_a_signature_in_order() -> None:
    """The last one takes its comma along, a lone star goes."""
    source = "def f(a, b: K = 1): return a\ndef g(a, *, b: K = 1): return a\n"
    source += "def h(\n    a,\n    b: K = 1,\n): return a\n"
    found = stripped(source, {"f": "p: f", "g": "p: g", "h": "p: h"}, aside={"K": ""})
    arguments = [ast.unparse(node.args) for node in ast.parse(found).body if hasattr(node, "args")]
    assert arguments == ["a", "a", "a"]
    assert "    a,\n):" in found
