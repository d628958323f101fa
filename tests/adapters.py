"""The only way the checks reach your code: give each function the body that calls what you built.

A function gets plain inputs, and the weights where its module has any. Load the weights into your
module, call it and return what it returns: nothing is computed here. Names, parameters and their
order must stay; import what you like and add what you need.

`...` in a shape stands for any number of leading axes, also for none. Attention may rely on a batch
axis, and multi-head attention on exactly one: more or none of them earns no points.
"""

import io
import os
from collections.abc import Callable, Iterable
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from cs336_basics.checkpoint import load_checkpoint, save_checkpoint
from cs336_basics.data import get_batch
from cs336_basics.generation import GenerationConfig, generate, next_token_probabilities
from cs336_basics.gpt import (
    GPT,
    Dropout,
    FeedForward,
    GPTAttention,
    GPTBlock,
    LayerNorm,
    LearnedPositions,
    ScaledEmbedding,
    gelu,
    sinusoidal_positions,
)
from cs336_basics.model import (
    GLU,
    CausalMultiHeadSelfAttention,
    Embedding,
    Linear,
    RMSNorm,
    SwiGLU,
    TransformerBlock,
    TransformerLM,
    cross_entropy,
    rope,
    scaled_dot_product_attention,
    silu,
    softmax,
)
from cs336_basics.optimizer import AdamW, clip_gradients, get_lr_cosine_schedule
from cs336_basics.parameters import count_parameters
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.train_bpe import train_bpe


def run_linear(
    d_in: int,
    d_out: int,
    weights: Float[Tensor, " d_out d_in"],
    in_features: Float[Tensor, " ... d_in"],
) -> Float[Tensor, " ... d_out"]:
    """Map the last axis with your linear layer, which has no bias."""
    linear = Linear(d_in, d_out).to(weights)
    linear.load_state_dict({"weight": weights})
    output: Tensor = linear(in_features)
    return output


