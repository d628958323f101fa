"""A submission's adapters, each built on those below it, so that a wrong one shows in all above.

The reference's classes are whole: nothing inside them can be replaced. Here the same components are
functions that call each other through one object, in which a mistake takes the place of any.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from cs336_basics.model import split_heads
from cs336_checks.catalogue import Part
from tests import adapters as reference

Weights = dict[str, Tensor]
Step = Callable[[Tensor], Tensor]
# The weights of queries, keys, values and output.
Projections = tuple[Tensor, Tensor, Tensor, Tensor]
# The block's normalization; the published adapters leave its epsilon out.
EPSILON = 1e-5


class Rope(NamedTuple):
    """What RoPE is built for.

    Attributes:
        length: how many positions there are.
        theta: the base of the frequencies.
    """

    length: int
    theta: float


class Sizes(NamedTuple):
    """What a language model is built for, as the adapter is given it."""

    vocab_size: int
    context_length: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int
    theta: float


class Parts:
    """The modern track's adapters, and what two of them share; what nothing replaces is right.

    Components that are built on no others are the reference's own.

    Attributes:
        kept: what a submission's code keeps from one call to the next.
        replaced: what is in the place of right adapters and parts.
    """

    def __init__(self, **replaced: Part) -> None:
        self.kept: dict[Any, Any] = {}
        self.replaced = replaced
        for name, function in replaced.items():
            if not hasattr(self, name):
                raise ValueError(f"there is no adapter and no part called {name}")
            setattr(self, name, self.bound(function))

    def __getattr__(self, name: str) -> Any:
        return getattr(reference, name)

    def but(self, **replaced: Part) -> Self:
        """The same with more replaced, and the same things kept."""
        others = type(self)(**(self.replaced | replaced))
        others.kept = self.kept
        return others

    def bound(self, function: Part) -> Part:
        """The function, with this object as its first argument if it asks for the parts."""
        if next(iter(inspect.signature(function).parameters), None) == "parts":
            return functools.partial(function, self)
        return function

    def run_swiglu(
        self,
        d_model: int,
        d_ff: int,
        w1_weight: Tensor,
        w2_weight: Tensor,
        w3_weight: Tensor,
        in_features: Tensor,
    ) -> Tensor:
        """SwiGLU, of linear layers and SiLU."""
        gate = self.run_silu(self.run_linear(d_model, d_ff, w1_weight, in_features))
        hidden = gate * self.run_linear(d_model, d_ff, w3_weight, in_features)
        output: Tensor = self.run_linear(d_ff, d_model, w2_weight, hidden)
        return output

    def run_scaled_dot_product_attention(
        self, Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Attention, of softmax."""
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights: Tensor = self.run_softmax(scores, -1)
        return weights @ V

    def run_rope(
        self,
        d_k: int,
        theta: float,
        max_seq_len: int,
        in_query_or_key: Tensor,
        token_positions: Tensor,
    ) -> Tensor:
        """RoPE with a table, as most students have it: a position beyond its end is an error."""
        positions = torch.arange(max_seq_len)[token_positions]
        return reference.run_rope(d_k, theta, max_seq_len, in_query_or_key, positions)

    def attend_in_heads(
        self,
        num_heads: int,
        projections: Projections,
        x: Tensor,
        turn: Step,
    ) -> Tensor:
        """Causal multi-head self-attention.

        Args:
            num_heads: the number of heads.
            projections: the weights of queries, keys, values and output.
            x: the input, (…, sequence, d_model).
            turn: what is done to the heads' queries and keys, (…, head, sequence, d_k).
        """
        d_model = x.shape[-1]
        Q, K, V = (
            split_heads(self.run_linear(d_model, d_model, weight, x), num_heads)
            for weight in projections[:3]
        )
        heads = self.run_scaled_dot_product_attention(turn(Q), turn(K), V, causal(x.shape[-2]))
        output: Tensor = self.run_linear(d_model, d_model, projections[3], merged(heads))
        return output

    def run_multihead_self_attention(
        self,
        d_model: int,
        num_heads: int,
        q_proj_weight: Tensor,
        k_proj_weight: Tensor,
        v_proj_weight: Tensor,
        o_proj_weight: Tensor,
        in_features: Tensor,
    ) -> Tensor:
        """Multi-head self-attention without RoPE."""
        projections = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
        return self.attend_in_heads(num_heads, projections, in_features, lambda x: x)

    def run_multihead_self_attention_with_rope(
        self,
        d_model: int,
        num_heads: int,
        max_seq_len: int,
        theta: float,
        q_proj_weight: Tensor,
        k_proj_weight: Tensor,
        v_proj_weight: Tensor,
        o_proj_weight: Tensor,
        in_features: Tensor,
        token_positions: Tensor | None = None,
    ) -> Tensor:
        """Multi-head self-attention with RoPE."""
        projections = (q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
        return self.attend_by_position(
            num_heads, Rope(max_seq_len, theta), projections, in_features, token_positions
        )

    def attend_by_position(
        self,
        num_heads: int,
        rope: Rope,
        projections: Projections,
        x: Tensor,
        token_positions: Tensor | None,
    ) -> Tensor:
        """Causal multi-head self-attention with RoPE on each head's queries and keys."""
        d_k, positions = x.shape[-1] // num_heads, for_heads(token_positions, x.shape[-2])

        def turn(heads: Tensor) -> Tensor:
            return self.run_rope(d_k, rope.theta, rope.length, heads, positions)

        return self.attend_in_heads(num_heads, projections, x, turn)

    def run_transformer_block(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        max_seq_len: int,
        theta: float,
        weights: Weights,
        in_features: Tensor,
    ) -> Tensor:
        """The block, of RMSNorm, attention and SwiGLU."""
        q, k, v, o = (weights[f"attn.{name}_proj.weight"] for name in ("q", "k", "v", "output"))
        feed_forward = [weights[f"ffn.w{i}.weight"] for i in (1, 2, 3)]
        rope = Rope(max_seq_len, theta)
        return self.wire_block(
            in_features,
            functools.partial(self.run_rmsnorm, d_model, EPSILON, weights["ln1.weight"]),
            functools.partial(self.attend_in_block, num_heads, rope, (q, k, v, o)),
            functools.partial(self.run_rmsnorm, d_model, EPSILON, weights["ln2.weight"]),
            functools.partial(self.run_swiglu, d_model, d_ff, *feed_forward),
        )

    def attend_in_block(
        self, num_heads: int, rope: Rope, projections: Projections, x: Tensor
    ) -> Tensor:
        """The block's attention, at positions 0, 1, 2 and so on."""
        return self.run_multihead_self_attention_with_rope(
            x.shape[-1], num_heads, *rope, *projections, x, torch.arange(x.shape[-2])
        )

    def wire_block(
        self, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
    ) -> Tensor:
        """How the block's four layers are put together."""
        y = x + attend(norm1(x))
        return y + feed_forward(norm2(y))

    def run_transformer_lm(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        rope_theta: float,
        weights: Weights,
        in_indices: Tensor,
    ) -> Tensor:
        """The language model, of embedding, blocks, RMSNorm and a linear layer."""
        sizes = Sizes(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta)
        return self.build_lm(sizes, weights, in_indices)

    def build_lm(self, sizes: Sizes, weights: Weights, token_ids: Tensor) -> Tensor:
        """The language model's layers, each given its weights, and then put together."""
        V, d_model = sizes.vocab_size, sizes.d_model
        if token_ids.shape[-1] > sizes.context_length:
            raise ValueError(f"more than {sizes.context_length} tokens")
        block_sizes = (d_model, sizes.num_heads, sizes.d_ff, sizes.context_length, sizes.theta)
        blocks = [
            functools.partial(self.run_transformer_block, *block_sizes, of_layer(weights, i))
            for i in range(sizes.num_layers)
        ]
        return self.wire_lm(
            token_ids,
            functools.partial(self.run_embedding, V, d_model, weights["token_embeddings.weight"]),
            blocks,
            functools.partial(self.run_rmsnorm, d_model, EPSILON, weights["ln_final.weight"]),
            functools.partial(self.run_linear, d_model, V, weights["lm_head.weight"]),
        )

    def wire_lm(
        self, token_ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
    ) -> Tensor:
        """How the language model's layers are put together."""
        x = embed(token_ids)
        for block in blocks:
            x = block(x)
        return head(norm(x))


def of_layer(weights: Weights, i: int) -> Weights:
    """The weights of one block, by the block's own names."""
    prefix = f"layers.{i}."
    return {
        name.removeprefix(prefix): weight
        for name, weight in weights.items()
        if name.startswith(prefix)
    }


def random(*shape: int) -> Tensor:
    """Numbers that have nothing to do with what was given, the same at every call."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def merged(heads: Tensor) -> Tensor:
    """The heads' features beside each other again."""
    return heads.transpose(-3, -2).flatten(-2)


def causal(length: int) -> Tensor:
    """True where a position may attend to another: to itself and those before."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def for_heads(token_positions: Tensor | None, length: int) -> Tensor:
    """The positions, 0, 1, 2 and so on by default, with an axis for heads if they have rows."""
    if token_positions is None:
        return torch.arange(length)
    return token_positions if token_positions.dim() == 1 else token_positions.unsqueeze(-2)
