"""The only way the checks reach your code: give each function the body that calls what you built.

A function gets plain inputs, and the weights where its module has any. Load the weights into your
module, call it and return what it returns: nothing is computed here. Names, parameters and their
order must stay; import what you like and add what you need.

`...` in a shape stands for any number of leading axes, also for none.
"""

import os
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cs336_basics.checkpoint import load_checkpoint, save_checkpoint
from cs336_basics.data import get_batch
from cs336_basics.loss import cross_entropy
from cs336_basics.model import (
    CausalMultiHeadSelfAttention,
    Embedding,
    Linear,
    RMSNorm,
    RotaryPositionalEmbedding,
    SwiGLU,
    TransformerBlock,
    TransformerLM,
    scaled_dot_product_attention,
    silu,
    softmax,
)
from cs336_basics.optimizer import AdamW, clip_gradients, get_lr_cosine_schedule
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.train_bpe import train_bpe


def run_linear(
    d_in: int,
    d_out: int,
    weights: Float[Tensor, " d_out d_in"],
    in_features: Float[Tensor, " ... d_in"],
) -> Float[Tensor, " ... d_out"]:
    """Apply your linear layer, which has no bias.

    Args:
        d_in: Size of the last axis of the input.
        d_out: Size of the last axis of the output.
        weights: The layer's weight.
        in_features: The input.

    Returns:
        The input with its last axis mapped to d_out.
    """
    linear = Linear(d_in, d_out, weights.device, weights.dtype)
    linear.load_state_dict({"weight": weights})
    output: Tensor = linear(in_features)
    return output


def run_embedding(
    vocab_size: int,
    d_model: int,
    weights: Float[Tensor, " vocab_size d_model"],
    token_ids: Int[Tensor, " ..."],
) -> Float[Tensor, " ... d_model"]:
    """Look up token ids in your embedding.

    Args:
        vocab_size: Number of tokens, and of rows of the weights.
        d_model: Size of each vector.
        weights: One vector for each token.
        token_ids: Ids in any shape, of any integer type.

    Returns:
        The vector of each id, in an axis after those of the ids.
    """
    embedding = Embedding(vocab_size, d_model, weights.device, weights.dtype)
    embedding.load_state_dict({"weight": weights})
    output: Tensor = embedding(token_ids)
    return output


