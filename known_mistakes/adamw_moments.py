"""Wrong ways to keep AdamW's moments."""

import torch
from torch import Tensor

from cs336_basics.optimizer import AdamW

from .adamw import Group, Moments, Pieces
from .catalogue import mistake


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the weights move along the gradient of the last batch, not along the first moment",
    hint="Set the second step's gradient to zero: the weights should go on moving.",
)
def without_first_moment() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            _, v, t = super().moments(parameter, gradient, group)
            return gradient * (1 - group["betas"][0] ** t), v, t

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the new gradient is added to the first moment in full",
    hint="A moving mean of equal gradients is that gradient. What does yours become after many "
    "steps?",
)
def first_moment_is_a_sum() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            m, v, t = super().moments(parameter, gradient, group)
            return m / (1 - group["betas"][0]), v, t

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="beta weighs the new gradient, and what is left of 1 the old mean",
    hint="With a beta near 1 the moments should change slowly. Which of the two terms does your "
    "beta multiply?",
)
def beta_on_the_new_gradient() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            turned = tuple(1 - beta for beta in group["betas"])
            return super().moments(parameter, gradient, {**group, "betas": turned})

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the second moment is the mean of the gradients' absolute values, not of their squares",
    hint="The update takes the root of the second moment. What must be squared before?",
)
def second_moment_of_sizes() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            beta2 = group["betas"][1]
            before = self.state[parameter].get("v", torch.zeros_like(gradient))
            m, _, t = super().moments(parameter, gradient, group)
            v = self.state[parameter]["v"] = beta2 * before + (1 - beta2) * gradient.abs()
            return m, v, t

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the second moment averages the squares of the first one, not of the gradients",
    hint="Gradients that keep changing sign have a small first moment and a large second one. What "
    "is squared in your code?",
)
def second_moment_of_the_first() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            beta2 = group["betas"][1]
            before = self.state[parameter].get("v", torch.zeros_like(gradient))
            m, _, t = super().moments(parameter, gradient, group)
            v = self.state[parameter]["v"] = beta2 * before + (1 - beta2) * m**2
            return m, v, t

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the moments are kept as corrected for their bias and so corrected again",
    hint="The corrected moments are used in this step only. Which moments do you store for "
    "the next step?",
)
def corrected_moments_kept() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, m, v, t, group)
            for beta, name in zip(group["betas"], "mv", strict=True):
                self.state[parameter][name] = self.state[parameter][name] / (1 - beta**t)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the gradient is scaled in place for the first moment, and the second moment uses"
    " the scaled one",
    hint="An operation that ends in an underscore changes the tensor it is called on. What is left "
    "of the gradient when the second moment needs it?",
)
def gradient_scaled_in_place() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            beta1, _ = group["betas"]
            m, v, t = super().moments(parameter, gradient, group)
            gradient.mul_(1 - beta1)
            return m, v * (1 - beta1) ** 2, t

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="interface",
    wrong="the gradients are set to zero at the end of a step",
    hint="Setting gradients to zero is the training loop's task: it may still read them "
    "after the step.",
)
def clears_gradients() -> type[AdamW]:
    class Wrong(Pieces):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter, gradient, group)
            gradient.zero_()

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="both moments are one tensor",
    hint="Two names may stand for the same tensor, and what is changed in place under one of them "
    "changes under the other. How do you make the two zeros?",
)
def one_tensor_for_both_moments() -> type[AdamW]:
    class Wrong(Pieces):
        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            beta1, beta2 = group["betas"]
            state = self.state[parameter]
            t = state["t"] = state.get("t", 0) + 1
            both = state.setdefault("both", torch.zeros_like(gradient))
            both.mul_(beta1).add_((1 - beta1) * gradient)
            both.mul_(beta2).add_((1 - beta2) * gradient**2)
            return both, both, t

    return Wrong
