"""Does beforehand what most checks have a worker do, so that those forked later find it done.

What a process does for the first time takes it longest: torch looks up each kind of operation, and
imports more of itself at the first backward pass; Python prepares the code that runs often. Each
check would do so again, and have pages of its own for what comes of it.
"""

import socket
from contextlib import suppress
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from .channel import Channel, Message, Node
from .session import Session
from .values import Encoder

# Python prepares code that has run eight times.
TIMES = 10
OF_EACH = ("exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "abs", "square")
OF_ROWS = ("sum", "mean", "amax", "max", "argmax", "var", "softmax", "logsumexp", "cumsum", "sort")


class Doubled(torch.autograd.Function):
    """A function with a gradient of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Twice the tensor."""
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Twice the gradient."""
        (x,) = ctx.saved_tensors
        return grads[0] * torch.full_like(x, 2)


class Layer(torch.nn.Module):
    """A module with a parameter, a buffer and a module within."""

    def __init__(self, size: int, inner: torch.nn.Module | None = None) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(size, size))
        self.table: Tensor
        self.register_buffer("table", torch.arange(size).float(), persistent=False)
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        """The product with the weight."""
        y = torch.einsum("...i, oi -> ...o", x @ self.weight.T, self.weight) * self.table
        apply: Any = Doubled.apply
        found: Tensor = apply(y if self.inner is None else self.inner(y))
        return found


class Descent(torch.optim.Optimizer):
    """An optimizer with a state."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:  # noqa: ARG002 (named as in torch)
        """Go down by the mean of all gradients so far."""
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                mean = state.setdefault("mean", torch.zeros_like(p))
                mean.mul_(0.9).add_(p.grad, alpha=0.1).lerp_(p.grad, 0.5)
                p.addcdiv_(mean, mean.square().sqrt_().add_(1e-8), value=-group["lr"])


def rehearse() -> None:
    """Do what most checks do; where that is not to be had, each check does it for itself."""
    with suppress(Exception):
        perform()


def perform() -> None:
    """Do what most checks do, with nothing that is anybody's."""
    for _ in range(TIMES):
        compute()
        learn()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        adapters = ModuleType("adapters")
        vars(adapters).update(double=lambda x: x * 2, count=len)
        for _ in range(TIMES):
            converse(Channel(ours), Session(Channel(theirs), adapters, None, None))


def compute() -> None:
    """Operations on tensors."""
    x = torch.tensor([[0.5, 1.5, 2.5, 3.5]] * 6).reshape(2, 3, 4)
    numbers = torch.arange(3)
    for name in OF_EACH:
        getattr(x, name)()
    for name in OF_ROWS:
        getattr(x, name)(-1)
    _ = x + x, x - 1, x * x, x / 2, x**2, -x, x == 1, x < 1, x @ x.transpose(-1, -2), x.norm()
    mask = torch.tril(torch.ones(4, 4, dtype=torch.bool)) & ~torch.zeros(4, dtype=torch.bool)
    _ = x.masked_fill(x < 1, 0.0), torch.where(x < 1, x, 0.0), x[..., mask[0]], x[:, numbers]
    turned = torch.view_as_complex(x.reshape(2, 3, 2, 2)) * torch.polar(x[..., :2], x[..., :2])
    _ = torch.view_as_real(turned).flatten(-2), torch.outer(numbers, numbers), x[..., ::2]
    _ = torch.stack((x, x), -1), torch.cat((x, x)), x.permute(2, 0, 1).contiguous(), x.chunk(2, -1)
    _ = x.gather(-1, x.argmax(-1, keepdim=True)), x.expand(5, 2, 3, 4), x.unsqueeze(0).squeeze(0)
    _ = x.double().half().bfloat16().to(torch.float32), x.detach().clone().numpy(), x.tolist()
    x.clamp_(max=1.0).add_(x).mul_(2).div_(3).copy_(x).zero_().fill_(1.0)
    torch.nn.init.trunc_normal_(x, generator=torch.Generator().manual_seed(0))


def learn() -> None:
    """A step of training, and what is saved of it."""
    model = Layer(4, Layer(4))
    model.load_state_dict(model.state_dict())
    optimizer = Descent(model.parameters())
    optimizer.zero_grad()
    model.train()(torch.ones(2, 3, 4)).logsumexp(-1).mean().backward()
    optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    with torch.no_grad():
        model.eval()(torch.ones(3, 4))


def converse(asking: Channel, session: Session) -> None:
    """Calls with a tensor and with plain values, and a backward pass."""
    tensor = torch.ones(2, 3)
    encoder = Encoder()
    about: dict[str, Node] = {
        "number": 0,
        "key": 0,
        "parameter": True,
        "leaf": True,
        "requires_grad": True,
    }
    about |= {"grad": None, "stride": None}
    argument = ["argument", encoder.encode_tensor(tensor), about]
    ask(asking, session, call("double", argument), encoder)
    encoder = Encoder()
    grads = encoder.encode([tensor])
    ask(asking, session, {"op": "backward", "call": 0, "grads": grads}, encoder)
    encoder = Encoder()
    numbers = ["container", encoder.encode(list(range(100))), 0]
    ask(asking, session, call("count", numbers), encoder)


def call(name: str, argument: Node) -> Message:
    """The message that calls a function with one argument."""
    return {
        "op": "call",
        "name": name,
        "held": None,
        "sync": [],
        "options": None,
        "args": ["tuple", ["items", [argument]]],
        "kwargs": ["dict", ["items", []], ["items", []]],
        "grad_enabled": True,
    }


def ask(asking: Channel, session: Session, message: Message, encoder: Encoder) -> None:
    """Send a message, have it answered, and take the answer in."""
    asking.send(message, encoder.buffers)
    session.answer(*session.channel.receive())
    asking.receive()
