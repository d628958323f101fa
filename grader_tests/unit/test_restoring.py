"""An optimizer of torch takes over a state from the worker only where torch would make it."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from cs336_grader.running.conversation import UNUSABLE
from cs336_grader.running.optimizers import checked_state

State = dict[str, Any]
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "AdamW": torch.optim.AdamW,
    "AdamW with amsgrad": lambda p: torch.optim.AdamW(p, amsgrad=True),
    "AdamW whose rate is a tensor": lambda p: torch.optim.AdamW(p, lr=torch.tensor(0.1)),
    "fused Adam": lambda p: torch.optim.Adam(p, fused=True),
    "SGD": torch.optim.SGD,
    "SGD with momentum": lambda p: torch.optim.SGD(p, momentum=0.9, nesterov=True),
    "Adagrad": torch.optim.Adagrad,
    "RMSprop": lambda p: torch.optim.RMSprop(p, momentum=0.5, centered=True),
    "NAdam": torch.optim.NAdam,
    "Adafactor": torch.optim.Adafactor,
}


def restore(optimizer: torch.optim.Optimizer, given: State) -> None:
    """Give an optimizer a state from the worker."""
    optimizer.load_state_dict(checked_state(optimizer, given))


def made(kind: str = "AdamW", steps: int = 0) -> torch.optim.Optimizer:
    """An optimizer over three parameters in two groups; the last never has a gradient."""
    torch.manual_seed(0)
    first, second, third = (torch.nn.Parameter(torch.randn(size)) for size in ((3, 2), (5,), ()))
    optimizer = OPTIMIZERS[kind]([{"params": [first, second]}, {"params": [third]}])
    train(optimizer, steps)
    return optimizer


def train(optimizer: torch.optim.Optimizer, steps: int) -> None:
    """Take some steps with fixed gradients."""
    for step in range(steps):
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = torch.full_like(parameter, 0.1 * step + 0.2)
        optimizer.step()


def numbers(optimizer: torch.optim.Optimizer) -> list[float]:
    """All that its parameters hold."""
    groups = optimizer.param_groups
    return [x for group in groups for p in group["params"] for x in p.flatten().tolist()]


@pytest.mark.parametrize("stepped", [0, 2])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_state_of_the_same_optimizer_is_taken_over(kind: str, stepped: int) -> None:
    """Also by one that has not stepped yet; training goes on as it would have in the worker."""
    saved, resumed = made(kind, 3), made(kind, stepped)
    saved.param_groups[0]["lr"] = saved.param_groups[0]["lr"] * 0.5
    restore(resumed, copy.deepcopy(saved.state_dict()))
    with torch.no_grad():
        for mine, other in zip(resumed.param_groups, saved.param_groups, strict=True):
            for a, b in zip(mine["params"], other["params"], strict=True):
                a.copy_(b)
    for optimizer in (saved, resumed):
        train(optimizer, 2)
    assert numbers(resumed) == numbers(saved)


def test_hyperparameters_are_taken_over_and_nothing_else() -> None:
    """The options that decide how a step is computed stay as the check has them."""
    optimizer = made(steps=1)
    given = copy.deepcopy(optimizer.state_dict())
    wanted = {"lr": 0.5, "betas": (0.1, 0.2), "eps": 1, "weight_decay": 0.0, "maximize": True}
    foreign = {"foreach": True, "fused": True, "capturable": True, "differentiable": True, "new": 1}
    given["param_groups"][0].update(wanted | foreign)
    before = dict(optimizer.param_groups[0])
    restore(optimizer, given)
    assert optimizer.param_groups[0] == before | wanted


@pytest.mark.parametrize("steps", [3, 3.0, torch.tensor(3), torch.tensor([3.0])], ids=repr)
def test_steps_may_be_counted_in_any_dtype(steps: object) -> None:
    """As torch's own step takes them."""
    optimizer = made(steps=1)
    given = copy.deepcopy(optimizer.state_dict())
    given["state"][0]["step"] = steps
    restore(optimizer, given)
    assert str(optimizer.state_dict()["state"][0]["step"]) == str(torch.tensor(3.0))


class Remote:
    """An object that stays in the worker; a call of a method asks the worker again."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Fail, but not as something that is not as agreed."""
        raise AssertionError(name)


def change(where: str, value: object) -> Callable[[State], object]:
    """A change to an entry of the first parameter's state."""
    return lambda state: state["state"][0].update({where: value})