def run_swiglu(  # noqa: PLR0917 - published parameters
    d_model: int,
    d_ff: int,
    w1_weight: Float[Tensor, " d_ff d_model"],
    w2_weight: Float[Tensor, " d_model d_ff"],
    w3_weight: Float[Tensor, " d_ff d_model"],
    in_features: Float[Tensor, " ... d_model"],
) -> Float[Tensor, " ... d_model"]:
    """Apply your SwiGLU feed-forward network.

    Args:
        d_model: Size of the last axis of input and output.
        d_ff: Size of the layer between them.
        w1_weight: Weight of the gate, which goes through SiLU.
        w2_weight: Weight that maps back to d_model.
        w3_weight: Weight of what the gate is multiplied with.
        in_features: The input.

    Returns:
        The output, in the shape of the input.
    """
    swiglu = SwiGLU(d_model, d_ff, w1_weight.device, w1_weight.dtype)
    swiglu.load_state_dict({"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight})
    output: Tensor = swiglu(in_features)
    return output


def run_scaled_dot_product_attention(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    V: Float[Tensor, " ... keys d_v"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries d_v"]:
    """Apply your scaled dot-product attention.

    Args:
        Q: Queries.
        K: Keys.
        V: Values; their size may differ from that of the keys.
        mask: True where a query may attend to a key. Without a mask, each may attend to all.

    Returns:
        For each query, the mean of the values weighted by its attention.
    """
    return scaled_dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(  # noqa: PLR0917 - published parameters
    d_model: int,
    num_heads: int,
    q_proj_weight: Float[Tensor, " d_model d_model"],
    k_proj_weight: Float[Tensor, " d_model d_model"],
    v_proj_weight: Float[Tensor, " d_model d_model"],
    o_proj_weight: Float[Tensor, " d_model d_model"],
    in_features: Float[Tensor, " ... sequence_length d_model"],
) -> Float[Tensor, " ... sequence_length d_model"]:
    """Apply your causal multi-head self-attention, without RoPE.

    Args:
        d_model: Size of the last axis of input and output.
        num_heads: Number of heads; each has d_model / num_heads features.
        q_proj_weight: Weight of the queries of all heads: the first rows are the first head's.
        k_proj_weight: Weight of the keys, in the same order.
        v_proj_weight: Weight of the values, in the same order.
        o_proj_weight: Weight of the output; its columns are in the order of the heads.
        in_features: The input.

    Returns:
        The output, in the shape of the input. Position i depends on the positions up to i only.
    """
    attention = CausalMultiHeadSelfAttention(
        d_model, num_heads, device=q_proj_weight.device, dtype=q_proj_weight.dtype
    )
    attention.load_state_dict(
        {
            "q_proj.weight": q_proj_weight,
            "k_proj.weight": k_proj_weight,
            "v_proj.weight": v_proj_weight,
            "output_proj.weight": o_proj_weight,
        }
    )
    output: Tensor = attention(in_features)
    return output


def run_multihead_self_attention_with_rope(  # noqa: PLR0917 - published parameters
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Float[Tensor, " d_model d_model"],
    k_proj_weight: Float[Tensor, " d_model d_model"],
    v_proj_weight: Float[Tensor, " d_model d_model"],
    o_proj_weight: Float[Tensor, " d_model d_model"],
    in_features: Float[Tensor, " ... sequence_length d_model"],
    token_positions: Int[Tensor, " ... sequence_length"] | None = None,
) -> Float[Tensor, " ... sequence_length d_model"]:
    """Apply your causal multi-head self-attention with RoPE on the queries and keys of each head.

    Args:
        d_model: Size of the last axis of input and output.
        num_heads: Number of heads; each has d_model / num_heads features.
        max_seq_len: Positions are smaller than this.
        theta: RoPE's Θ.
        q_proj_weight: Weight of the queries of all heads: the first rows are the first head's.
        k_proj_weight: Weight of the keys, in the same order.
        v_proj_weight: Weight of the values, in the same order.
        o_proj_weight: Weight of the output; its columns are in the order of the heads.
        in_features: The input.
        token_positions: The position of each token, for all sequences alike or for each its own;
            0, 1, 2, … when not given. The mask does not depend on it.

    Returns:
        The output, in the shape of the input.
    """
    device, dtype = q_proj_weight.device, q_proj_weight.dtype
    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len, device)
    attention = CausalMultiHeadSelfAttention(d_model, num_heads, rope, device, dtype)
    attention.load_state_dict(
        {
            "q_proj.weight": q_proj_weight,
            "k_proj.weight": k_proj_weight,
            "v_proj.weight": v_proj_weight,
            "output_proj.weight": o_proj_weight,
        }
    )
    output: Tensor = attention(in_features, token_positions)
    return output


def run_rope(
    d_k: int,
    theta: float,
    max_seq_len: int,
    in_query_or_key: Float[Tensor, " ... sequence_length d_k"],
    token_positions: Int[Tensor, " ... sequence_length"],
) -> Float[Tensor, " ... sequence_length d_k"]:
    """Apply your rotary position embedding.

    Args:
        d_k: Size of a query or key.
        theta: RoPE's Θ.
        max_seq_len: Positions are smaller than this.
        in_query_or_key: Queries or keys.
        token_positions: The position of each, for all rows alike or for each its own.

    Returns:
        The queries or keys, each pair of neighbouring features turned by its angle.
    """
    rope = RotaryPositionalEmbedding(theta, d_k, max_seq_len, in_query_or_key.device)
    output: Tensor = rope(in_query_or_key, token_positions)
    return output


def run_transformer_block(  # noqa: PLR0917 - published parameters
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, " batch sequence_length d_model"],
) -> Float[Tensor, " batch sequence_length d_model"]:
    """Apply your pre-norm Transformer block, with RoPE.

    Args:
        d_model: Size of the last axis of input and output.
        num_heads: Number of heads.
        d_ff: Size of the layer inside the feed-forward network.
        max_seq_len: Positions are smaller than this.
        theta: RoPE's Θ.
        weights: Weights by name, each (d_out, d_in) and rows in the order of the heads:
            `attn.q_proj.weight`, `attn.k_proj.weight`, `attn.v_proj.weight` and
            `attn.output_proj.weight`, (d_model, d_model);
            `ln1.weight`, (d_model,), the norm before attention;
            `ffn.w1.weight`, (d_ff, d_model), `ffn.w2.weight`, (d_model, d_ff), and
            `ffn.w3.weight`, (d_ff, d_model);
            `ln2.weight`, (d_model,), the norm before the feed-forward network.
        in_features: The input.

    Returns:
        The output, in the shape of the input.
    """
    device, dtype = weights["ln1.weight"].device, weights["ln1.weight"].dtype
    rope = RotaryPositionalEmbedding(theta, d_model // num_heads, max_seq_len, device)
    block = TransformerBlock(d_model, num_heads, d_ff, rope, device=device, dtype=dtype)
    block.load_state_dict(weights)
    output: Tensor = block(in_features)
    return output


def run_transformer_lm(  # noqa: PLR0917 - published parameters
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: dict[str, Tensor],
    in_indices: Int[Tensor, " batch_size sequence_length"],
) -> Float[Tensor, " batch_size sequence_length vocab_size"]:
    """Apply your Transformer language model.

    Args:
        vocab_size: Number of tokens.
        context_length: The longest sequence.
        d_model: Size of the vectors between the parts.
        num_layers: Number of blocks.
        num_heads: Number of heads of each block.
        d_ff: Size of the layer inside each feed-forward network.
        rope_theta: RoPE's Θ.
        weights: Weights by name: `token_embeddings.weight`, (vocab_size, d_model); those of block i
            as in run_transformer_block, with `layers.{i}.` before; `ln_final.weight`, (d_model,);
            `lm_head.weight`, (vocab_size, d_model).
        in_indices: Token ids; the sequence may be shorter than the context.

    Returns:
        For each position, the logits (not yet through softmax) of the token after it.
    """
    language_model = TransformerLM(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=num_layers,
        num_heads=num_heads,
        d_ff=d_ff,
        rope_theta=rope_theta,
        device=weights["ln_final.weight"].device,
        dtype=weights["ln_final.weight"].dtype,
    )
    language_model.load_state_dict(weights)
    output: Tensor = language_model(in_indices)
    return output


def run_rmsnorm(
    d_model: int,
    eps: float,
    weights: Float[Tensor, " d_model"],
    in_features: Float[Tensor, " ... d_model"],
) -> Float[Tensor, " ... d_model"]:
    """Apply your RMSNorm.

    Args:
        d_model: Size of the last axis, which is normalised.
        eps: What is added to the mean of the squares.
        weights: The gain.
        in_features: The input, which may be in half precision.

    Returns:
        The output, in the shape and type of the input.
    """
    rmsnorm = RMSNorm(d_model, eps, weights.device, weights.dtype)
    rmsnorm.load_state_dict({"weight": weights})
    output: Tensor = rmsnorm(in_features)
    return output


def run_silu(in_features: Float[Tensor, " ..."]) -> Float[Tensor, " ..."]:
    """Apply your SiLU to each element.

    Args:
        in_features: The input, in any shape.

    Returns:
        The output, in the shape of the input.
    """
    return silu(in_features)


def run_get_batch(
    dataset: npt.NDArray[np.integer],
    batch_size: int,
    context_length: int,
    device: str,
) -> tuple[Int[Tensor, " batch_size context_length"], Int[Tensor, " batch_size context_length"]]:
    """Draw a batch of sequences from a long row of token ids.

    Args:
        dataset: Token ids of any integer type; may be a memory-mapped file.
        batch_size: Number of sequences.
        context_length: Number of tokens of each.
        device: Where the tensors are to be, for instance `cpu` or `cuda:0`.

    Returns:
        Two int64 tensors: sequences that start anywhere in the dataset, each start as likely as
        any other, and the same sequences one token later.
    """
    return get_batch(dataset, batch_size, context_length, device)


def run_softmax(in_features: Float[Tensor, " ..."], dim: int) -> Float[Tensor, " ..."]:
    """Apply your softmax.

    Args:
        in_features: The input, in any shape and with elements of any size.
        dim: The axis along which the output sums to 1.

    Returns:
        The output, in the shape of the input.
    """
    return softmax(in_features, dim)


def run_cross_entropy(
    inputs: Float[Tensor, " ... vocab_size"], targets: Int[Tensor, " ..."]
) -> Float[Tensor, ""]:
    """Compute your cross-entropy loss.

    Args:
        inputs: Logits, of any size.
        targets: For each row of logits, the index of the right one.

    Returns:
        The mean loss over all leading axes, through which gradients flow.
    """
    return cross_entropy(inputs, targets)


def run_gradient_clipping(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Clip the gradients of the parameters in place.

    Args:
        parameters: The parameters. Some may have no gradient, and the iterable may be one that can
            be walked only once, such as `model.parameters()`.
        max_l2_norm: The largest norm that all gradients together may have.
    """
    clip_gradients(parameters, max_l2_norm)


def get_adamw_cls() -> type[torch.optim.Optimizer]:
    """Hand out your AdamW.

    Returns:
        The class, not an instance. The checks call it with parameters or parameter groups and the
        keywords `lr`, `betas`, `eps` and `weight_decay`.
    """
    return AdamW


def run_get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Compute the learning rate of one iteration.

    Args:
        it: The iteration.
        max_learning_rate: The rate at the end of the warm-up.
        min_learning_rate: The rate from the end of the cosine on.
        warmup_iters: The iteration at which the warm-up ends.
        cosine_cycle_iters: The iteration at which the cosine ends, counted from 0 as well.

    Returns:
        The learning rate.
    """
    return get_lr_cosine_schedule(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )


def run_save_checkpoint(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike[str] | IO[bytes],
) -> None:
    """Save a training run.

    Args:
        model: The model.
        optimizer: Its optimizer.
        iteration: How many iterations are done.
        out: A path or a file object opened for writing bytes.
    """
    save_checkpoint(model, optimizer, iteration, out)


def run_load_checkpoint(
    src: str | os.PathLike[str] | IO[bytes],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Restore a training run, so that it goes on as if it had never stopped.

    Args:
        src: What run_save_checkpoint wrote: a path or a file object opened for reading bytes.
        model: A model like the saved one; gets the saved weights.
        optimizer: An optimizer like the saved one; gets the saved state.

    Returns:
        The saved iteration.
    """
    return load_checkpoint(src, model, optimizer)


def get_tokenizer(
    vocab: dict[int, bytes],
    merges: list[tuple[bytes, bytes]],
    special_tokens: list[str] | None = None,
) -> Any:
    """Build your tokenizer.

    Args:
        vocab: The bytes of each token id.
        merges: Pairs of tokens in order of creation.
        special_tokens: Texts that are never divided. Those that the vocabulary lacks are added to
            the tokenizer's own, with new ids.

    Returns:
        An object with `encode(text) -> list[int]`, `encode_iterable(texts) -> Iterator[int]` and
        `decode(ids) -> str`.
    """
    return Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train a byte-level BPE vocabulary.

    Args:
        input_path: A UTF-8 text file.
        vocab_size: The largest size of the vocabulary, special tokens and the 256 bytes included.
        special_tokens: Texts that become tokens of their own. No merge reaches across them, and
            what they are made of is not counted.
        **kwargs: For options of your own. The checks pass none.

    Returns:
        The vocabulary, from id to bytes, and the merges, pairs of bytes in order of creation.
    """
    return train_bpe(input_path, vocab_size, special_tokens, **kwargs)
