"""Wrong ways to save a training run and to take it up again."""

import copy
import os
from typing import IO, Any

import torch
from torch import nn
from torch.optim import Optimizer

from .catalogue import mistake
from .parts import Parts

File = str | os.PathLike[str] | IO[bytes]
State = dict[str, Any]


def state_of(model: nn.Module, optimizer: Optimizer, iteration: int) -> State:
    """All that a checkpoint holds."""
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "iteration": iteration,
    }


def save(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    """Write everything."""
    torch.save(state_of(model, optimizer, iteration), out)


def load(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    """Restore everything."""
    return restore(torch.load(src), model, optimizer)


def restore(state: State, model: nn.Module, optimizer: Optimizer) -> int:
    """Restore everything from what was read."""
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["iteration"])


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="laziness",
    wrong="the optimizer is not saved, and its moments start from zero",
    hint="Besides its parameters, what does a run know after a thousand steps that it did not know "
    "at first?",
)
def optimizer_forgotten(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    state = torch.load(src)
    model.load_state_dict(state["model"])
    return int(state["iteration"])


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="laziness",
    wrong="the optimizer's moments are restored but not its learning rate",
    hint="A schedule has changed the learning rate since the optimizer was made. Which part of its "
    "state holds it?",
)
def options_not_restored(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    state = torch.load(src)
    state["optimizer"]["param_groups"] = optimizer.state_dict()["param_groups"]
    return restore(state, model, optimizer)


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="laziness",
    wrong="the optimizer's count of steps starts again",
    hint="The moments are corrected by the number of steps they have seen. Is that number restored "
    "with them?",
)
def steps_not_restored(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    iteration = load(src, model, optimizer)
    for state in optimizer.state.values():
        state["step"] = torch.zeros_like(torch.as_tensor(state["step"]))
    return iteration


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="laziness",
    wrong="the model is not restored",
    hint="Compare the parameters before and after loading. Loading into a copy, or into a "
    "dictionary that state_dict returned, changes no model.",
)
def model_left_alone(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    state = torch.load(src)
    state["model"] = model.state_dict()
    return restore(state, model, optimizer)


def load_known_names(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    """Pass over names that the model does not know."""
    state = torch.load(src)
    model.load_state_dict(state["model"], strict=False)
    optimizer.load_state_dict(state["optimizer"])
    return int(state["iteration"])


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="interface",
    wrong="parameters are saved under names that the model does not know, and loading passes over "
    "them",
    hint="Print the names in the checkpoint and those of the model. What does loading do with a "
    "name it does not know?",
    run_load_checkpoint=load_known_names,
)
def names_with_a_prefix(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    state = state_of(model, optimizer, iteration)
    state["model"] = {f"_orig_mod.{name}": value for name, value in state["model"].items()}
    torch.save(state, out)


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="interface",
    wrong="the model is given new parameters, and the optimizer goes on with the old ones",
    hint="Is the parameter that the optimizer holds still the model's own after loading? Values "
    "must be copied into it.",
)
def new_parameters(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    state = torch.load(src)
    model.load_state_dict(state["model"], assign=True)
    optimizer.load_state_dict(state["optimizer"])
    return int(state["iteration"])


def load_parameters(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    """Restore the parameters and leave the buffers."""
    state = torch.load(src)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state["model"][name])
    optimizer.load_state_dict(state["optimizer"])
    return int(state["iteration"])


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="edge",
    wrong="only parameters are saved, and the model's buffers are not",
    hint="A model's state is more than what is trained. Which method gives all of it?",
    run_load_checkpoint=load_parameters,
)
def buffers_forgotten(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    state = state_of(model, optimizer, iteration)
    state["model"] = dict(model.named_parameters())
    torch.save(state, out)


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="numerics",
    wrong="parameters are saved in half precision",
    hint="A run that is taken up again must have the same parameters to the bit.",
)
def half_precision(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    state = state_of(model, optimizer, iteration)
    state["model"] = {name: value.half() for name, value in state["model"].items()}
    torch.save(state, out)


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="interface",
    wrong="saving turns the model itself to half precision and back",
    hint="Moving or converting a module changes it in place. Convert what you save, if you must, "
    "and not the model.",
)
def model_converted(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    save(model.half(), optimizer, iteration, out)
    model.float()


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="interface",
    wrong="saving empties the optimizer's state",
    hint="The run goes on after it was saved. What of it does your function change?",
)
def moments_emptied(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    save(model, optimizer, iteration, out)
    optimizer.state.clear()


def load_kept(parts: Parts, src: File, model: nn.Module, optimizer: Optimizer) -> int:
    """Load what was kept in memory."""
    return restore(parts.kept[str(src)], model, optimizer)


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="interface",
    wrong="the state dictionary is kept as it is, whose tensors go on changing with the run",
    hint="A state dictionary holds the parameters themselves, not copies. When are they written?",
    run_load_checkpoint=load_kept,
)
def kept_in_memory(
    parts: Parts, model: nn.Module, optimizer: Optimizer, iteration: int, out: File
) -> None:
    parts.kept[str(out)] = state_of(model, optimizer, iteration)


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="laziness",
    wrong="a copy of the run is kept in memory, and the file holds nothing",
    hint="End the program after saving and start another one. Can it load the checkpoint?",
    run_load_checkpoint=load_kept,
)
def copy_kept_in_memory(
    parts: Parts, model: nn.Module, optimizer: Optimizer, iteration: int, out: File
) -> None:
    torch.save(None, out)
    parts.kept[str(out)] = copy.deepcopy(state_of(model, optimizer, iteration))


