"""Optimizers that the judge and the worker share.

A ``MirroredOptimizer`` stands in the judge for one of the submission's class, which stays in the
worker. One of torch's own is the judge's and has a stand-in in the worker (worker/standins.py);
``checked_state`` checks the state that comes back from there. Torch steps in native code that
trusts the state: a fused step reads and writes as many elements of it as its parameter has. A new
optimizer's first step over parameters of the same shapes shows which state is right.
"""

import inspect
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from cs336_grader.worker.channel import WireError
from cs336_grader.worker.values import is_plain

from .remote import Caller, RemoteObject

Group = dict[str, Any]
# They decide how a step is computed, and change no result: the check's values stay.
IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable")


class MirroredOptimizer(RemoteObject):
    """The submission's optimizer, in the worker, over parameters that are in this process.

    Its methods run in the worker. Parameters, gradients and hyperparameters are sent before, and
    come back. Its state stays in the worker.

    Attributes:
        param_groups: as torch has them; hyperparameters may be changed between steps.
    """

    def __init__(self, caller: Caller, key: int) -> None:
        super().__init__(caller, key, "optimizer")
        self.param_groups: list[Group] = []

    def zero_grad(self) -> None:
        """Forget the gradients of all parameters."""
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def take_over(self, groups: list[Group]) -> None:
        """Take the groups from the worker; a known group stays the same dictionary."""
        self.param_groups += [{} for _ in groups[len(self.param_groups) :]]
        for group, given in zip(self.param_groups, groups, strict=True):
            group.update(given)


def checked_groups(
    given: Any, fewest: int, parameter: Callable[[int], torch.Tensor]
) -> list[Group]:
    """Return the groups of an optimizer in the worker, over the parameters here.

    Args:
        given: the hyperparameters of each group, and the keys of its parameters; nothing in it is
            relied on.
        fewest: how many groups there were before.
        parameter: returns the parameter of a key.

    Raises:
        WireError, LookupError: no optimizer has such groups.
    """
    if type(given) is not list or not all(map(is_group, given)):
        raise WireError("a group of an optimizer is not as agreed")
    keys = [key for _, own in given for key in own]
    if len(set(keys)) < len(keys):
        raise WireError("an optimizer has a parameter twice")
    if len(given) < fewest:
        raise WireError("an optimizer has fewer groups than it had")
    return [{**options, "params": list(map(parameter, own))} for options, own in given]


def is_group(given: Any) -> bool:
    """Return True for a pair of plain hyperparameters by name, and a list of keys."""
    if type(given) is not tuple or [*map(type, given)] != [dict, list]:
        return False
    options, keys = given
    named = all(type(name) is str and is_plain(value) for name, value in options.items())
    return named and all(type(key) is int for key in keys)


def checked_state(optimizer: torch.optim.Optimizer, given: Any) -> dict[str, Any]:
    """Return a state dict that can be loaded: the given hyperparameters and state.

    Args:
        optimizer: one of torch's own.
        given: its state dict in the worker; nothing in it is relied on.

    Raises:
        WireError: torch would never make it for these parameters.
        LookupError, TypeError, ValueError, RuntimeError: it is no state dict.
    """
    if type(given) is not dict or type(given["state"]) is not dict:
        raise WireError("the state of an optimizer is no dictionary")
    own = optimizer.state_dict()
    groups, states = [], []
    for group, held, sent in zip(
        optimizer.param_groups, own["param_groups"], given["param_groups"], strict=True
    ):
        if sent["params"] != held["params"]:
            raise WireError("the groups of an optimizer are not those that it had")
        groups.append({name: option(name, held[name], sent) for name in held})
        states += first_states(type(optimizer), groups[-1], group["params"])
    numbered = dict(enumerate(states))
    state = {number: entries(found, numbered[number]) for number, found in given["state"].items()}
    return {"state": state, "param_groups": groups}


def option(name: str, own: object, sent: dict[str, object]) -> object:
    """Return the worker's value of a hyperparameter, and the judge's of anything else in a group.

    Raises:
        WireError: it is no value of this hyperparameter.
    """
    if name == "params" or name in IMPLEMENTATION or not is_hyperparameter(own):
        return own
    if not is_alike(sent[name], own):
        raise WireError(f"the {name} of an optimizer is of another kind, or not finite")
    return sent[name]


def is_hyperparameter(own: object) -> bool:
    """Return True for a number, a truth value or several of them."""
    if isinstance(own, tuple):
        return all(map(is_hyperparameter, own))
    return isinstance(own, (bool, int, float, torch.Tensor))


def is_alike(value: Any, own: Any) -> bool:
    """Return True for a finite value of the same kind as the judge's own."""
    if isinstance(own, torch.Tensor):
        return fits(value, own)
    if isinstance(own, tuple):
        same = type(value) is tuple and len(value) == len(own)
        return same and all(map(is_alike, value, own))
    if type(own) in (int, float):
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    return type(value) is type(own)


def fits(value: Any, own: torch.Tensor | np.ndarray[Any, Any]) -> bool:
    """Return True for a value that can replace a tensor or array of the judge."""
    if isinstance(own, np.ndarray):
        same = type(value) is np.ndarray
    else:
        same = type(value) is torch.Tensor and value.is_meta == own.is_meta
    return same and (value.shape, value.dtype) == (own.shape, own.dtype)


def first_states(
    kind: type[torch.optim.Optimizer], group: dict[str, Any], tensors: list[torch.Tensor]
) -> list[dict[str, Any]]:
    """Return the state of each parameter of a group after a first step.

    Raises:
        WireError: the optimizer refuses the hyperparameters.
    """
    parameters = [torch.nn.Parameter(torch.zeros_like(tensor)) for tensor in tensors]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    accepted = inspect.signature(kind).parameters
    options = {name: group[name] for name in group if name in accepted and name != "params"}
    try:
        optimizer = kind(parameters, **options)
    except ValueError as error:
        raise WireError(f"an optimizer refuses its hyperparameters: {error}") from error
    optimizer.step()
    return [optimizer.state[parameter] for parameter in parameters]


def entries(found: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return the state of one parameter, if it is one.

    Raises:
        WireError: torch would never make it.
    """
    if type(found) is not dict or found.keys() != expected.keys():
        raise WireError("the state of an optimizer has other entries than torch gives it")
    steps = {"step": count(found["step"], expected["step"])} if "step" in found else {}
    for name, value in (found | steps).items():
        if not is_alike(value, expected[name]):
            raise WireError(f"{name} in the state of an optimizer does not fit its parameter")
    return found | steps


def count(value: Any, own: torch.Tensor) -> torch.Tensor:
    """Return a number of steps, which a submission may keep in any dtype.

    Raises:
        WireError: no optimizer takes so many steps.
        TypeError, ValueError, RuntimeError, OverflowError: it is no number.
    """
    number = math.nan if isinstance(value, str) else float(value)
    if not 0 <= number < math.inf:
        raise WireError("the step of an optimizer is not a number of steps")
    return torch.full_like(own, number)
