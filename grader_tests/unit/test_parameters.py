"""The report of a model's parameters: published sizes, closed formulas, and torch's own counter."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from cs336_basics.gpt import GPT
from cs336_basics.model import DecoderLM, TransformerLM
from cs336_basics.parameters import count_parameters, parameter_report

# GPT-2's published sizes: layers, width, heads, parameters.
PUBLISHED = {
    "small": (12, 768, 12, 124_439_808),
    "medium": (24, 1024, 16, 354_823_168),
    "large": (36, 1280, 20, 774_030_080),
    "XL": (48, 1600, 25, 1_557_611_200),
}
MODELS = st.fixed_dictionaries(
    {
        "vocab_size": st.integers(1, 50),
        "context_length": st.integers(1, 20),
        "d_model": st.sampled_from([4, 8, 12]),
        "num_layers": st.integers(0, 4),
        "num_heads": st.sampled_from([1, 2]),
        "d_ff": st.integers(1, 40),
    }
)


@pytest.mark.parametrize("size", PUBLISHED)
def test_published_sizes_are_exact_and_take_no_memory(size: str) -> None:
    """Tied, with GPT-2's vocabulary and context, on the meta device."""
    num_layers, d_model, num_heads, parameters = PUBLISHED[size]
    with torch.device("meta"):
        model = GPT(
            vocab_size=50257,
            context_length=1024,
            d_model=d_model,
            num_layers=num_layers,
            num_heads=num_heads,
            d_ff=4 * d_model,
        )
    assert all(tensor.is_meta for tensor in model.parameters())
    report = parameter_report(model)
    assert count_parameters(model) == report.total.parameters == parameters
    assert report.total.num_bytes == 4 * parameters
    # Per token and layer 24 d² for the weights and 4 T d for the scores, then the logits.
    layers = num_layers * (24 * d_model**2 + 4 * 1024 * d_model)
    assert report.total.flops == 1024 * (layers + 2 * d_model * 50257)
    assert f"{parameters:,}" in str(report)


def build(kind: str, sizes: dict[str, Any]) -> DecoderLM:
    """A model of that kind and size."""
    with torch.device("meta"):
        if kind == "modern":
            return TransformerLM(**sizes, rope_theta=100.0)
        if kind == "grouped":
            return TransformerLM(**sizes, rope_theta=100.0, num_kv_heads=1, tie_weights=True)
        positions = "sinusoidal" if kind == "sinusoidal" else "learned"
        return GPT(**sizes, tie_weights=kind != "untied", positions=positions)


def closed_formula(kind: str, s: dict[str, int]) -> int:
    """The number of parameters, written out."""
    V, C, d, f = s["vocab_size"], s["context_length"], s["d_model"], s["d_ff"]
    if kind == "modern":
        return s["num_layers"] * (4 * d * d + 3 * d * f + 2 * d) + d + 2 * V * d
    if kind == "grouped":
        attention = 2 * d * d + 2 * d * (d // s["num_heads"])
        return s["num_layers"] * (attention + 3 * d * f + 2 * d) + d + V * d
    block = 4 * (d * d + d) + (d * f + f) + (f * d + d) + 2 * 2 * d
    ends = V * d * (2 if kind == "untied" else 1) + (0 if kind == "sinusoidal" else C * d)
    return s["num_layers"] * block + 2 * d + ends


@given(
    kind=st.sampled_from(["tied", "untied", "sinusoidal", "modern", "grouped"]),
    sizes=MODELS,
    batch_size=st.integers(1, 3),
)
@settings(max_examples=60, deadline=None)
def test_the_report_adds_up(kind: str, sizes: dict[str, Any], batch_size: int) -> None:
    """Rows sum to what closed formulas give, and operations are those that torch counts."""
    model = build(kind, sizes)
    length = (sizes["context_length"] + 1) // 2
    report = parameter_report(model, batch_size, length)
    for rows in (report.modules, report.parts):
        assert sum(row.parameters for row in rows) == report.total.parameters
        assert sum(row.num_bytes for row in rows) == report.total.num_bytes
        assert sum(row.flops for row in rows) == report.total.flops
        assert sum(row.modules for row in rows) == report.total.modules
    assert report.total.parameters == count_parameters(model) == closed_formula(kind, sizes)
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(batch_size, length, dtype=torch.int64, device="meta"))
    assert report.total.flops == counter.get_total_flops()
    counts = counter.get_flop_counts()
    for row in report.modules:
        inside = [other.flops for other in report.modules if other.name.startswith(row.name + ".")]
        counted = counts.get(f"{type(model).__name__}.{row.name}", {})
        assert row.flops + sum(inside) == sum(counted.values()), row.name


def test_the_table_shows_each_part_once() -> None:
    """Layers are taken together, a tied projection costs operations and no parameters."""
    sizes: dict[str, Any] = {"vocab_size": 7, "context_length": 5, "d_model": 4, "num_layers": 3}
    report = parameter_report(GPT(**sizes, num_heads=2, d_ff=6), batch_size=2)
    lines = str(report).splitlines()
    assert lines[0] == "forward pass: batch of 2, 5 tokens each"
    assert lines[1].split() == ["part", "modules", "parameters", "bytes", "FLOPs"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[2:]}
    assert rows["token_embeddings"] == ["1", "28", "112", "0"]
    assert rows["layers.*.attn"] == ["3", "0", "0", "2,400"]
    assert rows["layers.*.ffn.fc1"] == ["3", "90", "360", "1,440"]
    assert rows["lm_head"] == ["1", "0", "0", "560"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert list(rows)[-1] == "total"


def test_bytes_are_those_of_the_type() -> None:
    """Half precision takes half as much, and the report changes nothing in the model."""
    model = GPT(vocab_size=7, context_length=5, d_model=4, num_layers=1, num_heads=1, d_ff=4)
    full = parameter_report(model).total
    half = parameter_report(model.bfloat16()).total
    assert (half.num_bytes, half.parameters) == (full.num_bytes // 2, full.parameters)


@pytest.mark.parametrize(("batch_size", "length"), [(0, 3), (1, 0), (1, 6)])
def test_a_pass_that_cannot_be_is_refused(batch_size: int, length: int) -> None:
    """An empty batch, an empty sequence, one beyond the context."""
    model = GPT(vocab_size=7, context_length=5, d_model=4, num_layers=1, num_heads=1, d_ff=4)
    with pytest.raises(ValueError, match=f"{batch_size} sequences of {length} tokens.*1 to 5"):
        parameter_report(model, batch_size, length)
