"""Checks the state of an optimizer of torch that comes back from the worker.

Torch steps in native code that trusts the state: a fused step reads and writes as many elements of
it as its parameter has. A new optimizer's first step over parameters of the same shapes shows what
a state consists of.
"""

import inspect
import math
import sys
from typing import Any

import numpy as np
import torch

from cs336_grader.worker.channel import WireError

# They decide how a step is computed, and change no result: the check's values stay.
IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable")


def checked_state(optimizer: torch.optim.Optimizer, given: Any) -> dict[str, Any]:
    """A state dict that can be loaded: the given hyperparameters and state.

    Args:
        optimizer: one of torch's own.
        given: its state dict in the worker; nothing in it is relied on.

    Raises:
        WireError: torch would never make it for these parameters.
        LookupError, TypeError, ValueError, RuntimeError: it is no state dict.
    """
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
    """The worker's value of a hyperparameter; what else a group holds stays as it is here.

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
    """The state of each parameter of a group after a first step.

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
    """The state of one parameter, if it is one.

    Raises:
        WireError: torch would never make it.
    """
    if found.keys() != expected.keys():
        raise WireError("the state of an optimizer has other entries than torch gives it")
    steps = {"step": count(found["step"], expected["step"])} if "step" in found else {}
    for name, value in (found | steps).items():
        if not is_alike(value, expected[name]):
            raise WireError(f"{name} in the state of an optimizer does not fit its parameter")
    return found | steps


def count(value: Any, own: torch.Tensor) -> torch.Tensor:
    """A number of steps, which a submission may keep in any dtype.

    Raises:
        WireError: no optimizer takes so many steps.
        TypeError, ValueError, RuntimeError, OverflowError: it is no number.
    """
    number = math.nan if isinstance(value, str) else float(value)
    if not 0 <= number < math.inf:
        raise WireError("the step of an optimizer is not a number of steps")
    return torch.full_like(own, number)
