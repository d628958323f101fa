"""The linear layer and the embedding."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .catalogue import variant


@variant("linear", "run_linear")
def einsum(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Sums over the common axis with einsum."""
    return torch.einsum("...i,oi->...o", in_features, weights.view(d_out, d_in))


@variant("linear", "run_linear")
def stored_transposed(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Keeps the weight as (d_in, d_out) and multiplies without transposing."""
    kept = nn.Parameter(torch.empty(d_in, d_out))
    kept.data.copy_(weights.T)
    return in_features @ kept


@variant("linear", "run_linear")
def float64_inside(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Multiplies in float64 and rounds the result."""
    product = in_features.double() @ weights.reshape(d_out, d_in).double().T
    return product.to(in_features.dtype)


@variant("linear", "run_linear")
def sum_of_products(
    d_in: int,  # noqa: ARG001 - published parameters
    d_out: int,  # noqa: ARG001
    weights: Tensor,
    in_features: Tensor,
) -> Tensor:
    """Multiplies element by element and sums."""
    return (in_features.unsqueeze(-2) * weights).sum(-1)


@variant("linear", "run_linear")
def columns_first(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    """Returns a tensor that is not contiguous and requires a gradient."""
    weight = nn.Parameter(weights.view(d_out, d_in))
    return (weight @ in_features.reshape(-1, d_in).T).T.view(*in_features.shape[:-1], d_out)


@variant("embedding", "run_embedding")
def parameter_rows(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Indexes a parameter, so that the result requires a gradient."""
    return nn.Parameter(weights.view(vocab_size, d_model))[token_ids.long()]


@variant("embedding", "run_embedding")
def index_select(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Selects the rows of all ids in one row and restores their shape."""
    rows = weights.view(vocab_size, d_model).index_select(0, token_ids.flatten())
    return rows.view(*token_ids.shape, d_model)


@variant("embedding", "run_embedding")
def torch_layer(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    """Gives what PyTorch's own layer gives."""
    assert weights.shape == (vocab_size, d_model), "The weight is (vocab_size, d_model)."
    return functional.embedding(token_ids, weights)