def load_iteration(parts: Parts, src: File, model: nn.Module, optimizer: Optimizer) -> int:
    """Load the iteration, and what was kept in memory for it."""
    return restore(parts.kept[torch.load(src)], model, optimizer)


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="laziness",
    wrong="the iteration alone is written, and the rest is kept in memory",
    hint="How large is the file? Compare its size with that of the parameters and moments.",
    run_load_checkpoint=load_iteration,
)
def iteration_alone_written(
    parts: Parts, model: nn.Module, optimizer: Optimizer, iteration: int, out: File
) -> None:
    torch.save(iteration, out)
    parts.kept[iteration] = copy.deepcopy(state_of(model, optimizer, iteration))


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="edge",
    wrong="a checkpoint that is there already is not replaced",
    hint="A long run saves under the same name again and again. What becomes of the second time?",
)
def first_checkpoint_stays(
    model: nn.Module, optimizer: Optimizer, iteration: int, out: File
) -> None:
    if not os.path.exists(str(out)):
        save(model, optimizer, iteration, out)


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="edge",
    wrong="the file is opened by its path, and a file object has none",
    hint="The file may be open already. Who can write to a path as well as to a file object?",
)
def paths_only(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    with open(os.fspath(out), "wb") as file:  # type: ignore[arg-type]  # the mistake
        save(model, optimizer, iteration, file)


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="interface",
    wrong="nothing is returned",
    hint="The training loop must know where to go on. What does loading return?",
)
def nothing_returned(src: File, model: nn.Module, optimizer: Optimizer) -> None:
    load(src, model, optimizer)


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="interface",
    wrong="the whole checkpoint is returned, not the iteration",
    hint="The training loop must know where to go on. Which entry of the checkpoint tells?",
)
def whole_checkpoint_returned(src: File, model: nn.Module, optimizer: Optimizer) -> State:
    state: State = torch.load(src)
    restore(state, model, optimizer)
    return state


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="formula",
    wrong="the iteration after the saved one is returned",
    hint="Save at iteration 7 and load: which number do you get? Where to go on is for the caller "
    "to say.",
)
def next_iteration(src: File, model: nn.Module, optimizer: Optimizer) -> int:
    return load(src, model, optimizer) + 1


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="numerics",
    wrong="the iteration is saved as a float32 number",
    hint="Float32 holds seven digits. Try an iteration with nine.",
)
def iteration_in_float32(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    save(model, optimizer, int(torch.tensor(float(iteration), dtype=torch.float32)), out)


@mistake(
    "checkpointing",
    "run_load_checkpoint",
    kind="interface",
    wrong="the iteration is returned as text",
    hint="Add 1 to what you return: does it work?",
)
def iteration_as_text(src: File, model: nn.Module, optimizer: Optimizer) -> str:
    return str(load(src, model, optimizer))


@mistake(
    "checkpointing",
    "run_save_checkpoint",
    kind="laziness",
    wrong="the iteration is not saved, and 0 is returned",
    hint="Which of the function's arguments does your checkpoint not hold?",
)
def iteration_forgotten(model: nn.Module, optimizer: Optimizer, iteration: int, out: File) -> None:
    save(model, optimizer, 0, out)
