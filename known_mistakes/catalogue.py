"""How a mistake is entered in the catalogue: a function and two sentences.

``wrong`` completes "Your output is what you get when …": a clause in the present tense, about what
the code does, that begins with a small letter unless with a symbol, and has no full stop:
"feature i is paired with feature i + d/2". ``hint`` is one or two full sentences that help a
student to find the fault: what to compare, to try or to read again. It holds no code and no
expected number.

A function takes the place of an adapter, or of another part that ``parts.Parts`` names. Where its
first parameter is called ``parts``, it is given the ``Parts`` it belongs to: through it, it calls
other components, and in its ``kept`` it keeps what a student's code would keep between two calls.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

Part = Callable[..., Any]
P = TypeVar("P", bound=Part)

Kind = Literal[
    "formula",  # something else is computed
    "edge",  # right for most inputs
    "numerics",  # right on paper: overflow, precision, dtype
    "interface",  # arguments, shapes, gradients, results that are not what was asked for
    "laziness",  # something is ignored, hard-coded, kept from before or computed only in part
    "memory",  # right, for far more memory or time
]


@dataclass(frozen=True, slots=True)
class Mistake:
    """One wrong way to write what a problem asks for.

    Attributes:
        id: the problem and the function's name: "rope/half_split_pairs".
        problem: the problem's name in the rubric.
        kind: what it is a matter of.
        wrong: what goes wrong, as a clause after "Your output is what you get when".
        hint: what helps to find it.
        replaces: what takes the place of the reference's adapters or other parts, by their names.
    """

    id: str
    problem: str
    kind: Kind
    wrong: str
    hint: str
    replaces: Mapping[str, Part]


MISTAKES: list[Mistake] = []


def mistake(
    problem: str, replaces: str, *, kind: Kind, wrong: str, hint: str, **beside: Part
) -> Callable[[P], P]:
    """Enter the function below as a wrong way to write an adapter or another part.

    Args:
        problem: the problem it belongs to.
        replaces: the adapter or the part it takes the place of.
        kind: what it is a matter of.
        wrong: what goes wrong, as a clause.
        hint: what helps to find it, in full sentences.
        beside: further adapters or parts that go with it.

    Raises:
        ValueError: a sentence is not of its form, the kind is unknown, or the name is taken.
    """

    def enter(function: P) -> P:
        name = f"{problem}/{function.__name__}"
        if not wrong or wrong.endswith("."):
            raise ValueError(f"{name}: `wrong` is a clause without a full stop, not {wrong!r}")
        if wrong.startswith(("when ", "where ", "if ")):
            raise ValueError(f'{name}: `wrong` follows "when" and begins with none, not {wrong!r}')
        if not hint.endswith((".", "?")):
            raise ValueError(f"{name}: `hint` is made of full sentences, not {hint!r}")
        if kind not in get_args(Kind):
            raise ValueError(f"{name}: {kind!r} is none of the kinds {get_args(Kind)}")
        if any(known.id == name for known in MISTAKES):
            raise ValueError(f"{name} is entered twice: rename one of them")
        MISTAKES.append(Mistake(name, problem, kind, wrong, hint, {replaces: function, **beside}))
        return function

    return enter


def as_in(
    function: Part, problem: str, replaces: str, change: Callable[[Part], Part] = lambda part: part
) -> None:
    """Enter a known mistake of one problem in another, where it is made in the same way.

    Args:
        function: what makes it there.
        problem: the problem it belongs to here.
        replaces: the adapter or the part it takes the place of.
        change: makes of the function the one for here, of the same name.
    """
    known = next(known for known in MISTAKES if function in known.replaces.values())
    mistake(problem, replaces, kind=known.kind, wrong=known.wrong, hint=known.hint)(
        change(function)
    )
