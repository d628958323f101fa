"""Saving a training run and taking it up again."""

import copy
import io
import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn

from cs336_basics.files import replacing

# BytesIO by its own name, because at run time it is no IO: it has neither name nor mode.
PathOrFile = str | os.PathLike[str] | IO[bytes] | io.BytesIO

# What a checkpoint holds, and of which type each is.
ENTRIES = {"model": dict, "optimizer": dict, "iteration": int}


def save_checkpoint(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: PathOrFile,
) -> None:
    """Write model, optimizer and iteration to a path or a binary file object.

    A file at a path is replaced at once or not at all: a run that dies while it writes leaves the
    last checkpoint whole.

    Raises:
        OSError: the file cannot be written; the message names it.
        TypeError: the iteration is no whole number.
    """
    checkpoint = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        # NumPy's integers become Python's, because loading takes no other types.
        "iteration": operator.index(iteration),
    }
    if not isinstance(out, str | os.PathLike):
        torch.save(checkpoint, out)
        return
    with replacing(Path(out)) as file:
        try:
            torch.save(checkpoint, file)
        except RuntimeError as error:
            # torch has words of its own where a write failed, and not those of the system.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise


def load_checkpoint(
    src: PathOrFile,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Restore model and optimizer and return the iteration.

    Nothing is changed unless all of the checkpoint fits.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint, or model or optimizer are not like the saved ones.
    """
    checkpoint = read_checkpoint(src)
    require_fit(model.state_dict(), checkpoint["model"])
    before = copy.deepcopy(model.state_dict())
    try:
        model.load_state_dict(checkpoint["model"])
        # Last, because it changes nothing where it fails.
        load_optimizer(optimizer, checkpoint["optimizer"])
    except Exception:
        model.load_state_dict(before)
        raise
    iteration: int = checkpoint["iteration"]
    return iteration


def load_optimizer(optimizer: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Restore an optimizer, or refuse what is not the state of one like it."""
    try:
        optimizer.load_state_dict(state)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the checkpoint does not fit the optimizer: {error}") from error


def load_model(src: PathOrFile, model: nn.Module) -> None:
    """Restore the model alone, to use it and not to train on.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint, or the model is not like the saved one.
    """
    weights = read_checkpoint(src)["model"]
    require_fit(model.state_dict(), weights)
    model.load_state_dict(weights)


def read_checkpoint(src: PathOrFile) -> dict[str, Any]:
    """Read a checkpoint, taking nothing from it that could execute."""
    name = f"'{os.fspath(src)}'" if isinstance(src, str | os.PathLike) else "the file object"
    try:
        # To the CPU first: the device it was saved on may not exist here.
        checkpoint = torch.load(src, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"there is no checkpoint at {name}") from error
    except OSError:
        raise
    except Exception as error:
        # Bytes that are no checkpoint make torch raise nearly anything.
        raise ValueError(
            f"{name} is no checkpoint, or is damaged, or is not read from its start"
        ) from error
    if (
        not isinstance(checkpoint, dict)
        or not all(isinstance(checkpoint.get(key), kind) for key, kind in ENTRIES.items())
        or not all(isinstance(weight, Tensor) for weight in checkpoint["model"].values())
    ):
        raise ValueError(f"{name} is no checkpoint of model, optimizer and iteration")
    return checkpoint


def require_fit(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Refuse a saved model whose parameters are named or shaped otherwise, naming each."""
    faults = [f"{key} is missing" for key in expected.keys() - found.keys()]
    faults += [f"{key} is not in the model" for key in found.keys() - expected.keys()]
    faults += [
        f"{key} is {tuple(found[key].shape)} in the checkpoint, {tuple(value.shape)} in the model"
        for key, value in expected.items()
        if key in found and found[key].shape != value.shape
    ]
    if faults:
        raise ValueError("the checkpoint does not fit the model: " + "; ".join(sorted(faults)))
