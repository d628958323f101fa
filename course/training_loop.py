"""A training loop for your own model: it takes your parts, and keeps the curve of the run."""

import csv
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn

# Inputs and targets, each of shape (B, T).
Batch = tuple[Tensor, Tensor]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a run, as the loop calls them.

    Attributes:
        model: from token ids (B, T) to logits (B, T, V).
        loss: from logits and targets to their mean loss.
        optimizer: has the model's parameters.
        draw_batch: draws a batch to train on.
        validation: batches of text that is never trained on.
        learning_rate: from a step, counted from 1, to its learning rate.
        clip: limits the gradients of parameters, in place.
    """

    model: nn.Module
    loss: Callable[[Tensor, Tensor], Tensor]
    optimizer: torch.optim.Optimizer
    draw_batch: Callable[[], Batch]
    validation: Sequence[Batch]
    learning_rate: Callable[[int], float]
    clip: Callable[[Iterable[nn.Parameter]], object]


@dataclass(frozen=True)
class Point:
    """A point of the curve; losses are in nats per token."""

    step: int
    seconds: float
    training_loss: float
    validation_loss: float


def train(parts: Parts, steps: int, evaluate_every: int = 50) -> list[Point]:
    """Train for so many steps; evaluate and show the losses now and then, and at the end."""
    started = time.perf_counter()
    curve: list[Point] = []
    for step in range(1, steps + 1):
        loss = take_step(parts, step)
        if step % evaluate_every == 0 or step in {1, steps}:
            point = Point(step, time.perf_counter() - started, loss, evaluate(parts))
            curve.append(point)
            sys.stdout.write(
                f"step {step:>5}  {point.seconds:6.1f} s  training {loss:.3f}  "
                f"validation {point.validation_loss:.3f}\n"
            )
    return curve


def take_step(parts: Parts, step: int) -> float:
    """Change the weights once, and return the loss before."""
    for group in parts.optimizer.param_groups:
        group["lr"] = parts.learning_rate(step)
    inputs, targets = parts.draw_batch()
    parts.model.train()
    parts.optimizer.zero_grad()
    loss = parts.loss(parts.model(inputs), targets)
    torch.autograd.backward(loss)
    parts.clip(parts.model.parameters())
    parts.optimizer.step()
    return loss.item()


@torch.no_grad()
def evaluate(parts: Parts) -> float:
    """Return the mean loss on the validation batches, without dropout."""
    parts.model.eval()
    losses = [parts.loss(parts.model(inputs), targets) for inputs, targets in parts.validation]
    return torch.stack(losses).mean().item()


def save_curve(curve: Iterable[Point], path: Path) -> None:
    """Write a curve as a CSV file with one line for each point."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(field.name for field in fields(Point))
        table.writerows(map(astuple, curve))
