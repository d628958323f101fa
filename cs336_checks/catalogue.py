"""Catalogues of known mistakes and of right variants: implementations that a suite is tried on.

A catalogue is a list. ``enter`` adds the function below it, as a way to write an adapter:

    MISTAKES = Mistakes()

    @MISTAKES.enter("moving_average", "run_moving_average", wrong="...", hint="...")
    def padded(values, width): ...

``wrong`` completes "Your output is what you get when …": a clause in the present tense, about what
the code does, that begins with a small letter unless with a symbol, and has no full stop:
"feature i is paired with feature i + d/2". ``hint`` is one or two full sentences that help a
student to find the fault: what to compare, to try or to read again. It holds no code and no
expected number.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
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


@dataclass(frozen=True)
class Mistake:
    """A known mistake, as it is told.

    Attributes:
        id: the problem and the mistake's name: "rope/half_split_pairs".
        problem: the problem's id in the rubric.
        wrong: what goes wrong, as a clause after "Your output is what you get when".
        hint: what helps to find it.
    """

    id: str
    problem: str
    wrong: str
    hint: str


@dataclass(frozen=True)
class KnownMistake(Mistake):
    """A known mistake that can be run.

    Attributes:
        kind: what it is a matter of.
        replaces: what takes the place of the reference's adapters, by their names.
    """

    kind: Kind
    replaces: Mapping[str, Part]


@dataclass(frozen=True)
class Variant:
    """A right way to write what a problem asks for, or one that solves nothing.

    Attributes:
        id: the problem and the function's name: "softmax/log_sum_exp".
        problem: the problem's id in the rubric.
        sentence: what is special about it.
        replaces: what takes the place of the reference's adapters, by their names.
    """

    id: str
    problem: str
    sentence: str
    replaces: Mapping[str, Part]


class Mistakes(list[KnownMistake]):
    """The known mistakes of an assignment."""

    def enter(
        self,
        problem: str,
        replaces: str,
        *,
        wrong: str,
        hint: str,
        kind: Kind = "formula",
        **beside: Part,
    ) -> Callable[[P], P]:
        """Return a decorator that enters a function as a wrong way to write an adapter.

        Args:
            problem: the problem it belongs to.
            replaces: the adapter it takes the place of.
            wrong: what goes wrong, as a clause.
            hint: what helps to find it, in full sentences.
            kind: what it is a matter of.
            beside: further adapters that go with it.

        Raises:
            ValueError: a sentence is not of its form, the kind is unknown, or the name is taken.
        """

        def entered(function: P) -> P:
            name = f"{problem}/{function.__name__}"
            if not wrong or wrong.endswith("."):
                raise ValueError(f"{name}: `wrong` is a clause without a full stop, not {wrong!r}")
            if wrong.startswith(("when ", "where ", "if ")):
                raise ValueError(
                    f'{name}: `wrong` follows "when" and begins with none, not {wrong!r}'
                )
            if not hint.endswith((".", "?")):
                raise ValueError(f"{name}: `hint` is made of full sentences, not {hint!r}")
            if kind not in get_args(Kind):
                raise ValueError(f"{name}: {kind!r} is none of the kinds {get_args(Kind)}")
            if any(known.id == name for known in self):
                raise ValueError(f"{name} is entered twice: rename one of them")
            made = KnownMistake(name, problem, wrong, hint, kind, {replaces: function, **beside})
            self.append(made)
            return function

        return entered


class Variants(list[Variant]):
    """Right ways to write an assignment, or degenerate ones."""

    def enter(self, problem: str, replaces: str, **beside: Part) -> Callable[[P], P]:
        """Return a decorator that enters a function; its docstring says what is special.

        Args:
            problem: the problem it belongs to.
            replaces: the adapter it takes the place of.
            beside: further adapters that go with it.

        Raises:
            ValueError: it has no docstring or its name is taken.
        """

        def entered(function: P) -> P:
            name = f"{problem}/{function.__name__}"
            sentence = inspect.getdoc(function)
            if not sentence:
                raise ValueError(f"{name} has no docstring: say what is special about it")
            if any(known.id == name for known in self):
                raise ValueError(f"{name} is entered twice: rename one of them")
            self.append(Variant(name, problem, sentence, {replaces: function, **beside}))
            return function

        return entered


def adapters_with(*entries: KnownMistake | Variant) -> SimpleNamespace:
    """Return the reference's adapters, some of them replaced by those of catalogue entries."""
    # Imported late: a catalogue can be imported where there is no suite.
    reference = importlib.import_module("tests.adapters")
    adapters = dict(vars(reference))
    for entry in entries:
        adapters.update(entry.replaces)
    return SimpleNamespace(**adapters)
