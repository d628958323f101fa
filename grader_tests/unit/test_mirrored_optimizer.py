"""A submission's optimizer trains in the worker as it would in the check's own process."""

import copy
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from .border import conversation, session_with

Make = Callable[..., Any]


class Descent(torch.optim.Optimizer):
    """Goes down by the gradient, corrected for the number of steps, which it keeps in its state."""

    def __init__(self, params: Any, lr: Any = 0.1, beta: float = 0.5, **more: Any) -> None:
        super().__init__(params, {"lr": lr, "beta": beta, **more})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    self.step_one(group, p)
                self.finish(group)
        return loss

    def step_one(self, group: dict[str, Any], p: torch.Tensor) -> None:
        """Move one parameter."""
        state = self.state[p]
        state["step"] = state.get("step", 0) + 1
        p -= group["lr"] / (1 - group["beta"] ** state["step"]) * p.grad

    def finish(self, group: dict[str, Any]) -> None:
        """Do what is done once a group."""


class Counting(Descent):
    """Keeps its number of steps in the groups, put there by its constructor."""

    def __init__(self, params: Any, **options: Any) -> None:
        super().__init__(params, step=1, **options)

    def step_one(self, group: dict[str, Any], p: torch.Tensor) -> None:
        """Move one parameter."""
        p -= group["lr"] / (1 - group["beta"] ** group["step"]) * p.grad

    def finish(self, group: dict[str, Any]) -> None:
        """Count."""
        group["step"] += 1


class Powers(Descent):
    """Keeps a power of beta, a tensor, a list and an object in the groups."""

    def __init__(self, params: Any, **options: Any) -> None:
        super().__init__(params, power=1.0, bound=torch.ones(()), past=[], own=object(), **options)

    def step_one(self, group: dict[str, Any], p: torch.Tensor) -> None:
        """Move one parameter."""
        rate = group["lr"] / (1 - group["power"] * group["beta"])
        p -= rate * group["bound"] * p.grad / (1 + len(group["past"]))

    def finish(self, group: dict[str, Any]) -> None:
        """Go on with the power and the rest."""
        group["power"] *= group["beta"]
        group["bound"] /= 2
        group["past"].append(group["lr"])
        assert type(group["own"]) is object


class Late(Descent):
    """Adds to the groups at its first step."""

    def finish(self, group: dict[str, Any]) -> None:
        """Count, and make steps smaller by the count."""
        group["count"] = group.get("count", 0) + 1
        group["lr"] /= group["count"]


CLASSES = (Descent, Counting, Powers, Late)


@contextmanager
def across(kind: type) -> Iterator[Make]:
    """A function that makes optimizers of a class in the worker."""
    with conversation(session_with(make=kind)) as talk:
        yield lambda *args, **options: talk.call("make", args, options)


def parameters(kind: Any = torch.nn.Parameter) -> list[torch.Tensor]:
    """Two tensors to train."""
    tensors = [torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])]
    return [
        kind(tensor) if kind is torch.nn.Parameter else tensor.requires_grad_()
        for tensor in tensors
    ]


def loss_of(trained: list[torch.Tensor]) -> torch.Tensor:
    """The sum of all squares."""
    return torch.cat([p.flatten() for p in trained]).square().sum()


def plain_run(make: Make) -> list[torch.Tensor]:
    """Steps, and nothing else."""
    trained = parameters()
    optimizer = make(trained)
    steps(optimizer, trained, 3)
    return trained


def steps(optimizer: Any, trained: list[torch.Tensor], number: int) -> None:
    """Take steps down the loss."""
    for _ in range(number):
        optimizer.zero_grad()
        torch.autograd.backward(loss_of(trained))
        optimizer.step()


def scheduled_run(make: Make) -> list[torch.Tensor]:
    """The check sets the rate between steps, and reads what there is after them."""
    trained = parameters()
    optimizer = make(trained, lr=0.2)
    seen = []
    for rate in (0.1, None, 0.05, 0.05):
        if rate is not None:
            optimizer.param_groups[0]["lr"] = rate
        steps(optimizer, trained, 1)
        group = optimizer.param_groups[0]
        seen += [float(group[name]) for name in ("lr", "beta", "step", "count") if name in group]
    return [*trained, torch.tensor(seen)]


def run_with_groups(make: Make) -> list[torch.Tensor]:
    """Two groups of different options, one of which is changed."""
    trained = parameters()
    optimizer = make([{"params": trained[:1], "lr": 0.3}, {"params": trained[1:], "beta": 0.9}])
    steps(optimizer, trained, 2)
    optimizer.param_groups[1]["beta"] = 0.1
    steps(optimizer, trained, 2)
    return trained


