"""Wrong ways to correct AdamW's moments for their bias and to move along them."""

import torch
from torch import Tensor

from cs336_basics.optimizer import AdamW

from .adamw import Group, Pieces
from .catalogue import mistake


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="neither moment is corrected for its bias",
    hint="Work out the first step by hand: each weight should move by about the learning rate, "
    "however small its gradient is.",
)
def no_correction() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            parameter.sub_(group["lr"] * m / (v.sqrt() + group["eps"]))

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="only the first moment is corrected for its bias",
    hint="Both moments start at zero. Which one do you use as it is?",
)
def only_first_moment_corrected() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            corrected = m / (1 - group["betas"][0] ** t)
            parameter.sub_(group["lr"] * corrected / (v.sqrt() + group["eps"]))

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="only the second moment is corrected for its bias",
    hint="Both moments start at zero. Which one do you use as it is?",
)
def only_second_moment_corrected() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, m * (1 - group["betas"][0] ** t), v, t, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="each moment is corrected with the other's beta",
    hint="A moment is corrected by the beta that it was averaged with.",
)
def corrections_swapped() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, m, v, t, {**group, "betas": group["betas"][::-1]})

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the correction of the second moment is not put under the root with it",
    hint="Correct both moments first and then take the root. If you combine the corrections"
    " into the rate, one of them is under a root.",
)
def correction_outside_the_root() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            beta1, beta2 = group["betas"]
            rate = group["lr"] * (1 - beta2**t) / (1 - beta1**t)
            parameter.sub_(rate * m / (v.sqrt() + group["eps"]))

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the correction multiplies beta by the number of steps, not raises it to its power",
    hint="What does the correction become after many steps? It should approach 1.",
)
def correction_without_power() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            beta1, beta2 = group["betas"]
            root = (v / abs(1 - beta2 * t)).sqrt() + group["eps"]
            parameter.sub_(group["lr"] * (m / (1 - beta1 * t)) / root)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the first step is counted as step 0",
    hint="What is 1 minus beta to the power of 0, and what is divided by it? Count the step before "
    "you correct.",
)
def steps_from_zero() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            beta1, beta2 = (torch.tensor(beta) ** (t - 1) for beta in group["betas"])
            root = (v / (1 - beta2)).sqrt() + group["eps"]
            parameter.sub_(group["lr"] * (m / (1 - beta1)) / root)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the first step is counted as step 2",
    hint="Print the number of the step at the first correction. Is it set to 1 and then increased?",
)
def steps_from_two() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, m, v, t + 1, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the number of the step stays 1",
    hint="Print the number of the step at each correction. Is the new number kept for the next "
    "step?",
)
def steps_not_counted() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, m, v, 1, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the first moment is divided by the second one itself, not by its root",
    hint="Multiply all gradients by 100: the steps should stay the same. By what do yours change?",
)
def no_root() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            beta1, beta2 = group["betas"]
            scale = v / (1 - beta2**t) + group["eps"]
            parameter.sub_(group["lr"] * (m / (1 - beta1**t)) / scale)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the weights move up the gradient",
    hint="Take a loss whose minimum you know: does a step come nearer to it?",
)
def ascent() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, -m, v, t, group)

    return Wrong
