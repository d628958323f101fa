"""The optimizer of a run."""

from dataclasses import dataclass
from typing import Literal

from cs336_basics.allowed import require_choice, require_number, require_whole
from cs336_basics.optimizer import get_lr_cosine_schedule, get_lr_wsd_schedule


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW, its learning rate over time, and clipping."""

    learning_rate: float = 3e-3
    """The highest one, after the warm-up."""
    min_learning_rate: float = 3e-4
    """The one at the end."""
    warmup_steps: int = 50
    schedule: Literal["cosine", "wsd"] = "cosine"
    """Down from the warm-up on, or only in the last decay_steps (warm-up, stable, decay)."""
    decay_steps: int | None = None
    """Only of wsd; by default a fifth of all steps."""
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.1
    """Of matrices; gains and biases do not decay."""
    max_norm: float = 1.0
    """Of all gradients as one vector; larger ones are clipped."""

    def __post_init__(self) -> None:
        """Refuse values that make no sense.

        Raises:
            ValueError: names the option, its value and what it may be.
        """
        share, positive = "greater than 0 and at most 1", lambda x: 0 < x <= 1
        require_number("optimizer.learning_rate", self.learning_rate, share, positive)
        require_number("optimizer.eps", self.eps, share, positive)
        require_number("optimizer.max_norm", self.max_norm, "greater than 0", lambda x: x > 0)
        for name in ("min_learning_rate", "weight_decay"):
            value = getattr(self, name)
            require_number(f"optimizer.{name}", value, "at least 0", lambda x: x >= 0)
        for name in ("beta1", "beta2"):
            value = getattr(self, name)
            require_number(
                f"optimizer.{name}", value, "at least 0 and less than 1", lambda x: 0 <= x < 1
            )
        require_whole("optimizer.warmup_steps", self.warmup_steps, 0)
        require_choice("optimizer.schedule", self.schedule, ("cosine", "wsd"))
        if self.decay_steps is not None:
            require_whole("optimizer.decay_steps", self.decay_steps, 0)
            if self.schedule != "wsd":
                raise ValueError(
                    f"optimizer.decay_steps = {self.decay_steps} has no effect on the schedule "
                    f"{self.schedule!r}: leave the option out, or choose --optimizer.schedule wsd"
                )
        if self.min_learning_rate > self.learning_rate:
            raise ValueError(
                f"optimizer.min_learning_rate = {self.min_learning_rate} must not be greater than "
                f"optimizer.learning_rate = {self.learning_rate}"
            )
        if self.weight_decay * self.learning_rate > 1:
            raise ValueError(
                f"optimizer.weight_decay = {self.weight_decay} must be at most 1 / learning_rate = "
                f"{1 / self.learning_rate:g}: a step with more reverses their signs"
            )

    def decay_of(self, steps: int) -> int:
        """Return how many of a run's steps the decay of wsd takes."""
        return -(-steps // 5) if self.decay_steps is None else self.decay_steps

    def rate(self, step: int, steps: int) -> float:
        """Return the learning rate of a step. The first step is 1: at step 0 the rate is 0."""
        bounds = (self.learning_rate, self.min_learning_rate, self.warmup_steps)
        if self.schedule == "wsd":
            start = steps - self.decay_of(steps)
            return get_lr_wsd_schedule(step, *bounds, decay_start=start, decay_end=steps)
        return get_lr_cosine_schedule(step, *bounds, steps)
