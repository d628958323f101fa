"""All adapters of both tracks: those of the classic one, too, are built on those below them."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from cs336_basics.gpt import GPT

from .catalogue import Mistake, Part
from .parts import EPSILON, Parts, Step, Weights, causal, merged, of_layer, split

# Token ids (batch, T) to logits (batch, T, vocab_size).
Model = Callable[[Tensor], Tensor]


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


class Settings(NamedTuple):
    """How to generate, as the adapter is given it."""

    max_new_tokens: int
    context_length: int
    temperature: float
    top_k: int | None
    top_p: float | None
    end_of_text: int | None
    seed: int | None


class GPTParts(Parts):
    """The modern track's adapters, the classic track's, and what these share.

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
        return split(x, num_heads)

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
        output: Tensor = self.wire_gpt_block(
            x,
            functools.partial(self.normalize, weights, "ln1"),
            lambda y: self.run_gpt_attention(d_model, num_heads, dropout, attn, y, training),
            functools.partial(self.normalize, weights, "ln2"),
            lambda y: self.run_gpt_feed_forward(d_model, d_ff, dropout, ffn, y, training),
        )
        return output

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
        output: Tensor = self.wire_gpt(
            token_ids,
            functools.partial(self.embed, sizes, weights),
            blocks,
            functools.partial(self.normalize, weights, "ln_final"),
            functools.partial(self.run_linear, d_model, V, weights["lm_head.weight"]),
        )
        return output

    def embed(self, sizes: GPTSizes, weights: Weights, token_ids: Tensor) -> Tensor:
        """What the first block sees."""
        tokens, positions = (weights[f"{name}_embeddings.weight"] for name in NAMES)
        x = self.run_scaled_embedding(sizes.vocab_size, sizes.d_model, tokens, token_ids)
        y: Tensor = self.run_learned_positions(sizes.context_length, sizes.d_model, positions, x)
        return y

    def wire_gpt(
        self, token_ids: Tensor, embed: Step, blocks: Sequence[Step], norm: Step, head: Step
    ) -> Tensor:
        """How the model's layers are put together."""
        return Parts.wire_lm(self, token_ids, embed, blocks, norm, head)

    def run_next_token_probabilities(
        self,
        logits: Tensor,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> Tensor:
        """Sampling, of softmax."""
        if temperature == 0:
            return self.greedy(logits)
        scores = self.cool(logits.double(), temperature)
        if top_k is not None:
            scores = self.cut_to_k(scores, min(top_k, scores.shape[-1]))
        probabilities: Tensor = self.run_softmax(scores, -1)
        if top_p is not None and top_p < 1:
            probabilities = self.cut_to_p(probabilities, top_p)
        return probabilities.to(logits.dtype)

    def greedy(self, logits: Tensor) -> Tensor:
        """All for the first of the largest."""
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)

    def cool(self, logits: Tensor, temperature: float) -> Tensor:
        """Logits at a temperature."""
        return (logits - logits.amax(-1, keepdim=True)) / temperature

    def cut_to_k(self, scores: Tensor, k: int) -> Tensor:
        """Nothing but the k largest."""
        return scores.masked_fill(scores < scores.topk(k).values[..., -1:], -torch.inf)

    def cut_to_p(self, probabilities: Tensor, p: float) -> Tensor:
        """Nothing but the nucleus, scaled to sum to 1."""
        descending, order = ordered(probabilities)
        return scattered(self.nucleus(descending, p), order)

    def nucleus(self, descending: Tensor, p: float) -> Tensor:
        """The same for probabilities in descending order."""
        return rescaled(descending.masked_fill(descending.cumsum(-1) - descending >= p, 0.0))

    def run_generate(
        self,
        model: Model,
        token_ids: Tensor,
        max_new_tokens: int,
        context_length: int,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        end_of_text: int | None = None,
        seed: int | None = None,
    ) -> list[list[int]]:
        """Generation, of sampling."""
        settings = Settings(
            max_new_tokens, context_length, temperature, top_k, top_p, end_of_text, seed
        )
        output: list[list[int]] = self.generate(model, token_ids, settings)
        return output

    def generate(self, model: Model, token_ids: Tensor, settings: Settings) -> list[list[int]]:
        """The loop over new tokens."""
        generator = None if settings.seed is None else torch.Generator().manual_seed(settings.seed)
        tokens, new = token_ids, token_ids[:, :0]
        while new.shape[1] < settings.max_new_tokens and not self.ended(new, settings.end_of_text):
            logits = self.look(model, self.window(tokens, settings.context_length))
            chosen = self.choose(logits, settings, generator)
            tokens, new = torch.cat([tokens, chosen], 1), torch.cat([new, chosen], 1)
        return [self.until_end(row, settings.end_of_text) for row in new.tolist()]

    def window(self, tokens: Tensor, context_length: int) -> Tensor:
        """What the model sees."""
        return tokens[:, -context_length:]

    def look(self, model: Model, window: Tensor) -> Tensor:
        """The logits of the next token of each sequence."""
        return model(window)[:, -1]

    def choose(
        self, logits: Tensor, settings: Settings, generator: torch.Generator | None
    ) -> Tensor:
        """The next token of each sequence, as a column."""
        probabilities = self.run_next_token_probabilities(
            logits, settings.temperature, settings.top_k, settings.top_p
        )
        return torch.multinomial(probabilities, 1, generator=generator)

    def ended(self, new: Tensor, end_of_text: int | None) -> bool:
        """Whether nothing is left to do."""
        return end_of_text is not None and bool((new == end_of_text).any(1).all())

    def until_end(self, new_ids: list[int], end_of_text: int | None) -> list[int]:
        """One sequence's new tokens up to its end."""
        if end_of_text not in new_ids:
            return new_ids
        return new_ids[: new_ids.index(end_of_text) + 1]


NAMES = ("token", "position")


def part_of(weights: Weights, name: str) -> Weights:
    """The weights of one part, by the part's own names."""
    prefix = f"{name}."
    return {
        key.removeprefix(prefix): weight
        for key, weight in weights.items()
        if key.startswith(prefix)
    }


def ordered(values: Tensor, *, descending: bool = True) -> tuple[Tensor, Tensor]:
    """Values in order, and where they were."""
    order = values.argsort(dim=-1, descending=descending, stable=True)
    return values.gather(-1, order), order


def scattered(values: Tensor, order: Tensor) -> Tensor:
    """Sorted values back in their places."""
    return torch.zeros_like(values).scatter(-1, order, values)


def rescaled(values: Tensor) -> Tensor:
    """Values that sum to 1."""
    return values / values.sum(-1, keepdim=True)


def adapters_with(*mistakes: Mistake) -> GPTParts:
    """All adapters of a submission whose only faults are these, as if just imported.

    Each call gives new ones, in which nothing is kept of earlier calls.

    Raises:
        ValueError: two of the mistakes are in the same place.
    """
    replaced: dict[str, Part] = {}
    for known in mistakes:
        taken = replaced.keys() & known.replaces.keys()
        if taken:
            raise ValueError(f"{known.id} replaces {sorted(taken)} as another mistake does")
        replaced.update(known.replaces)
    return GPTParts(**replaced)
