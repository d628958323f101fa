"""Hugging Face's layouts of GPT-2 and Llama, converted to ours and back.

A layout is a configuration (config.json) and tensors by name. More than names differ:

- GPT-2 has one matrix for queries, keys and values, all matrices as (d_in, d_out), and embeddings
  that are not scaled.
- Llama's RoPE turns features k and k + d_k/2 of a head, and ours 2k and 2k+1, so the rows of each
  head's queries and keys stand in another order.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from cs336_basics.gpt import sinusoidal_positions

Settings = dict[str, Any]
Tensors = dict[str, Tensor]

# Settings that our models fix, by the names of each layout.
FIXED: dict[str, Settings] = {
    "gpt2": {
        "layer_norm_epsilon": 1e-5,
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
    },
    "llama": {
        "hidden_act": "silu",
        "rms_norm_eps": 1e-5,
        "attention_bias": False,
        "mlp_bias": False,
        "rope_scaling": None,
    },
}
GPT2_NORMS = {"ln1": "ln_1", "ln2": "ln_2"}
GPT2_MATRICES = {
    "attn.output_proj": "attn.c_proj",
    "ffn.fc1": "mlp.c_fc",
    "ffn.fc2": "mlp.c_proj",
}
APPROXIMATE_GELU = ("gelu_new", "gelu_pytorch_tanh")
LLAMA_LAYER = {
    "ln1": "input_layernorm",
    "ln2": "post_attention_layernorm",
    "attn.q_proj": "self_attn.q_proj",
    "attn.k_proj": "self_attn.k_proj",
    "attn.v_proj": "self_attn.v_proj",
    "attn.output_proj": "self_attn.o_proj",
    "ffn.w1": "mlp.gate_proj",
    "ffn.w2": "mlp.down_proj",
    "ffn.w3": "mlp.up_proj",
}


def to_gpt2(sizes: Settings, weights: Mapping[str, Tensor]) -> tuple[Settings, Tensors]:
    """Convert the sizes and weights of a classic model to those of GPT-2."""
    d_model, length = sizes["d_model"], sizes["context_length"]
    dropout = sizes.get("dropout", 0.0)
    config = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": sizes["vocab_size"],
        "n_positions": length,
        "n_embd": d_model,
        "n_layer": sizes["num_layers"],
        "n_head": sizes["num_heads"],
        "n_inner": sizes["d_ff"],
        "activation_function": "gelu_new" if sizes.get("approximate_gelu") else "gelu",
        **dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout),
        # Embeddings are scaled and the output projection is not: they are no longer the same.
        "tie_word_embeddings": False,
        **FIXED["gpt2"],
    }
    embeddings = weights["token_embeddings.weight"]
    positions = weights.get("position_embeddings.weight")
    tensors = {
        "transformer.wte.weight": embeddings * math.sqrt(d_model),
        "transformer.wpe.weight": (
            sinusoidal_positions(length, d_model, embeddings.dtype)
            if positions is None
            else positions
        ),
        "lm_head.weight": weights["lm_head.weight"],
    }
    for kind in ("weight", "bias"):
        tensors[f"transformer.ln_f.{kind}"] = weights[f"ln_final.{kind}"]
        for i in range(sizes["num_layers"]):
            ours, theirs = f"layers.{i}", f"transformer.h.{i}"
            qkv = [weights[f"{ours}.attn.{letter}_proj.{kind}"] for letter in "qkv"]
            tensors[f"{theirs}.attn.c_attn.{kind}"] = torch.cat(qkv).t()
            for name, other in GPT2_MATRICES.items():
                tensors[f"{theirs}.{other}.{kind}"] = weights[f"{ours}.{name}.{kind}"].t()
            for name, other in GPT2_NORMS.items():
                tensors[f"{theirs}.{other}.{kind}"] = weights[f"{ours}.{name}.{kind}"]
    return config, tensors


def from_gpt2(config: Settings, tensors: Mapping[str, Tensor]) -> tuple[Settings, Tensors]:
    """Convert the configuration and tensors of GPT-2 to a classic model's sizes and weights.

    Raises:
        KeyError: a setting or a tensor is missing.
        ValueError: our models lack what the configuration asks for.
    """
    activation = config.get("activation_function", "gelu_new")
    if activation not in ("gelu", *APPROXIMATE_GELU):
        raise ValueError(f"activation_function = {activation!r} is not supported")
    d_model = config["n_embd"]
    sizes = {
        "family": "classic",
        "vocab_size": config["vocab_size"],
        "context_length": config["n_positions"],
        "d_model": d_model,
        "num_layers": config["n_layer"],
        "num_heads": config["n_head"],
        "d_ff": config.get("n_inner") or 4 * d_model,
        "tie_weights": False,
        "approximate_gelu": activation in APPROXIMATE_GELU,
    }
    # The published files name the same tensors without the prefix.
    theirs = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    weights = {
        "token_embeddings.weight": theirs["wte.weight"] / math.sqrt(d_model),
        "position_embeddings.weight": theirs["wpe.weight"],
        "lm_head.weight": theirs.get("lm_head.weight", theirs["wte.weight"]),
    }
    for kind in ("weight", "bias"):
        weights[f"ln_final.{kind}"] = theirs[f"ln_f.{kind}"]
        for i in range(sizes["num_layers"]):
            qkv = theirs[f"h.{i}.attn.c_attn.{kind}"].t().chunk(3)
            for letter, projection in zip("qkv", qkv, strict=True):
                weights[f"layers.{i}.attn.{letter}_proj.{kind}"] = projection
            for name, other in GPT2_MATRICES.items():
                weights[f"layers.{i}.{name}.{kind}"] = theirs[f"h.{i}.{other}.{kind}"].t()
            for name, other in GPT2_NORMS.items():
                weights[f"layers.{i}.{name}.{kind}"] = theirs[f"h.{i}.{other}.{kind}"]
    return sizes, weights


def to_llama(sizes: Settings, weights: Mapping[str, Tensor]) -> tuple[Settings, Tensors]:
    """Convert the sizes and weights of a modern model to those of Llama."""
    num_heads, tied = sizes["num_heads"], sizes.get("tie_weights", False)
    num_kv_heads = sizes.get("num_kv_heads") or num_heads
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": sizes["vocab_size"],
        "max_position_embeddings": sizes["context_length"],
        "hidden_size": sizes["d_model"],
        "num_hidden_layers": sizes["num_layers"],
        "num_attention_heads": num_heads,
        "num_key_value_heads": num_kv_heads,
        "intermediate_size": sizes["d_ff"],
        # Older and newer versions of transformers look for it in one place or the other.
        "rope_theta": sizes["rope_theta"],
        "rope_parameters": {"rope_type": "default", "rope_theta": sizes["rope_theta"]},
        "tie_word_embeddings": tied,
        **FIXED["llama"],
    }
    tensors = {
        "model.embed_tokens.weight": weights["token_embeddings.weight"],
        "model.norm.weight": weights["ln_final.weight"],
    }
    if not tied:
        tensors["lm_head.weight"] = weights["lm_head.weight"]
    for i in range(sizes["num_layers"]):
        for name, other in LLAMA_LAYER.items():
            weight = weights[f"layers.{i}.{name}.weight"]
            tensors[f"model.layers.{i}.{other}.weight"] = weight
        for letter, heads in (("q", num_heads), ("k", num_kv_heads)):
            name = f"model.layers.{i}.self_attn.{letter}_proj.weight"
            tensors[name] = halves_from_pairs(tensors[name], heads)
    return config, tensors


def from_llama(config: Settings, tensors: Mapping[str, Tensor]) -> tuple[Settings, Tensors]:
    """Convert the configuration and tensors of Llama to a modern model's sizes and weights.

    Raises:
        KeyError: a setting or a tensor is missing.
        ValueError: our models lack what the configuration asks for.
    """
    num_heads = config["num_attention_heads"]
    rope = config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", 10_000.0)}
    if rope.get("rope_type", "default") != "default":
        raise ValueError(f"rope_type = {rope['rope_type']!r} is not supported")
    if config.get("head_dim") not in (None, config["hidden_size"] // num_heads):
        raise ValueError(f"head_dim = {config['head_dim']} must be hidden_size / {num_heads}")
    sizes = {
        "family": "modern",
        "vocab_size": config["vocab_size"],
        "context_length": config["max_position_embeddings"],
        "d_model": config["hidden_size"],
        "num_layers": config["num_hidden_layers"],
        "num_heads": num_heads,
        "num_kv_heads": config.get("num_key_value_heads") or num_heads,
        "d_ff": config["intermediate_size"],
        "rope_theta": rope["rope_theta"],
        "tie_weights": config.get("tie_word_embeddings", False),
    }
    embeddings = tensors["model.embed_tokens.weight"]
    weights = {
        "token_embeddings.weight": embeddings,
        "ln_final.weight": tensors["model.norm.weight"],
        "lm_head.weight": embeddings if sizes["tie_weights"] else tensors["lm_head.weight"],
    }
    for i in range(sizes["num_layers"]):
        for name, other in LLAMA_LAYER.items():
            weights[f"layers.{i}.{name}.weight"] = tensors[f"model.layers.{i}.{other}.weight"]
        for letter, heads in (("q", num_heads), ("k", sizes["num_kv_heads"])):
            name = f"layers.{i}.attn.{letter}_proj.weight"
            weights[name] = pairs_from_halves(weights[name], heads)
    return sizes, weights


def halves_from_pairs(weight: Tensor, heads: int) -> Tensor:
    """Put the even rows of each head before its odd rows."""
    by_head = weight.reshape(heads, -1, 2, weight.shape[-1])
    return by_head.transpose(1, 2).reshape(weight.shape)


def pairs_from_halves(weight: Tensor, heads: int) -> Tensor:
    """Undo halves_from_pairs."""
    by_head = weight.reshape(heads, 2, -1, weight.shape[-1])
    return by_head.transpose(1, 2).reshape(weight.shape)