def run_embedding(
    vocab_size: int,
    d_model: int,
    weights: Float[Tensor, " vocab_size d_model"],
    token_ids: Int[Tensor, " ..."],
) -> Float[Tensor, " ... d_model"]:
    """Look up the vector of each token id; ids come in any shape and integer type."""
    embedding = Embedding(vocab_size, d_model).to(weights)
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
    """Apply your SwiGLU: w1 makes the gate, w3 what it is multiplied with, w2 maps back."""
    swiglu = SwiGLU(d_model, d_ff).to(w1_weight)
    swiglu.load_state_dict({"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight})
    output: Tensor = swiglu(in_features)
    return output


def run_scaled_dot_product_attention(
    Q: Float[Tensor, " ... queries d_k"],
    K: Float[Tensor, " ... keys d_k"],
    V: Float[Tensor, " ... keys d_v"],
    mask: Bool[Tensor, " ... queries keys"] | None = None,
) -> Float[Tensor, " ... queries d_v"]:
    """Give each query the mean of the values, weighted by its attention.

    The mask is True where a query may attend to a key; without one, each may attend to all.
    d_v may differ from d_k.
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

    Rows of the query, key and value weights are in the order of the heads: the first
    d_model / num_heads are the first head's. Position i sees the positions up to i only.
    """
    attention = CausalMultiHeadSelfAttention(d_model, num_heads).to(q_proj_weight)
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
    """Apply your causal multi-head self-attention, with RoPE on each head's queries and keys.

    Positions, all smaller than max_seq_len, are one row for all sequences, and the causal mask does
    not depend on them. One row for each sequence, and 0, 1, 2, … where none are given, is good
    practice without points.
    """
    attention = CausalMultiHeadSelfAttention(d_model, num_heads, theta).to(q_proj_weight)
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
    """Turn each pair of neighbouring features by the angle of its position.

    Positions, all smaller than max_seq_len, may be one row for all or one for each.
    """
    return rope(in_query_or_key, token_positions, theta)


def run_transformer_block(  # noqa: PLR0917 - published parameters
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, " batch sequence_length d_model"],
) -> Float[Tensor, " batch sequence_length d_model"]:
    """Apply your pre-norm Transformer block, with RoPE for positions from 0 on.

    Names and shapes of the weights, each (d_out, d_in) and rows in the order of the heads:
        attn.{q_proj,k_proj,v_proj,output_proj}.weight  (d_model, d_model)
        ln1.weight, ln2.weight                          (d_model,), before attention, before FFN
        ffn.w1.weight, ffn.w3.weight                    (d_ff, d_model)
        ffn.w2.weight                                   (d_model, d_ff)
    """
    block = TransformerBlock(d_model, num_heads, d_ff, theta, None).to(weights["ln1.weight"])
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
    """Give the logits, not yet through softmax, of the token after each position.

    The sequence may be shorter than the context. Names and shapes of the weights:
        token_embeddings.weight  (vocab_size, d_model)
        layers.{i}.…             those of run_transformer_block, for each block
        ln_final.weight          (d_model,)
        lm_head.weight           (vocab_size, d_model)
    """
    language_model = TransformerLM(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=num_layers,
        num_heads=num_heads,
        d_ff=d_ff,
        rope_theta=rope_theta,
    ).to(weights["ln_final.weight"])
    language_model.load_state_dict(weights)
    output: Tensor = language_model(in_indices)
    return output


def run_rmsnorm(
    d_model: int,
    eps: float,
    weights: Float[Tensor, " d_model"],
    in_features: Float[Tensor, " ... d_model"],
) -> Float[Tensor, " ... d_model"]:
    """Normalise the last axis with your RMSNorm; the weights are its gain.

    The input may be in half precision, and the output has its type.
    """
    rmsnorm = RMSNorm(d_model, eps).to(weights)
    rmsnorm.load_state_dict({"weight": weights})
    output: Tensor = rmsnorm(in_features)
    return output


def run_silu(in_features: Float[Tensor, " ..."]) -> Float[Tensor, " ..."]:
    """Apply your SiLU to each element."""
    return silu(in_features)


def run_get_batch(
    dataset: npt.NDArray[np.integer],
    batch_size: int,
    context_length: int,
    device: str,
) -> tuple[Int[Tensor, " batch_size context_length"], Int[Tensor, " batch_size context_length"]]:
    """Draw sequences that start anywhere in the dataset, and the same one token later.

    Each start is as likely as any other. The dataset holds any integer type and may be a
    memory-mapped file; return two int64 tensors on the device, `cpu` or `cuda:0` for instance.
    """
    return get_batch(dataset, batch_size, context_length, device)


def run_softmax(in_features: Float[Tensor, " ..."], dim: int) -> Float[Tensor, " ..."]:
    """Apply your softmax along one axis; elements may have any size."""
    return softmax(in_features, dim)


def run_cross_entropy(
    inputs: Float[Tensor, " ... vocab_size"], targets: Int[Tensor, " ..."]
) -> Float[Tensor, ""]:
    """Give the mean loss over all leading axes, as a tensor with a gradient.

    The inputs are logits of any size, the targets the index of the right one in each row.
    """
    return cross_entropy(inputs, targets)


def run_gradient_clipping(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    """Clip the gradients in place by the norm of all of them together.

    Some parameters may have no gradient, and the iterable may be one that can be walked only
    once, such as `model.parameters()`.
    """
    clip_gradients(parameters, max_l2_norm)


def get_adamw_cls() -> type[torch.optim.Optimizer]:
    """Return your AdamW: the class, not an instance.

    The checks give it parameters or parameter groups and lr, betas, eps and weight_decay.
    """
    return AdamW


def run_get_lr_cosine_schedule(
    it: int,
    max_learning_rate: float,
    min_learning_rate: float,
    warmup_iters: int,
    cosine_cycle_iters: int,
) -> float:
    """Give the learning rate of iteration `it`.

    warmup_iters and cosine_cycle_iters are the iterations at which warm-up and cosine end.
    """
    return get_lr_cosine_schedule(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )


def run_save_checkpoint(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    iteration: int,
    out: str | os.PathLike[str] | IO[bytes] | io.BytesIO,
) -> None:
    """Save a training run to a path or to a file object opened for writing bytes."""
    save_checkpoint(model, optimizer, iteration, out)


def run_load_checkpoint(
    src: str | os.PathLike[str] | IO[bytes] | io.BytesIO,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> int:
    """Restore what run_save_checkpoint wrote and return the iteration.

    Training goes on with model and optimizer as if it had never stopped.
    """
    return load_checkpoint(src, model, optimizer)


def get_tokenizer(
    vocab: dict[int, bytes],
    merges: list[tuple[bytes, bytes]],
    special_tokens: list[str] | None = None,
) -> Any:
    """Return your tokenizer: an object with the methods encode, encode_iterable and decode.

    The merges are in order of creation. Special tokens are never divided; those that the
    vocabulary lacks are appended to the tokenizer's own.
    """
    return Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(
    input_path: str | os.PathLike[str],
    vocab_size: int,
    special_tokens: list[str],
    **kwargs: Any,
) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """Train on a UTF-8 file; return the vocabulary and the merges in order of creation.

    vocab_size counts the special tokens and the 256 bytes. No merge reaches across a special
    token, and what it is made of is not counted. The checks pass no other options.
    """
    return train_bpe(input_path, vocab_size, special_tokens, **kwargs)


# The classic track: GPT's decoder. The modern track is above.


def run_gelu(in_features: Float[Tensor, " ..."]) -> Float[Tensor, " ..."]:
    """Apply your GELU to each element: the exact one, no approximation by tanh."""
    return gelu(in_features)


def run_layer_norm(
    d_model: int,
    eps: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, " ... d_model"],
) -> Float[Tensor, " ... d_model"]:
    """Normalise the last axis with your LayerNorm.

    Names and shapes of the weights: `weight` (d_model,), the gain, and `bias` (d_model,).
    The input may be in half precision, and the output has its type.
    """
    norm = LayerNorm(d_model, eps).to(weights["weight"])
    norm.load_state_dict(weights)
    output: Tensor = norm(in_features)
    return output


def run_dropout(
    p: float, in_features: Float[Tensor, " ..."], training: bool
) -> Float[Tensor, " ..."]:
    """Apply your dropout, in training or in evaluation.

    Elements are zeroed with probability p, which is less than 1. They are drawn from torch's
    global generator, so that torch.manual_seed repeats them.
    """
    output: Tensor = Dropout(p).train(training)(in_features)
    return output


def run_scaled_embedding(
    vocab_size: int,
    d_model: int,
    weights: Float[Tensor, " vocab_size d_model"],
    token_ids: Int[Tensor, " ..."],
) -> Float[Tensor, " ... d_model"]:
    """Look up the vector of each token id, times √d_model; ids come in any shape."""
    embedding = ScaledEmbedding(vocab_size, d_model).to(weights)
    embedding.load_state_dict({"weight": weights})
    output: Tensor = embedding(token_ids)
    return output


def run_learned_positions(
    context_length: int,
    d_model: int,
    weights: Float[Tensor, " context_length d_model"],
    in_features: Float[Tensor, " ... sequence_length d_model"],
) -> Float[Tensor, " ... sequence_length d_model"]:
    """Add the vector of its position to each vector; the first stands at position 0.

    The sequence may be shorter than the table of positions. A longer one is an error.
    """
    positions = LearnedPositions(context_length, d_model).to(weights)
    positions.load_state_dict({"weight": weights})
    output: Tensor = positions(in_features)
    return output


def run_gpt_feed_forward(  # noqa: PLR0917 - the order of the other adapters
    d_model: int,
    d_ff: int,
    dropout: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, " ... d_model"],
    training: bool = False,
) -> Float[Tensor, " ... d_model"]:
    """Apply your feed-forward network: linear, GELU, dropout, linear.

    Names and shapes of the weights:
        fc1.weight  (d_ff, d_model)    fc1.bias  (d_ff,)
        fc2.weight  (d_model, d_ff)    fc2.bias  (d_model,)
    """
    feed_forward = FeedForward(d_model, d_ff, dropout).to(weights["fc1.weight"])
    feed_forward.load_state_dict(weights)
    output: Tensor = feed_forward.train(training)(in_features)
    return output


def run_gpt_attention(  # noqa: PLR0917 - the order of the other adapters
    d_model: int,
    num_heads: int,
    dropout: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, " ... sequence_length d_model"],
    training: bool = False,
) -> Float[Tensor, " ... sequence_length d_model"]:
    """Apply your causal multi-head self-attention with biases and dropout.

    Dropout is of the attention probabilities, after the softmax and before the values.
    Names and shapes of the weights, rows in the order of the heads:
        {q_proj,k_proj,v_proj,output_proj}.weight  (d_model, d_model)
        {q_proj,k_proj,v_proj,output_proj}.bias    (d_model,)
    """
    attention = GPTAttention(d_model, num_heads, dropout).to(weights["q_proj.weight"])
    attention.load_state_dict(weights)
    output: Tensor = attention.train(training)(in_features)
    return output


