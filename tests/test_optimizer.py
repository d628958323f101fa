"""Checks of AdamW."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot

# One step's gradients, one a parameter; None where a parameter has none.
Gradients = Sequence[Tensor | None]

SHAPES = ((7, 4), (5,), (2, 3, 4))
STEPS = 8

# Too small to show in a float32, for those who refuse a decay of 0.
NO_DECAY = 1e-12


def leaves(values: Sequence[Tensor]) -> list[nn.Parameter]:
    """Parameters with these values, in memory of their own."""
    return [nn.Parameter(value.clone()) for value in values]


def gradients_of_all_sizes(draw: Draws, shapes: Sequence[tuple[int, ...]]) -> list[list[Tensor]]:
    """Gradients of some steps whose sizes range from a thousandth to a hundred."""
    sizes = [10 ** draw.uniform(*shape, low=-3, high=2) for shape in shapes]
    return [[draw.normal(*size.shape) * size for size in sizes] for _ in range(STEPS)]


def run(
    optimizer: Any,
    parameters: Sequence[nn.Parameter],
    gradients: Sequence[Gradients],
    rates: Sequence[float] | None = None,
) -> Tensor:
    """Step with the given gradients and, if given, learning rates; all parameters after each."""
    rows = []
    for step, row in enumerate(gradients):
        for parameter, gradient in zip(parameters, row, strict=True):
            parameter.grad = None if gradient is None else gradient.clone()
        if rates is not None:
            for group in optimizer.param_groups:
                group["lr"] = rates[step]
        optimizer.step()
        rows.append(torch.cat([parameter.detach().flatten() for parameter in parameters]))
    return torch.stack(rows)


def torch_run(
    value: Tensor,
    gradients: Gradients,
    rates: Sequence[float],
    *,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    decays_first: bool,
    corrects_first: bool,
) -> Tensor:
    """One parameter after each step of PyTorch's AdamW, which decays and corrects first."""
    (parameter,) = leaves([value])
    decay = weight_decay if decays_first else 0.0
    optimizer = torch.optim.AdamW([parameter], betas=betas, weight_decay=decay)
    steps, rows = 0, []
    for rate, gradient in zip(rates, gradients, strict=True):
        if gradient is not None:
            steps += 1
            # Epsilon beside a root that is yet to be corrected counts this much more.
            scale = 1.0 if corrects_first else math.sqrt(1 - betas[1] ** steps)
            optimizer.param_groups[0].update(lr=rate, eps=eps / scale)
            run(optimizer, [parameter], [[gradient]])
            if not decays_first:
                parameter.data *= 1 - rate * weight_decay
        rows.append(parameter.detach().flatten().clone())
    return torch.stack(rows)


def right_runs(
    values: Sequence[Tensor],
    gradients: Sequence[Gradients],
    *,
    lr: float | Sequence[float],
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
) -> tuple[Tensor, ...]:
    """All parameters after each step, in the four ways that are right.

    Decay may come before or after the update, and epsilon may be added before or after the root
    is corrected for its bias. A parameter without a gradient is skipped, so each has a run of its
    own.
    """
    rates = [lr] * len(gradients) if isinstance(lr, float) else lr
    return tuple(
        torch.cat(
            [
                torch_run(
                    value,
                    of_one,
                    rates,
                    betas=betas,
                    eps=eps,
                    weight_decay=weight_decay,
                    decays_first=decays_first,
                    corrects_first=corrects_first,
                )
                for value, of_one in zip(values, zip(*gradients, strict=True), strict=True)
            ],
            dim=1,
        )
        for decays_first in (True, False)
        for corrects_first in (True, False)
    )


