"""Counting parameters."""

import math

from torch import nn

from .catalogue import mistake
from .gpt_parts import GPTParts


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="a tied parameter is counted under each of its names",
    hint="A state dict holds it twice, and so does a list of names without care for duplicates: "
    "count Parameters, not names.",
)
def tied_twice(model: nn.Module) -> int:
    return sum(p.numel() for _, p in model.named_parameters(remove_duplicate=False))


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="everything in the state dict is counted: buffers too, and tied parameters twice",
    hint="A state dict is for saving. What of it is trained, and what stands there twice?",
)
def state_dict_counted(model: nn.Module) -> int:
    return sum(tensor.numel() for tensor in model.state_dict().values())


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="buffers are counted as parameters",
    hint="A buffer belongs to a module, but is not trained.",
)
def buffers_counted(model: nn.Module) -> int:
    return sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="Parameters are counted instead of the numbers in them",
    hint="How many numbers are in one matrix?",
)
def tensors_counted(model: nn.Module) -> int:
    return len(list(model.parameters()))


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="only the model's own parameters are counted, and not those of the modules in it",
    hint="A module's parameters are in its layers, and in theirs.",
)
def own_parameters_alone(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters(recurse=False))


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="biases are left out",
    hint="A bias is trained as a weight is: what do you filter by?",
)
def biases_left_out(model: nn.Module) -> int:
    return sum(p.numel() for name, p in model.named_parameters() if not name.endswith("bias"))


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="only matrices are counted, without biases and the gains of norms",
    hint="Vectors are trained as matrices are: what do you filter by?",
)
def matrices_alone(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters() if p.dim() > 1)


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="embeddings are left out",
    hint="Some reports leave them out. Here every parameter counts.",
)
def embeddings_left_out(model: nn.Module) -> int:
    return sum(p.numel() for name, p in model.named_parameters() if "embedding" not in name)


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="the table of positions is left out",
    hint="Some reports leave it out. Here every parameter counts.",
)
def positions_left_out(model: nn.Module) -> int:
    return sum(p.numel() for name, p in model.named_parameters() if "position" not in name)


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="the output projection is left out, as if it were always tied",
    hint="Count a model that ties its weights, and one that does not.",
)
def head_left_out(model: nn.Module) -> int:
    return sum(p.numel() for name, p in model.named_parameters() if "lm_head" not in name)


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="bytes are counted instead of numbers",
    hint="What does one number take in float32, and what is asked for?",
)
def bytes_counted(model: nn.Module) -> int:
    return sum(p.numel() * p.element_size() for p in model.parameters())


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="rows are counted instead of numbers",
    hint="The length of a tensor is that of its first dimension.",
)
def rows_counted(model: nn.Module) -> int:
    return sum(len(p) for p in model.parameters())


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="the sizes of a shape are added instead of multiplied",
    hint="How many numbers are in a 2 by 3 matrix?",
)
def sizes_added(model: nn.Module) -> int:
    return sum(sum(p.shape) for p in model.parameters())


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="formula",
    wrong="two parameters of the same shape are taken for one that is tied",
    hint="What is tied is the same Parameter, not only one of the same shape.",
)
def same_shape_once(model: nn.Module) -> int:
    return sum(math.prod(shape) for shape in {p.shape for p in model.parameters()})


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="edge",
    wrong="two parameters that hold equal numbers are taken for one that is tied",
    hint="What is tied is the same Parameter: two that begin alike part ways in training.",
)
def equal_numbers_once(model: nn.Module) -> int:
    seen = {(p.shape, tuple(p.flatten().tolist())): p.numel() for p in model.parameters()}
    return sum(seen.values())


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="interface",
    wrong="millions are returned instead of the number",
    hint="The number is asked for exactly.",
)
def in_millions(model: nn.Module) -> float:
    return sum(p.numel() for p in model.parameters()) / 1e6


@mistake(
    "parameter_count",
    "run_count_parameters",
    kind="laziness",
    wrong="the model of the first call is counted in every later one",
    hint="What does your function keep?",
)
def first_count_kept(parts: GPTParts, model: nn.Module) -> int:
    count: int = parts.kept.setdefault("count", sum(p.numel() for p in model.parameters()))
    return count
