"""A worker can send anything: an answer that does not fit changes nothing in the judge."""

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from cs336_grader.running.conversation import Conversation
from cs336_grader.running.faults import WorkerLostError

from .border import answers_with, conversation, result, session_with

FOUR = np.arange(4.0, dtype=np.float32).tobytes()
EMPTY: list[Any] = ["dict", [], []]
# The key of the only object that is passed with one: the file.
FILE_KEY = 0
DEEP: list[Any] = []
for _ in range(200):
    DEEP = [DEEP]


class Passed:
    """The arguments of a check, in the order of their numbers."""

    def __init__(self) -> None:
        self.tensor = torch.ones(2, 2)
        self.array = np.ones(4, np.float32)
        self.list = [1]
        self.dict = {"a": 1}
        self.file = io.BytesIO(b"content")

    def values(self) -> tuple[object, ...]:
        """All of it."""
        return self.tensor, self.array, self.list, self.dict, self.file

    def state(self) -> str:
        """All that it holds."""
        file = self.file.getvalue(), self.file.tell()
        return repr((self.tensor, self.tensor.grad, self.array, self.list, self.dict, file))


def tensor(shape: Any, dtype: str = "float32") -> list[Any]:
    """The node of a tensor in the first buffer."""
    return ["tensor", 0, dtype, shape]


def groups(*pairs: tuple[Any, Any]) -> list[Any]:
    """The node of an optimizer's groups: hyperparameters, and the keys of parameters."""
    return ["list", [["tuple", [options, ["list", keys]]] for options, keys in pairs]]


