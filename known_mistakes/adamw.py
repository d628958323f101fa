"""Wrong ways to write AdamW's decay and to use its options; the pieces that mistakes replace."""

from typing import Any

from torch import Tensor

from cs336_basics.optimizer import AdamW

from .catalogue import mistake

Group = dict[str, Any]
# Both moments and how many steps they have seen.
Moments = tuple[Tensor, Tensor, int]


class Pieces(AdamW):
    """AdamW in three pieces, of which a mistake replaces one."""

    def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
        m, v, t = self.moments(parameter, gradient, group)
        self.decay(parameter, group)
        self.move(parameter, m, v, t, group)

    def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
        """Bring both moments up to date."""
        beta1, beta2 = group["betas"]
        state = self.state[parameter]
        t = state["t"] = state.get("t", 0) + 1
        m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * gradient
        v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * gradient**2
        return m, v, t

    def decay(self, parameter: Tensor, group: Group) -> None:
        """Shrink the parameter."""
        parameter.mul_(1 - group["lr"] * group["weight_decay"])

    def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
        """Move the parameter along its first moment."""
        beta1, beta2 = group["betas"]
        root = (v / (1 - beta2**t)).sqrt() + group["eps"]
        parameter.sub_(group["lr"] * (m / (1 - beta1**t)) / root)


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="weight decay is added to the gradient and goes through the moments",
    hint="That is Adam with L2 regularization. In AdamW the decay changes the weights "
    "directly, and the moments never contain it.",
)
def decay_in_the_gradient() -> type[AdamW]:
    class Wrong(AdamW):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            decayed = gradient + group["weight_decay"] * parameter
            super().update(parameter, decayed, {**group, "weight_decay": 0.0})

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="weight decay is not multiplied by the learning rate",
    hint="Look at the decay's line in the algorithm: which two factors stand before the weights?",
)
def decay_without_learning_rate() -> type[AdamW]:
    class Wrong(Pieces):
        def decay(self, parameter: Tensor, group: Group) -> None:
            parameter.mul_(1 - group["weight_decay"])

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="weight decay is multiplied by the learning rate that was corrected for the bias",
    hint="The algorithm has two rates, one with a step in its index. Which of them stands in the "
    "decay's line? The first steps show the difference.",
)
def decay_with_corrected_rate() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            beta1, beta2 = group["betas"]
            rate = group["lr"] * (1 - beta2**t) ** 0.5 / (1 - beta1**t)
            parameter.mul_(1 - rate * group["weight_decay"])
            super().move(parameter, m, v, t, group)

        def decay(self, parameter: Tensor, group: Group) -> None:
            """Is done with the move."""

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="weight decay is ignored",
    hint="Set every gradient to zero: the weights must still shrink.",
)
def no_decay() -> type[AdamW]:
    class Wrong(Pieces):
        def decay(self, parameter: Tensor, group: Group) -> None:
            """Does nothing."""

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="weight decay makes the weights larger",
    hint="Set every gradient to zero: do the weights shrink or grow? Check the sign of the decay.",
)
def decay_grows() -> type[AdamW]:
    class Wrong(Pieces):
        def decay(self, parameter: Tensor, group: Group) -> None:
            parameter.mul_(1 + group["lr"] * group["weight_decay"])

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="parameters with one dimension do not decay",
    hint="The caller decides which parameters decay, with parameter groups. The optimizer "
    "treats all parameters of a group alike.",
)
def vectors_do_not_decay() -> type[AdamW]:
    class Wrong(Pieces):
        def decay(self, parameter: Tensor, group: Group) -> None:
            if parameter.ndim > 1:
                super().decay(parameter, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="numerics",
    wrong="no epsilon is added to the root of the second moment",
    hint="Think of a parameter whose gradient has always been zero. What do you divide, and"
    " by what?",
)
def no_epsilon() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            super().move(parameter, m, v, t, {**group, "eps": 0.0})

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="epsilon is added under the root",
    hint="Under the root, epsilon has a far larger effect, because its own root counts. "
    "Where does the formula add it?",
)
def epsilon_under_the_root() -> type[AdamW]:
    class Wrong(Pieces):
        def move(self, parameter: Tensor, m: Tensor, v: Tensor, t: int, group: Group) -> None:
            beta1, beta2 = group["betas"]
            root = (v / (1 - beta2**t) + group["eps"]).sqrt()
            parameter.sub_(group["lr"] * (m / (1 - beta1**t)) / root)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="epsilon is 1e-8 whatever was asked for",
    hint="Try an epsilon as large as the gradients: it must make the steps smaller. Where does the "
    "one you were given go?",
)
def epsilon_hard_coded() -> type[AdamW]:
    class Wrong(AdamW):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter, gradient, {**group, "eps": 1e-8})

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="the betas are 0.9 and 0.999 whatever was asked for",
    hint="Try other betas: the second step must change. Where do the ones you were given go?",
)
def betas_hard_coded() -> type[AdamW]:
    class Wrong(AdamW):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter, gradient, {**group, "betas": (0.9, 0.999)})

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="formula",
    wrong="the two betas are exchanged",
    hint="The first beta belongs to the mean of the gradients, the second to the mean of their "
    "squares.",
)
def betas_swapped() -> type[AdamW]:
    class Wrong(AdamW):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter, gradient, {**group, "betas": group["betas"][::-1]})

    return Wrong
