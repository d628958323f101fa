"""The distribution of the next token, and generation."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .catalogue import variant

Model = Callable[[Tensor], Tensor]


@variant("sampling", "run_next_token_probabilities")
def masks(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Sets logits to minus infinity in each step, by masks that are scattered back."""
    if temperature == 0:
        first = logits.argmax(-1)
        return torch.nn.functional.one_hot(first, logits.shape[-1]).to(logits.dtype)
    scores = logits / temperature
    if top_k is not None:
        kth = scores.topk(min(top_k, scores.size(-1)), dim=-1).values[..., -1, None]
        scores = torch.where(scores < kth, -torch.inf, scores)
    if top_p is not None and top_p < 1.0:
        descending, order = torch.sort(scores, dim=-1, descending=True, stable=True)
        dropped = torch.softmax(descending, -1).cumsum(-1) >= top_p
        dropped[..., 1:] = dropped[..., :-1].clone()
        dropped[..., 0] = False
        scores = scores.masked_fill(dropped.scatter(-1, order, dropped), -torch.inf)
    return torch.softmax(scores, -1)


def of_row(logits: list[float], temperature: float, k: int, p: float) -> list[float]:
    """The distribution of one row, in Python's numbers."""
    highest = max(logits)
    if temperature == 0:
        return [float(i == logits.index(highest)) for i in range(len(logits))]
    weights = [math.exp((logit - highest) / temperature) for logit in logits]
    order = sorted(range(len(weights)), key=lambda i: -weights[i])
    threshold = weights[order[min(k, len(order)) - 1]]
    order = [i for i in order if weights[i] >= threshold]
    total, mass, kept = math.fsum(weights[i] for i in order), 0.0, []
    for i in order:
        kept.append(i)
        mass += weights[i] / total
        if mass >= p and p < 1:
            break
    total = math.fsum(weights[i] for i in kept)
    return [weights[i] / total if i in kept else 0.0 for i in range(len(weights))]


@variant("sampling", "run_next_token_probabilities")
def row_by_row(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Walks through sorted lists of numbers, row by row, and adds up until p is reached."""
    rows = logits.reshape(-1, logits.shape[-1]).tolist()
    k, p = top_k or logits.shape[-1], 1.0 if top_p is None else top_p
    return torch.tensor([of_row(row, temperature, k, p) for row in rows]).view(logits.shape)


@variant("sampling", "run_next_token_probabilities")
def probabilities_cut(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Works on float64 probabilities all along, and scales them after each cut."""
    scores = logits.double() - logits.double().amax(-1, keepdim=True)
    if temperature == 0:
        scores = torch.zeros_like(scores).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0).log()
        temperature = 1.0
    probabilities = torch.softmax(scores / temperature, -1)
    values, order = probabilities.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        values = values * (values >= values[..., min(top_k, values.shape[-1]) - 1, None])
        values = values / values.sum(-1, keepdim=True)
    if top_p is not None and top_p < 1.0:
        before = torch.cat([torch.zeros_like(values[..., :1]), values.cumsum(-1)[..., :-1]], -1)
        needed = before < top_p
        needed[..., 0] = True
        values = values * needed / (values * needed).sum(-1, keepdim=True)
    return values.gather(-1, order.argsort(dim=-1)).float()


@variant("generation", "run_generate")
def stopped_rows_kept(
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
    """Goes on with all sequences, fills up those that have ended, and cuts them at last."""
    generator = torch.default_generator if seed is None else torch.Generator().manual_seed(seed)
    tokens, T = token_ids.clone(), token_ids.shape[1]
    ended = torch.zeros(len(tokens), dtype=torch.bool)
    for _ in range(max_new_tokens):
        logits = model(tokens[:, max(0, tokens.shape[1] - context_length) :])[:, -1, :]
        probabilities = masks(logits, temperature, top_k, top_p)
        new = torch.multinomial(probabilities, 1, generator=generator)
        if end_of_text is not None:
            new[ended] = end_of_text
            ended |= new[:, 0] == end_of_text
        tokens = torch.cat([tokens, new], dim=1)
        if ended.all():
            break
    rows = tokens[:, T:].tolist()
    return [row[: row.index(end_of_text) + 1] if end_of_text in row else row for row in rows]


@variant("generation", "run_generate")
def sequence_by_sequence(
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
    """Continues one sequence after the other, in a batch of its own."""
    generator = None if seed is None else torch.Generator().manual_seed(seed)

    def continued(prompt: list[int]) -> list[int]:
        ids = list(prompt)
        while len(ids) < len(prompt) + max_new_tokens:
            logits = model(torch.tensor([ids[-context_length:]]))[0, -1]
            probabilities = row_by_row(logits, temperature, top_k, top_p)
            ids.append(int(torch.multinomial(probabilities, 1, generator=generator)))
            if ids[-1] == end_of_text:
                break
        return ids[len(prompt) :]

    return [continued(prompt) for prompt in token_ids.tolist()]


@variant("generation", "run_generate")
def unended_rows_alone(
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
    """Hands to the model only sequences that have not ended, and draws by Gumbel's noise."""
    generator = torch.default_generator if seed is None else torch.Generator().manual_seed(seed)
    rows = [row.tolist() for row in token_ids]
    left = list(range(len(rows)))
    for _ in range(max_new_tokens):
        if not left:
            break
        window = torch.tensor([rows[i] for i in left])[:, -context_length:]
        probabilities = probabilities_cut(model(window)[:, -1], temperature, top_k, top_p)
        noise = -torch.rand(probabilities.shape, generator=generator).clamp(min=1e-30).log()
        for i, token_id in zip(
            list(left), (probabilities / noise).argmax(-1).tolist(), strict=True
        ):
            rows[i].append(token_id)
            if token_id == end_of_text:
                left.remove(i)
    return [row[token_ids.shape[1] :] for row in rows]


@variant("generation", "run_generate")
@torch.inference_mode()
def by_inverse_distribution(
    model: Model,
    token_ids: Tensor,
    max_new_tokens: int,
    context_length: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end_of_text: int | None = None,
    seed: int | None = None,
) -> list[Tensor]:
    """Draws by where a uniform number falls, with the global generator, and returns tensors."""
    if seed is not None:
        torch.manual_seed(seed)
    tokens, rows = token_ids, [[-1] for _ in token_ids]
    for _ in range(max_new_tokens):
        if all(row[-1] == end_of_text for row in rows):
            break
        logits = model(tokens[:, -context_length:])[:, -1]
        sums = row_by_row(logits, temperature, top_k, top_p).double().cumsum(-1)
        new = torch.searchsorted(sums, torch.rand(len(sums), 1) * sums[:, -1:], right=True)
        tokens = torch.cat([tokens, new], dim=1)
        for row, token in zip(rows, new[:, 0].tolist(), strict=True):
            row.extend([token] * (row[-1] != end_of_text))
    return [torch.tensor(row[1:], dtype=torch.int64) for row in rows]