CHANGES: dict[str, list[Any]] = {
    "another shape": [[0, "data", tensor([4])]],
    "another dtype": [[0, "data", tensor([2, 2], "int32")]],
    "a complex dtype": [[0, "data", tensor([2], "complex64")]],
    "a gradient of another shape": [[0, "grad", tensor([4])]],
    "a gradient of another dtype": [[0, "grad", tensor([2, 2], "uint32")]],
    "a gradient without data": [[0, "grad", ["meta", "float32", [2, 2]]]],
    "data without data": [[0, "data", ["meta", "float32", [2, 2]]]],
    "an array for a tensor": [[0, "data", ["ndarray", 0, "float32", [2, 2]]]],
    "an array for a gradient": [[0, "grad", ["ndarray", 0, "float32", [2, 2]]]],
    "a tensor for an array": [[1, "data", tensor([4])]],
    "an array of another dtype": [[1, "data", ["ndarray", 0, "int32", [4]]]],
    "an array of another shape": [[1, "data", ["ndarray", 0, "float32", [1, 4]]]],
    "nothing for an array": [[1, "data", None]],
    "a gradient of an array": [[1, "grad", None]],
    "a number for a tensor": [[0, "data", 5]],
    "nothing for a tensor": [[0, "data", None]],
    "items of a tensor": [[0, "items", ["list", []]]],
    "data of a list": [[2, "data", ["list", []]]],
    "a tuple for a list": [[2, "items", ["tuple", []]]],
    "a dictionary for a list": [[2, "items", EMPTY]],
    "a list for a dictionary": [[3, "items", ["list", []]]],
    "nothing for a dictionary": [[3, "items", None]],
    "a part that nothing has": [[0, "shape", tensor([2, 2])]],
    "a part of no name": [[0, [], tensor([2, 2])]],
    "an argument from behind": [[-1, "items", EMPTY]],
    "an argument that is true": [[True, "data", ["ndarray", 0, "float32", [4]]]],
    "an argument that was not passed": [[5, "grad", None]],
    "an argument of no number": [["0", "grad", None]],
    "an argument of a fraction": [[0.0, "grad", None]],
    "an argument of itself that was not passed": [[2, "items", ["given", 5]]],
    "an output of the result": [[2, "items", ["list", [["output", 0]]]]],
    "one buffer for two": [[0, "data", tensor([2, 2])], [0, "grad", tensor([2, 2])]],
    "a good one before a bad one": [[0, "data", tensor([2, 2])], [0, "grad", 5]],
    "a file of another kind": [[4, "content", ["tuple", [["bytearray", 0], 0]]]],
    "a file of text": [[4, "content", ["tuple", ["text", 0]]]],
    "a file that is no pair": [[4, "content", ["bytes", 0]]],
    "the content of a list": [[2, "content", ["tuple", [["bytes", 0], 0]]]],
    **{
        f"a file at {position}": [[4, "content", ["tuple", [["bytes", 0], position]]]]
        for position in (-1, 0.5, True, None, "0", 2**40, 10**400)
    },
    "the state of a file": [[4, "state", EMPTY]],
    "the groups of a file": [[4, "groups", ["list", []]]],
    "no parts": [[]],
    "a number": 7,  # type: ignore[dict-item]
}
ANSWERS: dict[str, dict[str, Any]] = {
    **{f"a change: {name}": {"changed": change} for name, change in CHANGES.items()},
    "an output that is a number": {"outputs": [5], "value": ["output", 0]},
    "an output that is an array": {"outputs": [["ndarray", 0, "float32", [4]]]},
    "an output without number": {"outputs": 7},
    **{
        f"output {number}": {"outputs": [tensor([4])], "value": ["output", number]}
        for number in (-1, 1, True, None, 0.0)
    },
    **{f"argument {number}": {"value": ["given", number]} for number in (-1, 99, True, None)},
    **{f"an object {key!r:.20}": {"value": ["object", key, "X"]} for key in (-1, None, DEEP)},
    "an iterator of no key": {"value": ["iterator", DEEP]},
    "an optimizer of no key": {"value": ["optimizer", "0", ["list", []]]},
    "an optimizer over a file": {"value": ["optimizer", 1, groups((EMPTY, [FILE_KEY]))]},
    "an optimizer over what was not passed": {"value": ["optimizer", 1, groups((EMPTY, [99]))]},
    "an optimizer without groups": {"value": ["optimizer", 1, 7]},
    "an optimizer with options that are none": {"value": ["optimizer", 1, groups((5, []))]},
    "an optimizer with options of no name": {
        "value": ["optimizer", 1, groups((["dict", [1], [1]], []))]
    },
    "an optimizer with options that hold more": {
        "value": ["optimizer", 1, groups((["dict", ["lr"], [EMPTY]], []))]
    },
    "bytes that are more than their parts": {"value": ["list", {"bytes": "abc", "sizes": [1, 1]}]},
    "bytes in a part of negative size": {"value": ["list", {"bytes": "a", "sizes": [2, -1]}]},
    "tuples whose sizes are no numbers": {"value": ["list", {"tuples": [1], "sizes": [True]}]},
    "tuples without sizes": {"value": ["list", {"tuples": [1]}]},
    "parts of nothing": {"value": ["list", {"sizes": []}]},
    "a tensor larger than memory, and empty": {"value": tensor([2**40, 2**40, 0])},
    "a tensor larger than memory, without data": {"value": ["meta", "float32", [2**40, 2**40]]},
    "a tensor of more elements than there are": {"value": tensor([2**40])},
    "a tensor of a size that is true": {"value": tensor([True, 4])},
    "no value": {"value": ["none"]},
    "no value at all": {"value": {}},
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_does_not_fit_changes_nothing(name: str) -> None:
    """The check fails, for there is no result."""
    passed = Passed()
    before = passed.state()
    with conversation(answers_with((result(**ANSWERS[name]), [FOUR]))) as talk:
        with pytest.raises(WorkerLostError, match="cannot be used"):
            talk.call("f", passed.values(), {})
        assert passed.state() == before


@pytest.mark.parametrize("name", CHANGES)
def test_nor_does_a_question_or_an_exception(name: str) -> None:
    """Both carry changes, too."""
    for message in (
        {"op": "error", "type": "E", "text": "", "changed": CHANGES[name]},
        asking(changed=CHANGES[name]),
    ):
        passed = Passed()
        before = passed.state()
        with conversation(answers_with((message, [FOUR]))) as talk:
            with pytest.raises(WorkerLostError, match="cannot be used"):
                talk.call("f", (*passed.values(), lambda: None), {})
            assert passed.state() == before


def asking(**other: Any) -> dict[str, Any]:
    """A call of the function that is passed after the file."""
    usual = {"args": ["tuple", []], "kwargs": EMPTY, "grad_enabled": True}
    return {"op": "callback", "key": FILE_KEY + 1, **usual, **other}


NO_KEYS: tuple[Any, ...] = (-1, 9, None, [], {}, "1")


@pytest.mark.parametrize(
    "question",
    [
        *({"op": "callback", "key": key} for key in (*NO_KEYS, 0, 10**400)),
        *({"op": "pull", "key": key} for key in (*NO_KEYS, 0, 1)),
        {"op": "pull"},
        *(asking(args=args) for args in (None, 5, EMPTY, ["list", []], ["given", 0])),
        *(asking(kwargs=kwargs) for kwargs in (None, 5, ["list", []])),
        asking(kwargs=["dict", [1], [1]]),
        *(asking(grad_enabled=enabled) for enabled in NO_KEYS),
    ],
    ids=str,
)
def test_a_question_that_is_none_calls_nothing(question: dict[str, Any]) -> None:
    """Nor is anything taken from an iterator."""
    passed, called = Passed(), []

    def function(*args: object, **kwargs: object) -> None:
        called.append((args, kwargs))

    with conversation(answers_with((question, []))) as talk:
        with pytest.raises(WorkerLostError, match="cannot be used"):
            talk.call("f", (*passed.values(), function), {})
        assert called == []


@pytest.mark.parametrize(
    "value",
    [
        *(None, 5, "ab", EMPTY, ["given", 0], ["list", []]),
        *(["list", [item]] for item in (5, "ab", EMPTY, ["list", []])),
        *(
            ["list", [node]]
            for node in (
                tensor([4]),
                tensor([2, 2], "int32"),
                ["meta", "float32", [2, 2]],
                ["ndarray", 0, "float32", [2, 2]],
            )
        ),
        ["list", [None, None]],
    ],
    ids=str,
)
def test_a_gradient_that_does_not_fit_is_none(value: Any) -> None:
    """The engine of torch does not get to see it."""
    x = torch.ones(2, 2, requires_grad=True)
    forward = result(["output", 0], outputs=[tensor([2, 2])])
    backward = {"op": "result", "value": value}
    with conversation(answers_with((forward, [FOUR]), (backward, [FOUR]))) as talk:
        y = talk.call("f", (x,), {})
        with pytest.raises(WorkerLostError, match="cannot be used"):
            y.sum().backward()
    assert x.grad is None


OLDER: tuple[Any, ...] = (
    *([-1, "items", EMPTY], [9, "items", EMPTY], [None, "items", EMPTY], [0, "data", EMPTY]),
    *([0, "items", 5], [0, "items", ["tuple", []]], [], 7),
)


@pytest.mark.parametrize("older", OLDER, ids=str)
def test_what_an_object_was_made_of_is_changed_as_arguments_are(older: Any) -> None:
    """They must fit."""
    given = [1, 2]
    made = result(["object", 0, "X"])
    with conversation(answers_with((made, []), (result(older=[older]), []))) as talk:
        keeper = talk.call("f", (given,), {})
        with pytest.raises(WorkerLostError, match="cannot be used"):
            keeper.method()
    assert given == [1, 2]


@pytest.mark.parametrize("call", [-1, None, "0", DEEP, True])
def test_a_call_is_known_by_a_number(call: object) -> None:
    """It is sent back when a gradient is asked for."""
    x = torch.ones(2, 2, requires_grad=True)
    forward = result(["output", 0], outputs=[tensor([2, 2])], call=call)
    with (
        conversation(answers_with((forward, [FOUR]))) as talk,
        pytest.raises(WorkerLostError, match="cannot be used"),
    ):
        talk.call("f", (x,), {})


RATE = ["dict", ["lr"], [0.5]]


@pytest.mark.parametrize(
    "given",
    [
        *(groups(), groups((RATE, [9])), groups((RATE, [0, 0])), groups((RATE, [None]))),
        *(["list", [["list", [RATE]]]], ["list", [7]], 7, None, groups((["object", 1, "X"], [0]))),
    ],
    ids=str,
)
def test_groups_that_an_optimizer_cannot_have_are_not_taken_over(given: Any) -> None:
    """It goes on with those it had."""
    x = torch.nn.Parameter(torch.ones(1))
    made = result(["optimizer", 1, groups((RATE, [0]))])
    stepped = result(changed=[[0, "data", tensor([1])], [1, "groups", given]])
    with conversation(answers_with((made, []), (stepped, [FOUR[:4]]))) as talk:
        optimizer = talk.call("f", ([x],), {})
        with pytest.raises(WorkerLostError, match="cannot be used"):
            optimizer.step()
    assert optimizer.param_groups == [{"lr": 0.5, "params": [x]}]
    assert x.item() == 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda *_: None, "called the check's functions over 20 times"),
        (lambda *_: torch.ones(100_000), "functions and iterators of the check for over 1 MB"),
    ],
)
def test_functions_are_not_called_without_end(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., object], told: str
) -> None:
    """Their results are kept while the call lasts."""
    monkeypatch.setattr("cs336_grader.running.conversation.MAX_CALLBACKS", 20)
    monkeypatch.setattr("cs336_grader.running.conversation.MAX_GIVEN_BYTES", 2**20)
    adapters = session_with(ask=lambda ask, times: [ask() for _ in range(times)][:0])
    with conversation(adapters) as talk:
        for _ in range(30):
            assert talk.call("ask", (function, 2), {}) == []
        with pytest.raises(WorkerLostError, match=told):
            talk.call("ask", (function, 30), {})


