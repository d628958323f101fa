"""Wrong ways to keep what belongs to each parameter, group and optimizer apart in AdamW."""

from typing import Any

import torch
from torch import Tensor

from cs336_basics.optimizer import AdamW

from .adamw import Group, Moments, Pieces
from .catalogue import mistake
from .parts import Parts


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="parameters of equal shape share their moments",
    hint="Take two parameters of one shape with different gradients. By what are the moments told "
    "apart?",
)
def moments_by_shape() -> type[AdamW]:
    class Wrong(Pieces):
        def __init__(self, params: Any, **settings: Any) -> None:
            super().__init__(params, **settings)
            self.by_shape: dict[torch.Size, dict[str, Any]] = {}

        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            self.state[parameter] = self.by_shape.setdefault(parameter.shape, {})
            super().update(parameter, gradient, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="the moments are kept where all optimizers share them, by the parameter's number",
    hint="Make two optimizers in one program. What is an attribute of the class, a global, or a "
    "default argument that is changed?",
)
def state_of_all_optimizers(parts: Parts) -> type[AdamW]:
    class Wrong(Pieces):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            parameters = [p for group in self.param_groups for p in group["params"]]
            number = next(i for i, p in enumerate(parameters) if p is parameter)
            self.state[parameter] = parts.kept.setdefault((number, parameter.shape), {})
            super().update(parameter, gradient, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="one counter of steps goes up at every parameter",
    hint="With ten parameters, which number has the first step at the last of them? A step has one "
    "number for all.",
)
def steps_counted_by_parameter() -> type[AdamW]:
    class Wrong(Pieces):
        t = 0

        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            self.t += 1
            m, v, _ = super().moments(parameter, gradient, group)
            return m, v, self.t

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="a step is also counted for parameters that had no gradient in it",
    hint="The correction must know how many gradients a moment has seen. Each parameter needs a "
    "count of its own.",
)
def steps_counted_without_gradient() -> type[AdamW]:
    class Wrong(Pieces):
        t = 0

        def step(self, closure: Any = None) -> Any:
            self.t += 1
            return super().step(closure)

        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            m, v, _ = super().moments(parameter, gradient, group)
            return m, v, self.t

    return Wrong


class EveryParameter(Pieces):
    """Visits parameters without a gradient as well."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for parameter in group["params"]:
                self.visit(parameter, group)

    def visit(self, parameter: Tensor, group: Group) -> None:
        """Update a parameter, which may have no gradient."""
        if parameter.grad is not None:
            self.update(parameter, parameter.grad, group)


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="a parameter without a gradient is not passed over",
    hint="Before the first backward, and for parameters that a loss does not use, the gradient is "
    "None.",
)
def missing_gradient_unexpected() -> type[AdamW]:
    class Wrong(EveryParameter):
        def visit(self, parameter: Tensor, group: Group) -> None:
            gradient: Any = parameter.grad
            self.update(parameter, gradient.data, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="a parameter without a gradient decays all the same",
    hint="A parameter that took no part in a step stays as it is. Where do you ask whether there "
    "is a gradient?",
)
def decays_without_gradient() -> type[AdamW]:
    class Wrong(EveryParameter):
        def visit(self, parameter: Tensor, group: Group) -> None:
            if parameter.grad is None:
                self.decay(parameter, group)
            super().visit(parameter, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="a missing gradient is taken for one of zero",
    hint="A gradient of zero moves a parameter that has a first moment; a missing one must leave "
    "it where it is.",
)
def missing_gradient_is_zero() -> type[AdamW]:
    class Wrong(EveryParameter):
        def visit(self, parameter: Tensor, group: Group) -> None:
            gradient = parameter.grad
            self.update(
                parameter, torch.zeros_like(parameter) if gradient is None else gradient, group
            )

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="the first parameter group's options are used for all groups",
    hint="Each group is a dictionary with options of its own. From which one does your update "
    "read?",
)
def options_of_the_first_group() -> type[AdamW]:
    class Wrong(AdamW):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter, gradient, self.param_groups[0])

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="the options given at construction are used, whatever the parameter groups hold by now",
    hint="A schedule writes the learning rate into the parameter groups before each step. Read the "
    "options there, at each step.",
)
def options_of_the_beginning() -> type[AdamW]:
    class Wrong(AdamW):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter, gradient, self.defaults)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="edge",
    wrong="only the first parameter group is updated",
    hint="There may be several groups. How many does your loop visit?",
)
def first_group_only() -> type[AdamW]:
    class Wrong(Pieces):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            if group is self.param_groups[0]:
                super().update(parameter, gradient, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="laziness",
    wrong="the step ends after the first parameter",
    hint="Give the optimizer two parameters: does the second move? Look at how far the return is "
    "indented.",
)
def first_parameter_only() -> type[AdamW]:
    class Wrong(Pieces):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            if parameter is group["params"][0]:
                super().update(parameter, gradient, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="interface",
    wrong="the new values are bound to a name and the parameters keep the old ones",
    hint="Assigning to a variable makes the name stand for another tensor. The parameter itself "
    "has to be changed in place.",
)
def parameters_left_alone() -> type[AdamW]:
    class Wrong(Pieces):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            super().update(parameter.clone(), gradient, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="interface",
    wrong="the update is recorded for a gradient of its own",
    hint="A parameter that requires a gradient cannot be changed in place while operations are "
    "recorded. How does one stop recording?",
)
def recorded_update() -> type[AdamW]:
    class Wrong(Pieces):
        def update(self, parameter: Tensor, gradient: Tensor, group: Group) -> None:
            with torch.enable_grad():
                super().update(parameter, gradient, group)

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="interface",
    wrong="the moments are kept outside of self.state, so that no checkpoint holds them",
    hint="Print your optimizer's state_dict() after a step. What does another optimizer that loads "
    "it still lack?",
)
def moments_in_an_attribute() -> type[AdamW]:
    class Wrong(Pieces):
        def state_dict(self) -> dict[str, Any]:
            return super().state_dict() | {"state": {}}

    return Wrong


@mistake(
    "adamw",
    "get_adamw_cls",
    kind="interface",
    wrong="the step count is an attribute of the optimizer, so that no checkpoint holds it",
    hint="Print your optimizer's state_dict() after a step. Which step count does another "
    "optimizer that loads it begin with?",
)
def steps_in_an_attribute() -> type[AdamW]:
    class Wrong(Pieces):
        def __init__(self, params: Any, **settings: Any) -> None:
            super().__init__(params, **settings)
            self.steps: dict[Tensor, int] = {}

        def moments(self, parameter: Tensor, gradient: Tensor, group: Group) -> Moments:
            self.steps[parameter] = self.steps.get(parameter, 0) + 1
            m, v, _ = super().moments(parameter, gradient, group)
            return m, v, self.steps[parameter]

    return Wrong