def run_gpt_block(  # noqa: PLR0917 - the order of the other adapters
    d_model: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: dict[str, Tensor],
    in_features: Float[Tensor, " ... sequence_length d_model"],
    training: bool = False,
) -> Float[Tensor, " ... sequence_length d_model"]:
    """Apply your pre-norm block.

    Dropout is in its attention, in its feed-forward network, and of what each of the two gives
    before x is added to it.

    The norms have an epsilon of 1e-5. Names of the weights:
        ln1.{weight,bias}  before attention, (d_model,)
        attn.…             those of run_gpt_attention
        ln2.{weight,bias}  before the feed-forward network, (d_model,)
        ffn.…              those of run_gpt_feed_forward
    """
    block = GPTBlock(d_model, num_heads, d_ff, dropout).to(weights["ln1.weight"])
    block.load_state_dict(weights)
    output: Tensor = block.train(training)(in_features)
    return output


def run_gpt(  # noqa: PLR0917 - the order of the other adapters
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    weights: dict[str, Tensor],
    token_ids: Int[Tensor, " batch sequence_length"],
    tie_weights: bool = True,
    training: bool = False,
) -> Float[Tensor, " batch sequence_length vocab_size"]:
    """Give the logits of the token after each position, with your GPT.

    The sequence may be shorter than the context; a longer one is an error. Names of the weights:
        token_embeddings.weight     (vocab_size, d_model), scaled by √d_model when looked up
        position_embeddings.weight  (context_length, d_model)
        layers.{i}.…                those of run_gpt_block, for each block
        ln_final.{weight,bias}      (d_model,)
        lm_head.weight              (vocab_size, d_model); the output projection has no bias
    With tied weights, lm_head.weight is there too, and equal to token_embeddings.weight.
    Dropout is of the sum of embeddings and positions, and in the blocks.
    """
    model = GPT(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=num_layers,
        num_heads=num_heads,
        d_ff=d_ff,
        dropout=dropout,
        tie_weights=tie_weights,
    ).to(weights["ln_final.weight"])
    model.load_state_dict(weights)
    output: Tensor = model.train(training)(token_ids)
    return output