def test_an_iterator_gives_no_more_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors that a generator makes are arguments of the call."""
    monkeypatch.setattr("cs336_grader.running.conversation.MAX_GIVEN_BYTES", 2**20)
    with conversation(session_with(count=lambda items: sum(1 for _ in items))) as talk:
        assert talk.call("count", ((torch.ones(1000) for _ in range(50)),), {}) == 50
        with pytest.raises(WorkerLostError, match="over 1 MB"):
            talk.call("count", ((torch.ones(1000) for _ in range(500)),), {})


def test_a_check_takes_in_no_more_than_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many answers together may be too large, each of which is not."""
    monkeypatch.setattr("cs336_grader.running.conversation.MAX_RECEIVED_BYTES", 2**10)
    with conversation(session_with(ones=torch.ones)) as talk:
        assert talk.call("ones", (100,), {}).shape == (100,)
        with pytest.raises(WorkerLostError, match="more than a check may take in"):
            talk.call("ones", (200,), {})


def test_what_is_not_finite_is_a_value_like_others() -> None:
    """A submission may return it."""
    values = ["list", [math.inf, -math.inf, math.nan]]
    with conversation(answers_with((result(values), []))) as talk:
        assert repr(talk.call("f", (), {})) == "[inf, -inf, nan]"


def test_a_conversation_goes_on_after_a_refusal() -> None:
    """Only the answer is lost."""
    with conversation(answers_with((result(outputs=7), []), (result(5), []))) as talk:
        with pytest.raises(WorkerLostError):
            talk.call("f", (), {})
        assert isinstance(talk, Conversation)
        assert talk.call("f", (), {}) == 5
