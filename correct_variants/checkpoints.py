"""Saving and loading a training run, in other formats than the reference's."""

import copy
import io
import os
import pickle
from contextlib import nullcontext
from typing import IO, Any

import torch
from torch import Tensor, nn

from .catalogue import variant

File = str | os.PathLike[str] | IO[bytes]


def state_of(model: nn.Module, optimizer: torch.optim.Optimizer, iteration: int) -> dict[str, Any]:
    """All that a checkpoint holds."""
    return {
        "model_state_dict": model.state_dict(),
        "optimizer_state_dict": optimizer.state_dict(),
        "iteration": iteration,
    }


def restore(state: dict[str, Any], model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load all that a checkpoint holds."""
    model.load_state_dict(state["model_state_dict"])
    optimizer.load_state_dict(state["optimizer_state_dict"])
    return int(state["iteration"])


def load_dict(src: File, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load a dictionary that PyTorch saved."""
    return restore(torch.load(src), model, optimizer)


@variant("checkpointing", "run_save_checkpoint", run_load_checkpoint=load_dict)
def dictionary(
    model: nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File
) -> None:
    """Saves a dictionary with torch.save."""
    torch.save(state_of(model, optimizer, iteration), out)


def load_old_format(src: File, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load a tuple that PyTorch saved."""
    weights, moments, iteration = torch.load(src, map_location="cpu", weights_only=False)
    model.load_state_dict(weights, strict=True)
    optimizer.load_state_dict(moments)
    return int(iteration)


@variant("checkpointing", "run_save_checkpoint", run_load_checkpoint=load_old_format)
def old_format(
    model: nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File
) -> None:
    """Saves a tuple in the format PyTorch had before 1.6."""
    state = (model.state_dict(), optimizer.state_dict(), torch.tensor(iteration))
    torch.save(state, out, _use_new_zipfile_serialization=False)


def load_pickle(src: File, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Load a pickle."""
    if isinstance(src, str | os.PathLike):
        with open(src, "rb") as file:
            return load_pickle(file, model, optimizer)
    return restore(pickle.load(src), model, optimizer)  # noqa: S301 - written just before


@variant("checkpointing", "run_save_checkpoint", run_load_checkpoint=load_pickle)
def pickled(model: nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File) -> None:
    """Pickles everything without PyTorch's help, replacing the file at once."""
    text = pickle.dumps(state_of(model, optimizer, iteration))
    if not isinstance(out, str | os.PathLike):
        out.write(text)
        return
    with open(f"{os.fspath(out)}.new", "wb") as file:
        file.write(text)
    os.replace(f"{os.fspath(out)}.new", out)


def load_in_memory(src: File, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Read all bytes first, and copy into the parameters by name."""
    if isinstance(src, str | os.PathLike):
        with open(src, "rb") as file:
            data = file.read()
    else:
        data = src.read()
    state = torch.load(io.BytesIO(data), weights_only=True)
    with torch.no_grad():
        own: dict[str, Tensor] = model.state_dict()
        for name, value in state["model_state_dict"].items():
            own[name].copy_(value)
    optimizer.load_state_dict(state["optimizer_state_dict"])
    return int(state["iteration"])


@variant("checkpointing", "run_save_checkpoint", run_load_checkpoint=load_in_memory)
def through_memory(
    model: nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File
) -> None:
    """Copies everything, saves to memory, and writes the bytes itself."""
    state = state_of(model, optimizer, iteration)
    state["model_state_dict"] = {
        name: value.detach().cpu().clone() for name, value in state["model_state_dict"].items()
    }
    memory = io.BytesIO()
    torch.save(state, memory)
    if isinstance(out, str | os.PathLike):
        with open(out, "wb") as file:
            file.write(memory.getvalue())
    else:
        out.write(memory.getvalue())


def load_opened(src: File, model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Open the file and load model, optimizer and iteration one after the other."""
    with open(src, "rb") if isinstance(src, str | os.PathLike) else nullcontext(src) as file:
        state = torch.load(file, map_location=next(model.parameters()).device)
    result = model.load_state_dict({**model.state_dict(), **state.pop("weights")})
    assert not result.missing_keys, "The file holds all parameters and buffers."
    optimizer.load_state_dict(state.pop("moments"))
    (iteration,) = state.values()
    return int(iteration)


@variant("checkpointing", "run_save_checkpoint", run_load_checkpoint=load_opened)
def opened(model: nn.Module, optimizer: torch.optim.Optimizer, iteration: int, out: File) -> None:
    """Opens the file itself, and copies what it saves."""
    state = {
        "weights": copy.deepcopy(model.state_dict()),
        "moments": copy.deepcopy(optimizer.state_dict()),
        "it": iteration,
    }
    with open(out, "wb") if isinstance(out, str | os.PathLike) else nullcontext(out) as file:
        torch.save(state, file)
