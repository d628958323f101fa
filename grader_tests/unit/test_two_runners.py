"""A call across the border does what the same call does without one."""

import io
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, note, settings
from hypothesis import strategies as st

from cs336_grader.running.faults import SubmissionError

from .arguments import Recipe, arguments, reachable
from .border import conversation, session_with

Step = tuple[int, int]


def work(script: list[Step], values: list[Any]) -> list[Any]:
    """Do with the arguments what a submission may do: one step after the other.

    Each step names a value by its place, and what to do with it.
    """
    found, results = list(reachable(values)), []
    for which, how in script:
        value = found[which % len(found)]
        deeds = next(deeds for kind, deeds in DEEDS if isinstance(value, kind))
        results.append(deeds[how % len(deeds)](value))
    return results


def quietly(deed: Any) -> Any:
    """The same without gradients."""

    def deed_without_gradients(value: Any) -> Any:
        with torch.no_grad():
            return deed(value)

    return deed_without_gradients


def with_new_gradient(value: torch.Tensor) -> None:
    """Gives a tensor another gradient."""
    if value.is_leaf and value.is_floating_point():
        value.grad = torch.full_like(value, 3)


def without_gradient(value: torch.Tensor) -> None:
    """Takes a tensor's gradient away."""
    if value.is_leaf:
        value.grad = None


def renamed(value: dict[Any, Any]) -> None:
    """Gives the first key another name."""
    key = next(iter(value))
    value["renamed"] = value.pop(key)


def multiplied(value: Any) -> Any:
    """A new value."""
    return value * 2


def fails(value: object) -> None:
    """Gives up in the middle of the work."""
    raise LookupError(type(value).__name__)


def itself(value: object) -> object:
    """The argument."""
    return value


DEEDS: list[tuple[Any, list[Any]]] = [
    (
        torch.Tensor,
        [
            *(itself, multiplied, quietly(multiplied), with_new_gradient, without_gradient),
            *(lambda x: x.fill_(1), quietly(lambda x: x.fill_(1)), lambda x: x.mul_(2) and None),
            *(
                quietly(lambda x: x.mul_(2)),
                lambda x: x.view(-1),
                lambda x: x.is_contiguous(),
                fails,
            ),
        ],
    ),
    # NumPy's numbers arrive as Python's, so none is returned.
    (
        np.ndarray,
        [
            *(itself, lambda x: np.atleast_1d(x) * 2, lambda x: np.copyto(x, 1)),
            *(lambda x: x.fill(0), fails),
        ],
    ),
    (
        list,
        [
            *(itself, list.copy, list.pop, list.reverse, list.clear, list.sort, fails),
            *(lambda x: x.append([1, "new"]), lambda x: x.insert(0, torch.ones(2)), len),
            *(lambda x: x.__setitem__(0, b"other"), lambda x: x.extend([2.5] * 20)),
        ],
    ),
    (
        dict,
        [
            *(itself, dict.copy, dict.popitem, renamed, dict.clear, list, fails),
            *(lambda x: x.update(new={"a": 1}), lambda x: x.setdefault("new", set())),
        ],
    ),
    (set, [itself, set.clear, lambda x: x.add("new"), lambda x: x.add((1, 2)), fails]),
    (bytearray, [itself, bytearray.clear, lambda x: x.append(7), lambda x: x.extend(b"new"), len]),
    (
        io.BytesIO,
        [
            *(lambda x: x.write(b"new"), lambda x: x.read(2), lambda x: x.seek(0), fails),
            *(lambda x: x.truncate(1), lambda x: x.getvalue(), lambda x: x.tell()),
        ],
    ),
    (Path, [lambda x: x.read_text("utf-8"), lambda x: x.name]),
    (
        FunctionType,
        [
            *(lambda x: x(), quietly(lambda x: x()), lambda x: x(torch.ones(2)), fails),
            *(lambda x: x([1], b"two", {"three": 4.0}), lambda x: [x(), x()]),
        ],
    ),
    (Iterator, [lambda x: next(x, "end"), list, iter, fails]),
    (object, [itself, lambda x: [x], lambda x: {"a": (x, x)}, lambda x: type(x).__name__, fails]),
]


class Comparison:
    """Compares what two calls left behind.

    Args:
        mine: the arguments of the one.
        theirs: those of the other, made alike.
    """

    def __init__(self, mine: list[Any], theirs: list[Any]) -> None:
        self.passed = list(reachable(mine))
        self.pairs = {
            id(one): other
            for one, other in zip(self.passed, reachable(theirs), strict=True)
            if isinstance(one, (list, dict, set, bytearray, np.ndarray, torch.Tensor))
        }

    def expect_alike(self, mine: Any, theirs: Any) -> None:
        """Fail where they differ in type or value, or one is an argument and the other is not."""
        if isinstance(mine, (FunctionType, Iterator)):
            return
        assert type(mine) is type(theirs), (mine, theirs)
        if not (isinstance(mine, torch.Tensor) and not mine.is_leaf):
            assert self.pairs.get(id(mine), theirs) is theirs
        self.expect_alike_inside(mine, theirs)

    def expect_alike_inside(self, mine: Any, theirs: Any) -> None:
        """Fail where what they hold differs."""
        if isinstance(mine, torch.Tensor):
            assert str((mine.dtype, mine.tolist())) == str((theirs.dtype, theirs.tolist()))
            assert mine.requires_grad == theirs.requires_grad
            self.expect_alike(gradient(mine), gradient(theirs))
        elif isinstance(mine, np.ndarray):
            assert str((mine.dtype, mine.tolist())) == str((theirs.dtype, theirs.tolist()))
        elif isinstance(mine, (list, tuple)):
            assert len(mine) == len(theirs)
            for one, other in zip(mine, theirs, strict=True):
                self.expect_alike(one, other)
        elif isinstance(mine, dict):
            assert list(mine) == list(theirs)
            self.expect_alike(list(mine.values()), list(theirs.values()))
        elif isinstance(mine, io.BytesIO):
            assert (mine.getvalue(), mine.tell()) == (theirs.getvalue(), theirs.tell())
        elif isinstance(mine, (set, frozenset)):
            assert mine == theirs
        else:
            assert repr(mine) == repr(theirs)