def run_with_another_group(make: Make) -> list[torch.Tensor]:
    """A group is added between two steps."""
    trained = parameters()
    optimizer = make(trained[:1])
    steps(optimizer, trained[:1], 2)
    optimizer.add_param_group({"params": trained[1:], "lr": 0.01})
    steps(optimizer, trained, 2)
    optimizer.param_groups[1]["lr"] = 0.2
    steps(optimizer, trained, 2)
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 1]
    return trained


def run_with_a_state(make: Make) -> list[torch.Tensor]:
    """The state of one optimizer is loaded into another one."""
    trained, others = parameters(), parameters()
    optimizer, other = make(trained, lr=0.2), make(others, lr=0.1)
    steps(optimizer, trained, 2)
    other.load_state_dict(optimizer.state_dict())
    assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
    steps(other, others, 2)
    return others


def run_with_a_tensor(make: Make) -> list[torch.Tensor]:
    """The rate is a tensor, which the check fills and replaces."""
    trained = parameters()
    optimizer = make(trained, lr=torch.tensor(0.2))
    steps(optimizer, trained, 1)
    optimizer.param_groups[0]["lr"].fill_(0.1)
    steps(optimizer, trained, 1)
    optimizer.param_groups[0]["lr"] = torch.tensor(0.05)
    steps(optimizer, trained, 1)
    return trained


def run_of_tensors(make: Make) -> list[torch.Tensor]:
    """Trains tensors that require a gradient and are no parameters."""
    trained = parameters(torch.Tensor)
    steps(make(trained), trained, 3)
    return trained


def run_with_closures(make: Make) -> list[torch.Tensor]:
    """The check computes the gradients when it is asked, and what was trained before is seen."""
    trained = parameters()
    optimizer = make(trained)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(trained)
        torch.autograd.backward(loss)
        return loss.detach()

    losses = [optimizer.step(closure) for _ in range(3)]
    return [*trained, *losses]


RUNS = (
    *(plain_run, scheduled_run, run_with_groups, run_with_another_group, run_with_a_state),
    *(run_with_a_tensor, run_of_tensors, run_with_closures),
)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kind", CLASSES)
def test_an_optimizer_trains_as_in_one_process(kind: Any, run: Callable[..., Any]) -> None:
    """It may keep anything in its groups, and the check may change options there."""
    wanted = run(kind)
    with across(kind) as make:
        found = run(make)
    assert [x.tolist() for x in found] == [x.tolist() for x in wanted]


class Twice(Descent):
    """Asks for the loss before and after its step."""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step."""
        assert closure is not None
        before = closure()
        super().step()
        return before, closure()


class WithoutGradients(Descent):
    """Forgets that a closure needs gradients."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step."""
        assert closure is not None
        return closure()


def test_a_closure_sees_what_the_step_has_done() -> None:
    """Also in the middle of it."""
    trained = parameters()
    with across(Twice) as make:
        optimizer = make(trained, lr=0.25)
        for p in trained:
            p.grad = p.detach().clone()
        before, after = optimizer.step(lambda: loss_of(trained).item())
    assert (before, after) == (14.0, 3.5)


def test_a_closure_is_called_as_gradients_are_over_there() -> None:
    """A backward pass fails with gradients off, as it would in one process."""
    trained = parameters()
    with across(WithoutGradients) as make:
        optimizer = make(trained)
        assert optimizer.step(torch_is_grad_enabled) is False
        with pytest.raises(RuntimeError, match="does not require grad"):
            optimizer.step(lambda: torch.autograd.backward(loss_of(trained)))
    with across(Descent) as make, torch.no_grad():
        for p in trained:
            p.grad = torch.zeros_like(p)
        assert make(trained).step(torch_is_grad_enabled) is True


def torch_is_grad_enabled() -> bool:
    """Return True while gradients are on in the check."""
    return torch.is_grad_enabled()


def test_what_a_conversation_was_passed_is_forgotten_with_it() -> None:
    """At once: large values would wait long for the garbage collector."""
    gc.disable()
    with conversation(session_with(make=Descent, keep=lambda x: {"kept": [x, object()]})) as talk:
        trained = parameters()
        optimizer = talk.call("make", (trained,), {})
        steps(optimizer, trained, 1)
        talk.call("keep", (optimizer,), {})
    parameter = weakref.ref(trained[0])
    del talk, trained, optimizer
    gc.enable()
    assert parameter() is None


def test_known_groups_stay_the_same_objects() -> None:
    """A check, or a schedule, may hold them."""
    trained = parameters()
    with across(Counting) as make:
        optimizer = make(trained)
        groups = list(optimizer.param_groups)
        kept = copy.copy(groups[0])
        steps(optimizer, trained, 1)
        assert all(one is other for one, other in zip(groups, optimizer.param_groups, strict=True))
    assert (kept["step"], groups[0]["step"]) == (1, 2)