def set_option(name: str, value: object) -> Callable[[State], object]:
    """A change to an option of the first group."""
    return lambda state: state["param_groups"][0].update({name: value})


HOSTILE: dict[str, Callable[[State], object]] = {
    "a moment of one number": change("exp_avg", torch.tensor(1.0)),
    "a moment with fewer elements": change("exp_avg", torch.zeros(1, 2)),
    "a moment with as many elements": change("exp_avg_sq", torch.zeros(6)),
    "a moment with more elements": change("exp_avg_sq", torch.zeros(300, 2)),
    "a moment of another dtype": change("exp_avg", torch.zeros(3, 2, dtype=torch.int8)),
    "a complex moment": change("exp_avg", torch.zeros(3, 2, dtype=torch.complex64)),
    "a moment without data": change("exp_avg", torch.zeros(3, 2, device="meta")),
    "a moment that is an array": change("exp_avg", torch.zeros(3, 2).numpy()),
    "a moment that is a number": change("exp_avg", 0.0),
    "a moment that is no value": change("exp_avg", None),
    "a moment that is not there": lambda state: state["state"][0].pop("exp_avg"),
    "an entry of a name that is not torch's": change("exp_avg_of_mine", torch.zeros(())),
    "an entry of another option": change("max_exp_avg_sq", torch.zeros(3, 2)),
    "a step for each element": change("step", torch.ones(3, 2)),
    "a step of several numbers": change("step", torch.ones(2)),
    "a step that is not a number": change("step", torch.tensor(float("nan"))),
    "a step without end": change("step", torch.tensor(float("inf"))),
    "a step before the first": change("step", torch.tensor(-1.0)),
    "a step that is text": change("step", "1"),
    "a step larger than any": change("step", 10**4000),
    "a complex step": change("step", torch.tensor(1j)),
    "a step without data": change("step", torch.empty((), device="meta")),
    "the state of a parameter that does not exist": lambda state: state["state"].update(
        {3: state["state"][0]}
    ),
    "the state of a parameter from behind": lambda state: state["state"].update(
        {-1: state["state"][0]}
    ),
    "the state of a name": lambda state: state["state"].update({"x": state["state"][0]}),
    "the states of two parameters exchanged": lambda state: state["state"].update(
        {0: state["state"][1], 1: state["state"][0]}
    ),
    "no state": lambda state: state.pop("state"),
    "a state that is a list": lambda state: state.update(state=[state["state"][0]]),
    "an entry whose methods run in the worker": lambda state: state["state"].update({0: Remote()}),
    "a state whose methods run in the worker": lambda state: state.update(state=Remote()),
    "an entry that is a list": lambda state: state["state"].update({0: [1]}),
    "a group more": lambda state: state["param_groups"].append(state["param_groups"][0]),
    "a group less": lambda state: state["param_groups"].pop(),
    "groups that are a number": lambda state: state.update(param_groups=3),
    "a group without parameters": lambda state: state["param_groups"][0].pop("params"),
    "parameters in another order": set_option("params", [1, 0]),
    "the same parameter twice": set_option("params", [0, 0]),
    "a rate that is not a number": set_option("lr", float("nan")),
    "a rate without end": set_option("lr", float("inf")),
    "a rate below zero": set_option("lr", -1.0),
    "a rate of text": set_option("lr", "0.1"),
    "a rate that is true": set_option("lr", True),
    "a rate that is a tensor": set_option("lr", torch.tensor(0.1)),
    "no rate": lambda state: state["param_groups"][0].pop("lr"),
    "a rate larger than any": set_option("lr", 10**4000),
    "three betas": set_option("betas", (0.1, 0.2, 0.3)),
    "betas that are a list": set_option("betas", [0.1, 0.2]),
    "betas above one": set_option("betas", (0.9, 5.0)),
    "a truth value that is a number": set_option("maximize", 1),
    "another option's states": set_option("amsgrad", True),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_any_other_state_changes_nothing(name: str) -> None:
    """It is refused before torch gets to see it."""
    optimizer = made(steps=2)
    before = copy.deepcopy(optimizer.state_dict())
    given = copy.deepcopy(before)
    HOSTILE[name](given)
    with pytest.raises(UNUSABLE):
        restore(optimizer, given)
    after = optimizer.state_dict()
    assert after["param_groups"] == before["param_groups"]
    assert str(after["state"]) == str(before["state"])
