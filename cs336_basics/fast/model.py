"""Both families with PyTorch's fused functions: the same results, sooner and in less memory.

Anyone outside of a course would use these functions. Here they are twins of what model.py and
gpt.py write out: fuse gives them to a model that exists, whose parameters stay as they are. Only
which elements dropout draws differs.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from cs336_basics import gpt, model
from cs336_basics.families import approximate_gelu

Model = TypeVar("Model", bound=nn.Module)


class Linear(model.Linear):
    """The product and the bias in one kernel."""

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        """Map the last axis from d_in to d_out."""
        return functional.linear(x, self.weight, self.bias)


class RMSNorm(model.RMSNorm):
    """The norm in one kernel."""

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise."""
        return functional.rms_norm(x, self.weight.shape, self.weight, self.eps)


class LayerNorm(gpt.LayerNorm):
    """The norm in one kernel."""

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normalise."""
        return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class SwiGLU(model.SwiGLU):
    """With PyTorch's SiLU."""

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Gate W₃x with SiLU(W₁x), and map it back to d_model."""
        output: Float[Tensor, "... d_model"] = self.w2(functional.silu(self.w1(x)) * self.w3(x))
        return output


Activation = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[Activation, Activation] = {
    gpt.gelu: functional.gelu,
    approximate_gelu: partial(functional.gelu, approximate="tanh"),
}


class FeedForward(gpt.FeedForward):
    """With PyTorch's GELU."""

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Map each position by itself to d_ff features and back."""
        activation = ACTIVATIONS.get(self.activation, self.activation)
        output: Float[Tensor, "... d_model"] = self.fc2(self.dropout(activation(self.fc1(x))))
        return output


class Dropout(gpt.Dropout):
    """Drawing, zeroing and scaling in one kernel."""

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Drop elements in training."""
        return functional.dropout(x, self.p, self.training)


def attend(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor, dropout: float = 0.0) -> Tensor:
    """Attention that never holds all of its weights, where the device has such a kernel."""
    # With is_causal, a kernel skips the hidden keys. The last query alone attends to all keys.
    T, S = Q.shape[-2], K.shape[-2]
    return functional.scaled_dot_product_attention(
        Q, K, V, mask if 1 < T < S else None, dropout_p=dropout, is_causal=T == S
    )


class CausalMultiHeadSelfAttention(model.CausalMultiHeadSelfAttention):
    """Attention in one kernel."""

    def attend(self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Tensor:
        """Attend in every head."""
        return attend(Q, K, V, mask)


class GPTAttention(gpt.GPTAttention):
    """Attention and its dropout in one kernel."""

    def attend(self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor) -> Tensor:
        """Attend in every head."""
        return attend(Q, K, V, mask, self.dropout.p if self.training else 0.0)


def cross_entropy(
    logits: Float[Tensor, "... vocab_size"], targets: Int[Tensor, "..."]
) -> Float[Tensor, ""]:
    """-log softmax(logits)[target], averaged over all leading axes."""
    rows = logits.reshape(-1, logits.shape[-1])
    return functional.cross_entropy(rows, targets.flatten().long())


TWINS: dict[type[nn.Module], type[nn.Module]] = {
    model.Linear: Linear,
    model.RMSNorm: RMSNorm,
    model.SwiGLU: SwiGLU,
    model.CausalMultiHeadSelfAttention: CausalMultiHeadSelfAttention,
    gpt.LayerNorm: LayerNorm,
    gpt.Dropout: Dropout,
    gpt.FeedForward: FeedForward,
    gpt.GPTAttention: GPTAttention,
}


def fuse(language_model: Model) -> Model:
    """Give each module of a model the class of its twin, and return the model.

    Attributes, parameters and their names stay: a twin differs from its class in forward alone.
    """
    for module in language_model.modules():
        module.__class__ = TWINS.get(type(module), type(module))
    return language_model