def get_gpt(  # noqa: PLR0917 - the order of the other adapters
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    dropout: float,
    tie_weights: bool,
) -> nn.Module:
    """Return your GPT as it is before training, with weights drawn at random.

    With tied weights, the output projection uses the embedding's own parameter.
    """
    return GPT(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=num_layers,
        num_heads=num_heads,
        d_ff=d_ff,
        dropout=dropout,
        tie_weights=tie_weights,
    )


def run_count_parameters(model: nn.Module) -> int:
    """Count the numbers in a model's parameters, those of a parameter with two names once."""
    return count_parameters(model)


def run_next_token_probabilities(
    logits: Float[Tensor, " ... vocab_size"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, " ... vocab_size"]:
    """Give the distribution of the next token, after temperature, then top-k, then top-p.

    A logit of -inf is for a token that cannot come. Temperature 0 gives all to the largest logit,
    to the first where several are. Top-p keeps the likeliest tokens up to the one, included, with
    which they have probability p together.
    """
    return next_token_probabilities(logits, temperature, top_k, top_p)


def run_generate(  # noqa: PLR0917 - the order of the other adapters
    model: Callable[[Int[Tensor, " batch T"]], Float[Tensor, " batch T vocab_size"]],
    token_ids: Int[Tensor, " batch sequence_length"],
    max_new_tokens: int,
    context_length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end_of_text: int | None = None,
    seed: int | None = None,
) -> list[list[int]]:
    """Give the new token ids of each sequence, drawn one after the other.

    The model is a function from token ids to logits, and nothing but that: it may be no module.
    It sees the last context_length tokens, when there are more. A sequence ends after
    max_new_tokens, or with the token end_of_text, which is the last of its list. The same seed
    gives the same tokens; without one, torch's global generator draws.
    """
    config = GenerationConfig(
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        end_of_text=end_of_text,
        context_length=context_length,
        seed=seed,
    )
    return generate(model, token_ids, config)


def run_glu(
    w1_weight: Float[Tensor, " d_ff d_model"],
    w2_weight: Float[Tensor, " d_ff d_model"],
    in_features: Float[Tensor, " ... d_model"],
) -> Float[Tensor, " ... d_ff"]:
    """Apply your gated linear unit, an extra: w1 makes the gate, w2 what it is multiplied with."""
    d_ff, d_model = w1_weight.shape
    glu = GLU(d_model, d_ff).to(w1_weight)
    glu.load_state_dict({"w1.weight": w1_weight, "w2.weight": w2_weight})
    output: Tensor = glu(in_features)
    return output


def run_sinusoidal_positions(length: int, d_model: int) -> Float[Tensor, " length d_model"]:
    """Give your table of sinusoidal positions, an extra.

    Features 2k and 2k + 1 of position i are sine and cosine of i · 10000^(-2k/d_model).
    """
    return sinusoidal_positions(length, d_model)