def test_adamw(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Moves each parameter by its bias-corrected mean gradient over the root of the mean square."""
    parameters = leaves([draw.normal(*shape) for shape in SHAPES])
    gradients = gradients_of_all_sizes(draw, SHAPES)
    # Without decay and with a tiny epsilon, all right orders give the same numbers.
    optimizer = adapters.get_adamw_cls()(
        parameters, lr=0.1, betas=(0.8, 0.95), eps=1e-12, weight_decay=NO_DECAY
    )
    snapshot.assert_match(run(optimizer, parameters, gradients))


class Model(nn.Module):
    """Two matrices with a squashing function between them."""

    def __init__(self, draw: Draws) -> None:
        super().__init__()
        self.first = nn.Parameter(draw.weight(6, 4))
        self.second = nn.Parameter(draw.weight(3, 6))

    def forward(self, x: Tensor) -> Tensor:
        """Map (…, 4) to (…, 3)."""
        return torch.tanh(x @ self.first.T) @ self.second.T


def test_adamw_trains_a_model(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Trains the parameters that model.parameters() yields as PyTorch's AdamW does."""
    ours, x, target = Model(draw), draw.normal(9, 4), draw.normal(9, 3)
    oracle = Model(draw)
    oracle.load_state_dict(ours.state_dict())
    settings: dict[str, Any] = {"lr": 0.05, "betas": (0.9, 0.999), "eps": 1e-12}
    losses = []
    for model, cls in ((ours, adapters.get_adamw_cls()), (oracle, torch.optim.AdamW)):
        optimizer = cls(model.parameters(), weight_decay=NO_DECAY, **settings)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = (model(x) - target).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    snapshot.assert_close(torch.stack(losses[:STEPS]), torch.stack(losses[STEPS:]), "loss")


def test_adamw_parameters_of_equal_shape(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps moments for each parameter, also where several have the same shape."""
    values = [draw.normal(3, 3) for _ in range(4)]
    gradients = gradients_of_all_sizes(draw, [(3, 3)] * 4)
    settings: dict[str, Any] = {
        "lr": 0.1,
        "betas": (0.9, 0.99),
        "eps": 1e-12,
        "weight_decay": NO_DECAY,
    }
    parameters = leaves(values)
    actual = run(adapters.get_adamw_cls()(parameters, **settings), parameters, gradients)
    snapshot.assert_close(actual, right_runs(values, gradients, **settings)[0])


@pytest.mark.parametrize("eps", [1e-2, 1e-4])
def test_adamw_epsilon(adapters: Any, snapshot: Snapshot, draw: Draws, eps: float) -> None:
    """Adds the epsilon it is given to the root, so that a gradient of zero moves nothing."""
    values = [draw.normal(*shape) for shape in SHAPES]
    gradients = gradients_of_all_sizes(draw, SHAPES)
    for row in gradients:
        row[0][:2] = 0.0
    settings: dict[str, Any] = {"lr": 0.1, "betas": (0.9, 0.99), "eps": eps}
    expected, *alternatives = right_runs(values, gradients, **settings, weight_decay=0.0)
    parameters = leaves(values)
    optimizer = adapters.get_adamw_cls()(parameters, **settings, weight_decay=NO_DECAY)
    actual = run(optimizer, parameters, gradients)
    snapshot.assert_close(actual, expected, alternatives=tuple(alternatives))


@pytest.mark.parametrize(("lr", "weight_decay"), [(0.1, 0.3), (0.02, 2.0)])
def test_adamw_weight_decay(
    adapters: Any, snapshot: Snapshot, draw: Draws, lr: float, weight_decay: float
) -> None:
    """Takes lr · weight_decay of each parameter away, apart from what the gradient does."""
    for shape in [(3, 4), (6,)]:
        value = draw.normal(*shape, scale=3.0)
        # All elements have the same gradient: whatever it does, decay alone brings them together.
        gradients = [[draw.normal(1).expand(shape)] for _ in range(STEPS)]
        apart = (value - value.view(-1)[0]).flatten()
        kept = 1 - lr * weight_decay
        expected = torch.stack([apart * kept ** (step + 1) for step in range(STEPS)])
        (parameter,) = leaves([value])
        optimizer = adapters.get_adamw_cls()(
            [parameter], lr=lr, betas=(0.9, 0.99), eps=1e-8, weight_decay=weight_decay
        )
        rows = run(optimizer, [parameter], gradients)
        name = f"how far elements of shape {shape} are from the first"
        snapshot.assert_close(rows - rows[:, :1], expected, name)


def test_adamw_missing_gradients(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Leaves a parameter without a gradient alone and does not count the step for it."""
    values = [draw.normal(3, 4) for _ in range(3)]
    rows = gradients_of_all_sizes(draw, [(3, 4)] * 3)
    gradients: list[Gradients] = [
        [row[0], row[1] if step % 2 else None, None] for step, row in enumerate(rows)
    ]
    settings: dict[str, Any] = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-12, "weight_decay": 0.3}
    parameters = leaves(values)
    actual = run(adapters.get_adamw_cls()(parameters, **settings), parameters, gradients)
    expected, *alternatives = right_runs(values, gradients, **settings)
    snapshot.assert_close(actual, expected, alternatives=tuple(alternatives))


def test_adamw_parameter_groups(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Gives each parameter group its own learning rate and weight decay."""
    values = [draw.normal(3, 4), draw.normal(5), draw.normal(3, 4)]
    gradients = gradients_of_all_sizes(draw, [(3, 4), (5,), (3, 4)])
    shared: dict[str, Any] = {"betas": (0.9, 0.99), "eps": 1e-12}
    parameters = leaves(values)
    groups = [
        {"params": parameters[:2]},
        {"params": parameters[2:], "lr": 0.02, "weight_decay": 1.5},
    ]
    optimizer = adapters.get_adamw_cls()(groups, lr=0.1, weight_decay=0.3, **shared)
    actual = run(optimizer, parameters, gradients)
    one = right_runs(values[:2], [row[:2] for row in gradients], lr=0.1, weight_decay=0.3, **shared)
    two = right_runs(
        values[2:], [row[2:] for row in gradients], lr=0.02, weight_decay=1.5, **shared
    )
    expected, *alternatives = (torch.cat(pair, dim=1) for pair in zip(one, two, strict=True))
    snapshot.assert_close(actual, expected, alternatives=tuple(alternatives))


def test_adamw_scheduled_learning_rate(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Takes the learning rate that param_groups holds at each step, as a schedule sets it."""
    values = [draw.normal(*shape) for shape in SHAPES]
    gradients = gradients_of_all_sizes(draw, SHAPES)
    rates = [0.01 * (step + 1) for step in range(STEPS)]
    settings: dict[str, Any] = {"betas": (0.9, 0.99), "eps": 1e-12, "weight_decay": 0.3}
    parameters = leaves(values)
    optimizer = adapters.get_adamw_cls()(parameters, lr=1.0, **settings)
    actual = run(optimizer, parameters, gradients, rates)
    expected, *alternatives = right_runs(values, gradients, lr=rates, **settings)
    snapshot.assert_close(actual, expected, alternatives=tuple(alternatives))


def test_adamw_keeps_gradients(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Reads the gradients without changing them."""
    parameters = leaves([draw.normal(*shape) for shape in SHAPES])
    gradients = gradients_of_all_sizes(draw, SHAPES)[:2]
    optimizer = adapters.get_adamw_cls()(
        parameters, lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.3
    )
    for step, row in enumerate(gradients):
        run(optimizer, parameters, [row])
        for i, (parameter, gradient) in enumerate(zip(parameters, row, strict=True)):
            name = f"gradient {i} after step {step + 1}"
            snapshot.assert_close(parameter.grad, gradient, name, atol=0.0, rtol=0.0)


def test_adamw_two_optimizers(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Shares nothing between two optimizers of one program."""
    settings: dict[str, Any] = {
        "lr": 0.1,
        "betas": (0.9, 0.99),
        "eps": 1e-12,
        "weight_decay": NO_DECAY,
    }
    values = [[draw.normal(3, 4)], [draw.normal(3, 4)]]
    gradients = [gradients_of_all_sizes(draw, [(3, 4)]) for _ in values]
    parameters = [leaves(value) for value in values]
    optimizers = [adapters.get_adamw_cls()(of_one, **settings) for of_one in parameters]
    # The second is a step behind from its beginning.
    run(optimizers[0], parameters[0], gradients[0][:1])
    for step in range(1, STEPS):
        for i in (0, 1):
            run(optimizers[i], parameters[i], [gradients[i][step - i]])
    for i in (0, 1):
        expected = right_runs(values[i], gradients[i][: STEPS - i], **settings)[0][-1]
        snapshot.assert_close(parameters[i][0].flatten(), expected, f"optimizer {i}")


def test_adamw_state(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Keeps all it needs in self.state, so that state_dict and load_state_dict carry it on."""
    values = [draw.normal(*shape) for shape in SHAPES]
    gradients = gradients_of_all_sizes(draw, SHAPES)
    settings: dict[str, Any] = {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.3}
    parameters = leaves(values)
    straight = run(adapters.get_adamw_cls()(parameters, **settings), parameters, gradients)
    parameters = leaves(values)
    saved = adapters.get_adamw_cls()(parameters, **settings)
    run(saved, parameters, gradients[:3])
    parameters = leaves([parameter.detach() for parameter in parameters])
    resumed = adapters.get_adamw_cls()(parameters, **settings)
    resumed.load_state_dict(saved.state_dict())
    actual = run(resumed, parameters, gradients[3:])
    snapshot.assert_close(actual, straight[3:], "parameters after loading", atol=1e-5)


def test_adamw_closure(adapters: Any, draw: Draws) -> None:
    """Calls the closure that step is given, with gradients on, and returns its loss."""
    (parameter,) = leaves([draw.normal(4)])
    before = parameter.detach().clone()
    optimizer = adapters.get_adamw_cls()(
        [parameter], lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=NO_DECAY
    )
    calls = []

    def closure() -> float:
        optimizer.zero_grad()
        loss = parameter.square().sum()
        torch.autograd.backward(loss)
        calls.append(loss.item())
        return calls[-1]

    loss = optimizer.step(closure)
    assert len(calls) == 1, f"step called the closure {len(calls)} times instead of once."
    assert loss is not None, "step returned None instead of the loss that the closure returned."
    assert math.isclose(float(loss), calls[0], rel_tol=1e-5), "step returned another loss."
    assert not torch.equal(parameter, before), (
        "Your step did not use the gradients that the closure computed."
    )
