"""Glue between the tests and my code."""

from cs336_basics import training
from cs336_basics.attention import MultiHeadSelfAttention, RoPE, attention
from cs336_basics.bpe import train_bpe
from cs336_basics.layers import Embedding, Linear, RMSNorm, SwiGLU, silu, softmax
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.transformer import Block, Transformer


def load_projections(layer, q, k, v, o):
    layer.load_state_dict(
        {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v, "output_proj.weight": o}
    )


def run_linear(d_in, d_out, weights, in_features):
    layer = Linear(d_in, d_out)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_embedding(vocab_size, d_model, weights, token_ids):
    layer = Embedding(vocab_size, d_model)
    layer.load_state_dict({"weight": weights})
    return layer(token_ids)


def run_swiglu(d_model, d_ff, w1_weight, w2_weight, w3_weight, in_features):
    layer = SwiGLU(d_model, d_ff)
    layer.load_state_dict({"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight})
    return layer(in_features)


def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model, num_heads, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight, in_features
):
    layer = MultiHeadSelfAttention(d_model, num_heads)
    load_projections(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features)


def run_multihead_self_attention_with_rope(
    d_model,
    num_heads,
    max_seq_len,
    theta,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    o_proj_weight,
    in_features,
    token_positions=None,
):
    rope = RoPE(theta, d_model // num_heads, max_seq_len)
    layer = MultiHeadSelfAttention(d_model, num_heads, rope)
    load_projections(layer, q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return layer(in_features, token_positions)


def run_rope(d_k, theta, max_seq_len, in_query_or_key, token_positions):
    return RoPE(theta, d_k, max_seq_len)(in_query_or_key, token_positions)


def run_transformer_block(d_model, num_heads, d_ff, max_seq_len, theta, weights, in_features):
    rope = RoPE(theta, d_model // num_heads, max_seq_len)
    block = Block(d_model, num_heads, d_ff, rope)
    block.load_state_dict(weights)
    return block(in_features)


def run_transformer_lm(
    vocab_size,
    context_length,
    d_model,
    num_layers,
    num_heads,
    d_ff,
    rope_theta,
    weights,
    in_indices,
):
    model = Transformer(
        vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta
    )
    model.load_state_dict(weights)
    return model(in_indices)


def run_rmsnorm(d_model, eps, weights, in_features):
    layer = RMSNorm(d_model, eps)
    layer.load_state_dict({"weight": weights})
    return layer(in_features)


def run_silu(in_features):
    return silu(in_features)


def run_get_batch(dataset, batch_size, context_length, device):
    return training.get_batch(dataset, batch_size, context_length, device)


def run_softmax(in_features, dim):
    return softmax(in_features, dim)


def run_cross_entropy(inputs, targets):
    return training.cross_entropy(inputs, targets)


def run_gradient_clipping(parameters, max_l2_norm):
    training.clip_gradients(parameters, max_l2_norm)


def get_adamw_cls():
    return training.AdamW


def run_get_lr_cosine_schedule(
    it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
):
    return training.cosine_schedule(
        it, max_learning_rate, min_learning_rate, warmup_iters, cosine_cycle_iters
    )


def run_save_checkpoint(model, optimizer, iteration, out):
    training.save_checkpoint(model, optimizer, iteration, out)


def run_load_checkpoint(src, model, optimizer):
    return training.load_checkpoint(src, model, optimizer)


def get_tokenizer(vocab, merges, special_tokens=None):
    return Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(input_path, vocab_size, special_tokens, **kwargs):
    return train_bpe(input_path, vocab_size, special_tokens)