def gradient(tensor: torch.Tensor) -> torch.Tensor | None:
    """The gradient of a leaf."""
    return tensor.grad if tensor.is_leaf else None


def outcome(call: Any, script: list[Step], values: list[Any]) -> Any:
    """The result of a call, or the name of the exception that it raises."""
    try:
        return call(script, values)
    except SubmissionError as error:
        return error.type_name
    except Exception as error:
        return type(error).__name__


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what is passed by its path."""
    return tmp_path_factory.mktemp("files")


def test_both_runners_see_the_same(folder: Path) -> None:
    """Result, changes to arguments and exceptions, for arguments and deeds of every kind."""

    @settings(max_examples=300, deadline=None)
    @given(
        recipe=arguments(folder),
        script=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6),
    )
    def holds(recipe: Recipe, script: list[Step]) -> None:
        mine, theirs = recipe(), recipe()
        comparison = Comparison(mine, theirs)
        note(f"arguments: {mine}")
        with conversation(session_with(work=work)) as talk:
            across = outcome(lambda *args: talk.call("work", args, {}), script, theirs)
        within = outcome(work, script, mine)
        note(f"results: {within} and {across}")
        comparison.expect_alike(mine, theirs)
        comparison.expect_alike(within, across)

    holds()


class Keeper:
    """Keeps what it was given, and changes it later."""

    def __init__(self, words: list[str], table: dict[str, int]) -> None:
        self.words = words
        self.table = table

    def sort(self) -> None:
        """Change one."""
        self.words.sort()

    def grow(self, word: str) -> list[str]:
        """Change both."""
        self.words.append(word)
        self.table[word] = len(self.table)
        return self.words


def test_an_object_may_change_what_it_was_made_of() -> None:
    """Each of its methods shows what it changed, whatever was called meanwhile."""
    words, table, others = ["b", "a"], {"a": 0}, ["z", "y"]
    with conversation(session_with(keeper=Keeper, sort=list.sort)) as talk:
        keeper, other = (talk.call("keeper", (one, table), {}) for one in (words, others))
        keeper.sort()
        assert (words, others, table) == (["a", "b"], ["z", "y"], {"a": 0})
        numbers = [3, 1]
        talk.call("sort", (numbers,), {})
        assert keeper.grow("c") == ["a", "b", "c"]
        assert (numbers, words, table) == ([1, 3], ["a", "b", "c"], {"a": 0, "c": 1})
        with pytest.raises(SubmissionError, match="TypeError"):
            other.grow([])
        assert others == ["z", "y", []]


def test_gradients_reach_what_was_passed_in_the_middle_of_a_call() -> None:
    """Tensors from a generator and from a function of the check are arguments like others."""

    def total(items: Iterator[torch.Tensor], function: Any) -> torch.Tensor:
        product: torch.Tensor = torch.stack(list(items)).sum() * function()
        return product

    leaves = [torch.tensor(x, requires_grad=True) for x in (2.0, 3.0, 5.0)]
    with conversation(session_with(total=total)) as talk:
        result = talk.call("total", ((x * 1 for x in leaves[:2]), lambda: leaves[2] * 1), {})
        result.backward()
    assert result.item() == 25.0
    assert [x.grad.item() for x in leaves if x.grad is not None] == [5.0, 5.0, 5.0]


def test_layouts_in_memory_arrive() -> None:
    """A view of a transposed tensor fails over there, too, and a read-only array stays one."""
    base = torch.arange(6.0).reshape(2, 3)
    leaf = base.clone().requires_grad_()
    views = [base.T, base[:, ::2], base[:1].expand(4, 3), leaf.T, torch.nn.Parameter(base.T)]
    fixed = np.ones(2)
    fixed.flags.writeable = False
    double = torch.no_grad()(lambda x: x[0].mul_(2) is None)
    with conversation(
        session_with(stride=torch.Tensor.stride, flags=lambda x: x.flags.writeable, double=double)
    ) as talk:
        assert [talk.call("stride", (x,), {}) for x in views] == [x.stride() for x in views]
        assert [talk.call("flags", (x,), {}) for x in (fixed, np.ones(2))] == [False, True]
        expanded = torch.ones(3).expand(2, 3)
        talk.call("double", (expanded,), {})
    assert expanded.tolist() == [[2.0] * 3] * 2
    assert expanded.stride() == (0, 1)


def replace(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> tuple[bool, float]:
    """Give a module another parameter; return its mode, and an option of an optimizer."""
    module.weight = torch.nn.Parameter(torch.zeros(1, 2))
    return module.training, optimizer.param_groups[0]["lr"]


def test_modules_and_optimizers_of_torch_are_as_here() -> None:
    """Their mode and options arrive in every call; another tensor in a module comes back."""
    module = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    with conversation(session_with(replace=replace, array=lambda: np.array(["a"]))) as talk:
        assert talk.call("replace", (module, optimizer), {}) == (True, 0.5)
        optimizer.param_groups[0]["lr"] = 0.25
        assert talk.call("replace", (module.eval(), optimizer), {}) == (False, 0.25)
        assert module.weight.tolist() == [[0.0, 0.0]]
        with pytest.raises(SubmissionError, match="an array of 1 str32 cannot be passed on"):
            talk.call("array", (), {})
