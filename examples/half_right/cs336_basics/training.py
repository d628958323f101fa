"""What the training loop needs."""

import math
from collections.abc import Iterable

import numpy as np
import torch


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean of -log p(target)."""
    if targets.shape != logits.shape[:-1]:
        raise ValueError(f"{tuple(logits.shape)} logits, but {tuple(targets.shape)} targets")
    logits = logits - logits.max(dim=-1, keepdim=True).values
    right = logits.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)
    return (logits.exp().sum(-1).log() - right).mean()


class AdamW(torch.optim.Optimizer):
    """Like in the paper."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def step(self, closure=None):
        """Update all parameters that have a gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                s["t"] += 1
                s["m"] = b1 * s["m"] + (1 - b1) * p.grad
                s["v"] = b2 * s["v"] + (1 - b2) * p.grad**2
                alpha = group["lr"] * math.sqrt(1 - b2 ** s["t"]) / (1 - b1 ** s["t"])
                p.data -= alpha * s["m"] / (s["v"].sqrt() + group["eps"])
                p.data -= group["lr"] * group["weight_decay"] * p.data
        return loss


def cosine_schedule(t: int, lr_max: float, lr_min: float, warmup: int, end: int) -> float:
    """Up in a line, down in a cosine, then flat."""
    if t < warmup:
        return lr_max * t / warmup
    if t >= end:
        return lr_min
    return lr_min + (lr_max - lr_min) * (1 + math.cos(math.pi * (t - warmup) / (end - warmup))) / 2


def clip_gradients(parameters: Iterable[torch.nn.Parameter], max_norm: float) -> None:
    """Scale gradients down that are too long."""
    for p in parameters:
        if p.grad is None:
            continue
        norm = p.grad.norm()
        if norm > max_norm:
            p.grad.mul_(max_norm / (norm + 1e-6))


def get_batch(data: np.ndarray, batch_size: int, length: int, device: str) -> tuple:
    """Random windows and the same one token later."""
    starts = np.random.randint(0, len(data) - length, size=(batch_size, 1))
    windows = data[starts + np.arange(length + 1)].astype(np.int64)
    windows = torch.from_numpy(windows).to(device)
    return windows[:, :-1], windows[:, 1:]


def save_checkpoint(model, optimizer, iteration: int, out) -> None:
    """Everything to go on later."""
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "it": iteration}
    torch.save(state, out)


def load_checkpoint(src, model, optimizer) -> int:
    """Go on where we stopped."""
    state = torch.load(src, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["it"]
