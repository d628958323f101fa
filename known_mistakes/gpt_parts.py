"""The classic track's model, each of its adapters built on those below it."""

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from cs336_basics.gpt import GPT
from cs336_basics.model import split_heads

from .parts import EPSILON, Parts, Step, Weights, causal, merged, of_layer


class BlockSizes(NamedTuple):
    """What a block is built for, as the adapter is given it."""

    d_model: int
    num_heads: int
    d_ff: int
    dropout: float


class GPTSizes(NamedTuple):
    """What a model is built for, as the adapter is given it."""

    vocab_size: int
    context_length: int
    d_model: int
    num_layers: int
    num_heads: int
    d_ff: int
    dropout: float


class GPTParts(Parts):
    """The modern track's adapters, those of the classic track's model, and what these share.

    Those that are built on no others are the reference's own.
    """

    def affine(self, weights: Weights, name: str, x: Tensor) -> Tensor:
        """A linear layer with a bias, by its name among the weights."""
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        y: Tensor = self.run_linear(weight.shape[1], weight.shape[0], weight, x)
        return y + bias

    def normalize(self, weights: Weights, name: str, x: Tensor) -> Tensor:
        """LayerNorm, by its name among the weights."""
        own = {key: weights[f"{name}.{key}"] for key in ("weight", "bias")}
        y: Tensor = self.run_layer_norm(x.shape[-1], EPSILON, own, x)
        return y

    def run_scaled_embedding(
        self, vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor
    ) -> Tensor:
        """Scaled embedding, of embedding."""
        rows: Tensor = self.run_embedding(vocab_size, d_model, weights, token_ids)
        return math.sqrt(d_model) * rows

    def run_gpt_feed_forward(
        self,
        d_model: int,
        d_ff: int,
        dropout: float,
        weights: Weights,
        in_features: Tensor,
        training: bool = False,
    ) -> Tensor:
        """Feed-forward network, of linear layers, GELU and dropout."""
        drop = functools.partial(self.run_dropout, dropout, training=training)
        return self.widen_and_narrow(weights, drop, in_features)

    def widen_and_narrow(self, weights: Weights, drop: Step, x: Tensor) -> Tensor:
        """How the feed-forward network's layers are put together."""
        return self.affine(weights, "fc2", drop(self.run_gelu(self.affine(weights, "fc1", x))))

    def run_gpt_attention(
        self,
        d_model: int,
        num_heads: int,
        dropout: float,
        weights: Weights,
        in_features: Tensor,
        training: bool = False,
    ) -> Tensor:
        """Causal multi-head self-attention, of linear layers, softmax and dropout."""
        drop = functools.partial(self.run_dropout, dropout, training=training)
        return self.attend_with_bias(num_heads, weights, drop, in_features)

    def attend_with_bias(self, num_heads: int, weights: Weights, drop: Step, x: Tensor) -> Tensor:
        """How attention's layers are put together."""
        Q, K, V = (self.divide(self.affine(weights, f"{i}_proj", x), num_heads) for i in "qkv")
        heads = self.attend(Q, K, V, drop)
        return self.affine(weights, "output_proj", self.join(heads))

    def divide(self, x: Tensor, num_heads: int) -> Tensor:
        """Features by head, (…, head, sequence, d_k)."""
        return split_heads(x, num_heads)

    def join(self, heads: Tensor) -> Tensor:
        """The heads' features beside each other again."""
        return merged(heads)

    def visible(self, length: int) -> Tensor:
        """True where a position may attend to another."""
        return causal(length)

    def attend(self, Q: Tensor, K: Tensor, V: Tensor, drop: Step) -> Tensor:
        """What each head gives, (…, head, sequence, d_k), with dropout of the probabilities."""
        length = Q.shape[-2]
        # With the identity for values, attention gives its probabilities.
        probabilities = self.run_scaled_dot_product_attention(
            Q, K, torch.eye(length, dtype=Q.dtype), self.visible(length)
        )
        return drop(probabilities) @ V

    def run_gpt_block(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        dropout: float,
        weights: Weights,
        in_features: Tensor,
        training: bool = False,
    ) -> Tensor:
        """The block, of LayerNorm, attention and the feed-forward network."""
        sizes = BlockSizes(d_model, num_heads, d_ff, dropout)
        return self.build_gpt_block(sizes, weights, in_features, training)

    def build_gpt_block(
        self, sizes: BlockSizes, weights: Weights, x: Tensor, training: bool
    ) -> Tensor:
        """The block's layers, each given its weights, and then put together."""
        d_model, num_heads, d_ff, dropout = sizes
        attn, ffn = part_of(weights, "attn"), part_of(weights, "ffn")
        drop = functools.partial(self.drop_branch, dropout, training)
        return self.wire_gpt_block(
            x,
            functools.partial(self.normalize, weights, "ln1"),
            lambda y: drop(self.run_gpt_attention(d_model, num_heads, dropout, attn, y, training)),
            functools.partial(self.normalize, weights, "ln2"),
            lambda y: drop(self.run_gpt_feed_forward(d_model, d_ff, dropout, ffn, y, training)),
        )

    def drop_branch(self, dropout: float, training: bool, x: Tensor) -> Tensor:
        """Dropout of what attention or the feed-forward network gives."""
        y: Tensor = self.run_dropout(dropout, x, training)
        return y

    def wire_gpt_block(
        self, x: Tensor, norm1: Step, attend: Step, norm2: Step, feed_forward: Step
    ) -> Tensor:
        """How the block's four layers are put together."""
        return Parts.wire_block(self, x, norm1, attend, norm2, feed_forward)

    def run_gpt(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float,
        weights: Weights,
        token_ids: Tensor,
        tie_weights: bool = True,
        training: bool = False,
    ) -> Tensor:
        """The model, of embedding, positions, blocks, LayerNorm and a linear layer."""
        sizes = GPTSizes(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, dropout)
        return self.build_gpt(sizes, self.tied(weights, tie_weights), token_ids, training)

    def get_gpt(
        self,
        vocab_size: int,
        context_length: int,
        d_model: int,
        num_layers: int,
        num_heads: int,
        d_ff: int,
        dropout: float,
        tie_weights: bool,
    ) -> GPT:
        """The model before training."""
        sizes = GPTSizes(vocab_size, context_length, d_model, num_layers, num_heads, d_ff, dropout)
        return self.new_gpt(sizes, tie_weights)

    def new_gpt(self, sizes: GPTSizes, tie_weights: bool) -> GPT:
        """The same by its sizes."""
        return GPT(**sizes._asdict(), tie_weights=tie_weights)

    def tied(self, weights: Weights, tie_weights: bool) -> Weights:
        """The model's weights, with the embedding's in the place of the head's where asked."""
        if not tie_weights:
            return weights
        return weights | {"lm_head.weight": weights["token_embeddings.weight"]}

    def build_gpt(
        self, sizes: GPTSizes, weights: Weights, token_ids: Tensor, training: bool
    ) -> Tensor:
        """The model's layers, each given its weights, and then put together."""
        V, d_model = sizes.vocab_size, sizes.d_model
        block = BlockSizes(d_model, sizes.num_heads, sizes.d_ff, sizes.dropout)
        blocks = [
            functools.partial(self.run_gpt_block, *block, of_layer(weights, i), training=training)
            for i in range(sizes.num_layers)
        ]
        return self.wire_gpt(
            token_ids,
            functools.partial(self.embed_and_drop, sizes, weights, training),
            blocks,
            functools.partial(self.normalize, weights, "ln_final"),
            functools.partial(self.run_linear, d_model, V, weights["lm_head.weight"]),
        )

    def embed_and_drop(
        self, sizes: GPTSizes, weights: Weights, training: bool, token_ids: Tensor
    ) -> Tensor:
        """The input of the first block."""
        y: Tensor = self.run_dropout(sizes.dropout, self.embed(sizes, weights, token_ids), training)
        return y

    def embed(self, sizes: GPTSizes, weights: Weights, token_ids: Tensor) -> Tensor:
        """The sum of embeddings and positions."""
        tokens, positions = (weights[f"{name}_embeddings.weight"] for name in NAMES)
        x = self.run_scaled_embedding(sizes.vocab_size, sizes.d_model, tokens, token_ids)
        y: Tensor = self.run_learned_positions(sizes.context_length, sizes.d_model, positions, x)
        return y

    def wire_gpt(
        self, token_ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
    ) -> Tensor:
        """How the model's layers are put together."""
        return Parts.wire_lm(self, token_ids, embed, blocks, norm, head)


NAMES = ("token", "position")


def part_of(weights: Weights, name: str) -> Weights:
    """The weights of one part, by the part's own names."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): weight
        for key, weight in weights.items()
        if key.startswith(prefix)
    }
