"""Arguments of every kind that the border carries, made anew as often as they are needed."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from cs336_grader.worker.values import ARRAY_DTYPES, DTYPES

Recipe = Callable[[], Any]

FLOATS = ("float16", "bfloat16", "float32", "float64")


def constant(value: Any) -> Recipe:
    """A recipe for what cannot change."""
    return lambda: value


def tensor(dtype: str, shape: tuple[int, ...], kind: str) -> Recipe:
    """A recipe for a tensor."""

    def make() -> torch.Tensor:
        numbers = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape)
        value = numbers.to(torch.float64).to(DTYPES[dtype])
        if kind in ("parameter", "leaf", "computed", "with gradient") and dtype in FLOATS:
            return trained(value, kind)
        if kind == "transposed":
            return value.T.contiguous().T if value.ndim == 2 else value
        if kind == "strided":
            return torch.stack((value, value), -1)[..., 0]
        return value.expand(2, *shape) if kind == "expanded" else value

    return make


def trained(value: torch.Tensor, kind: str) -> torch.Tensor:
    """A tensor that requires a gradient."""
    if kind == "parameter":
        return torch.nn.Parameter(value)
    leaf = value.requires_grad_()
    if kind == "with gradient":
        leaf.grad = torch.ones_like(leaf)
    return leaf * 1.0 if kind == "computed" else leaf


def array(dtype: str, shape: tuple[int, ...], kind: str) -> Recipe:
    """A recipe for an array."""

    def make() -> np.ndarray[Any, Any]:
        value = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        value.flags.writeable = kind != "read-only"
        return value.T if kind == "transposed" else value

    return make


def file(content: bytes, position: int) -> Recipe:
    """A recipe for a binary file object."""

    def make() -> io.BytesIO:
        made = io.BytesIO(content)
        made.seek(min(position, len(content)))
        return made

    return make


def generator(recipes: list[Recipe]) -> Recipe:
    """A recipe for an iterator that makes its items when they are asked for."""
    return lambda: (recipe() for recipe in recipes)


def training() -> object:
    """Parameters, and a function that computes their gradients where gradients are on."""
    parameters = [torch.nn.Parameter(torch.arange(1.0, 4.0)), torch.nn.Parameter(torch.ones(2, 2))]

    def loss(*_given: object) -> object:
        for parameter in parameters:
            parameter.grad = None
        total = torch.stack([(parameter**2).sum() for parameter in parameters]).sum()
        if torch.is_grad_enabled():
            torch.autograd.backward(total)
        return total.item(), torch.is_grad_enabled()

    return parameters, loss


def observing() -> object:
    """Containers, and a function that says what is in them."""
    words, table, floats = ["b", "a"], {"k": 1}, torch.ones(3)
    return words, table, floats, lambda *_given: [*words, *table, *floats.tolist()]


scalars = st.one_of(
    *(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5)),
    *(st.binary(max_size=5), st.sampled_from(list(DTYPES.values()))),
)
hashable = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.binary(max_size=3)),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
KINDS = ("plain", "parameter", "leaf", "computed", "with gradient")
tensors = st.builds(
    tensor,
    st.sampled_from(list(DTYPES)),
    shapes,
    st.sampled_from([*KINDS, "transposed", "strided", "expanded"]),
) | st.builds(tensor, st.sampled_from(FLOATS), shapes, st.sampled_from(KINDS))
arrays = st.builds(
    array,
    st.sampled_from(sorted(ARRAY_DTYPES)),
    shapes,
    st.sampled_from(["plain", "read-only", "transposed"]),
)
things = st.recursive(
    st.one_of(
        *(scalars.map(constant), tensors, arrays),
        st.binary(max_size=5).map(lambda data: lambda: bytearray(data)),
        st.sets(hashable, max_size=4).map(lambda items: lambda: set(items)),
        st.frozensets(hashable, max_size=4).map(constant),
        st.lists(st.integers(), min_size=16, max_size=18).map(lambda items: lambda: list(items)),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(lambda items: lambda: [make() for make in items]),
        st.lists(inner, max_size=4).map(lambda items: lambda: tuple(make() for make in items)),
        st.dictionaries(hashable, inner, max_size=4).map(
            lambda items: lambda: {key: make() for key, make in items.items()}
        ),
    ),
    max_leaves=8,
)


def arguments(folder: Path) -> st.SearchStrategy[Recipe]:
    """Recipes for the arguments of a call, some of them passed more than once."""
    path = folder / "text"
    path.write_text("some text", encoding="utf-8")
    one = st.one_of(
        things,
        things,
        *(st.just(training), st.just(observing), st.just(constant(path))),
        st.builds(file, st.binary(max_size=6), st.integers(0, 6)),
        st.lists(things, max_size=3).map(generator),
        st.lists(things, max_size=3).map(lambda items: lambda: iter([make() for make in items])),
    )

    def with_repeats(recipes: list[Recipe], order: list[int]) -> Recipe:
        def make() -> list[Any]:
            made = [recipe() for recipe in recipes]
            return made + [made[i % len(made)] for i in order]

        return make

    repeats = st.lists(st.integers(0, 5), max_size=2)
    return st.builds(with_repeats, st.lists(one, min_size=1, max_size=4), repeats)


def reachable(values: Iterator[Any] | list[Any] | tuple[Any, ...]) -> Iterator[Any]:
    """The values and all that lists, tuples and dictionaries among them hold."""
    for value in values:
        yield value
        if isinstance(value, (list, tuple)):
            yield from reachable(value)
        elif isinstance(value, dict):
            yield from reachable(list(value.values()))
