"""Checks of saving a training run and taking it up again.

Only the adapters write and read a checkpoint; how it looks inside is the submission's affair.
"""

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from cs336_checks.comparison import assert_refuses
from cs336_checks.draws import Draws
from cs336_checks.snapshots import Snapshot


class Layer(nn.Module):
    """An affine map with a squashing function, which notes the mean of what it returned."""

    mean: Tensor

    def __init__(self, d_in: int, d_out: int, draw: Draws) -> None:
        super().__init__()
        self.weight = nn.Parameter(draw.weight(d_out, d_in))
        self.bias = nn.Parameter(draw.normal(d_out))
        self.register_buffer("mean", draw.normal(d_out))

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, d_in) to (batch, d_out)."""
        y = torch.tanh(x @ self.weight.T + self.bias)
        self.mean.lerp_(y.detach().mean(0), 0.1)
        return y


class Model(nn.Module):
    """A model with nested names and two layers of equal shape."""

    def __init__(self, draw: Draws, width: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Layer(width, width, draw), Layer(width, width, draw)])
        self.head = Layer(width, 3, draw)

    def forward(self, x: Tensor) -> Tensor:
        """Map (batch, width) to (batch, 3)."""
        for layer in self.layers:
            x = layer(x)
        return torch.as_tensor(self.head(x))


class Run:
    """A model in training with PyTorch's AdamW, or with another class like it."""

    def __init__(
        self, draw: Draws, optimizer_class: Any = torch.optim.AdamW, width: int = 6
    ) -> None:
        self.model = Model(draw, width)
        self.optimizer = optimizer_class(
            self.model.parameters(), lr=0.1, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1
        )

    def train(self, inputs: Tensor) -> None:
        """Take one step a row of inputs, (steps, batch, width)."""
        for x in inputs:
            self.optimizer.zero_grad()
            self.model(x).square().mean().backward()
            self.optimizer.step()

    def twin(self) -> "Run":
        """A run that stands where this one does, which no adapter is given."""
        return copy.deepcopy(self)

    def parameters(self) -> Tensor:
        """All parameters, copied, as one vector."""
        return torch.cat([value.detach().flatten() for value in self.model.parameters()])

    def buffers(self) -> Tensor:
        """All buffers, copied, as one vector."""
        return torch.cat([value.flatten() for value in self.model.buffers()])


def save(adapters: Any, run: Run, iteration: int, out: Path | io.BytesIO) -> None:
    """Save a run."""
    adapters.run_save_checkpoint(
        model=run.model, optimizer=run.optimizer, iteration=iteration, out=out
    )


def load(adapters: Any, src: Path | io.BytesIO, run: Run) -> object:
    """Load into a run; what the adapter returns."""
    return adapters.run_load_checkpoint(src=src, model=run.model, optimizer=run.optimizer)


def test_checkpoint_model(adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path) -> None:
    """Restores every parameter of the model from a file, into a model that began differently."""
    saved, fresh = Run(draw), Run(draw)
    saved.train(draw.normal(4, 5, 6))
    at_save = saved.parameters()
    save(adapters, saved, 4, tmp_path / "checkpoint.pt")
    load(adapters, tmp_path / "checkpoint.pt", fresh)
    snapshot.assert_close(fresh.parameters(), at_save, "parameters", atol=0.0, rtol=0.0)


@pytest.mark.parametrize("iteration", [0, 7, 123_456_789])
def test_checkpoint_iteration(adapters: Any, draw: Draws, tmp_path: Path, iteration: int) -> None:
    """Returns the iteration that was saved."""
    run = Run(draw)
    run.train(draw.normal(1, 5, 6))
    save(adapters, run, iteration, tmp_path / "checkpoint.pt")
    loaded = load(adapters, tmp_path / "checkpoint.pt", run)
    assert loaded == iteration, f"Saved at iteration {iteration}, loaded as {loaded}."


def test_checkpoint_resume(adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path) -> None:
    """Training that goes on after loading gives the same parameters as without a stop."""
    straight, resumed = Run(draw), Run(draw)
    before, after = draw.normal(5, 5, 6), draw.normal(5, 5, 6)
    straight.train(before)
    # As a schedule does; the new optimizer is built with another learning rate.
    straight.optimizer.param_groups[0]["lr"] = 0.03
    save(adapters, straight.twin(), 5, tmp_path / "checkpoint.pt")
    load(adapters, tmp_path / "checkpoint.pt", resumed)
    straight.train(after)
    resumed.train(after)
    snapshot.assert_close(resumed.parameters(), straight.parameters(), "parameters", atol=1e-5)


def test_checkpoint_of_an_earlier_time(
    adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path
) -> None:
    """Holds the run as it was when it was saved, however long the same run then trains on."""
    run, inputs = Run(draw), draw.normal(6, 5, 6)
    run.train(inputs[:3])
    at_save, straight = run.parameters(), run.twin()
    straight.train(inputs[3:])
    at_end = straight.parameters()
    save(adapters, run, 3, tmp_path / "checkpoint.pt")
    run.train(inputs[3:])
    load(adapters, tmp_path / "checkpoint.pt", run)
    snapshot.assert_close(run.parameters(), at_save, "parameters", atol=0.0, rtol=0.0)
    run.train(inputs[3:])
    snapshot.assert_close(run.parameters(), at_end, "parameters after the same steps", atol=1e-5)


def test_checkpoint_reads_the_file(
    adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path
) -> None:
    """Loads what the file holds, and nothing that the program has kept in memory."""
    saved, same, other = Run(draw), Run(draw), Run(draw)
    saved.train(draw.normal(3, 5, 6))
    at_save = saved.parameters()
    save(adapters, saved, 3, tmp_path / "checkpoint.pt")
    load(adapters, tmp_path / "checkpoint.pt", same)
    snapshot.assert_close(same.parameters(), at_save, "parameters", atol=0.0, rtol=0.0)
    (tmp_path / "checkpoint.pt").write_bytes(b"")
    # An exception is right, and so is a model that is left as it was.
    with contextlib.suppress(Exception):
        load(adapters, tmp_path / "checkpoint.pt", other)
    assert not torch.equal(other.parameters(), at_save), (
        "The check emptied the file, and loading still gave the saved parameters."
        " Write the run to the file, and read it from there."
    )


def test_checkpoint_saving_changes_nothing(
    adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path
) -> None:
    """Saving leaves model and optimizer as they are."""
    saved, inputs = Run(draw), draw.normal(6, 5, 6)
    saved.train(inputs[:3])
    other = saved.twin()
    save(adapters, saved, 3, tmp_path / "checkpoint.pt")
    snapshot.assert_close(saved.parameters(), other.parameters(), "parameters", atol=0.0, rtol=0.0)
    for run in (saved, other):
        run.train(inputs[3:])
    snapshot.assert_close(saved.parameters(), other.parameters(), "three steps later", atol=1e-5)


def test_checkpoint_overwrites(
    adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path
) -> None:
    """Replaces an older checkpoint of the same name."""
    run, fresh = Run(draw), Run(draw)
    for iteration in (2, 4):
        run.train(draw.normal(2, 5, 6))
        at_save = run.parameters()
        save(adapters, run, iteration, tmp_path / "checkpoint.pt")
    loaded = load(adapters, tmp_path / "checkpoint.pt", fresh)
    assert loaded == 4, f"Saved at iterations 2 and 4, loaded as {loaded}."
    snapshot.assert_close(fresh.parameters(), at_save, "parameters", atol=0.0, rtol=0.0)


def test_checkpoint_buffers(adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path) -> None:
    """Restores the model's buffers as well as its parameters."""
    saved, fresh = Run(draw), Run(draw)
    saved.train(draw.normal(3, 5, 6))
    at_save = saved.buffers()
    save(adapters, saved, 3, tmp_path / "checkpoint.pt")
    load(adapters, tmp_path / "checkpoint.pt", fresh)
    snapshot.assert_close(fresh.buffers(), at_save, "buffers", atol=0.0, rtol=0.0)


def test_checkpoint_file_object(adapters: Any, snapshot: Snapshot, draw: Draws) -> None:
    """Writes to and reads from a binary file object as well as a file."""
    straight, resumed, file = Run(draw, width=32), Run(draw, width=32), io.BytesIO()
    straight.train(draw.normal(3, 5, 32))
    save(adapters, straight.twin(), 3, file)
    written, parameters = len(file.getvalue()), straight.parameters()
    # Parameters and moments are three times as many numbers, which compression hardly makes less.
    assert written >= 2 * parameters.nbytes, (
        f"{written:,} bytes were written, too few for parameters of {parameters.nbytes:,} bytes and"
        " their two moments."
    )
    loaded = load(adapters, io.BytesIO(file.getvalue()), resumed)
    assert loaded == 3, f"Saved at iteration 3, loaded as {loaded}."
    inputs = draw.normal(3, 5, 32)
    straight.train(inputs)
    resumed.train(inputs)
    snapshot.assert_close(resumed.parameters(), straight.parameters(), "parameters", atol=1e-5)


def test_checkpoint_of_own_adamw(
    adapters: Any, snapshot: Snapshot, draw: Draws, tmp_path: Path
) -> None:
    """Your AdamW, saved and loaded, goes on as if it had never stopped."""
    straight, resumed = (Run(draw, adapters.get_adamw_cls()) for _ in range(2))
    straight.train(draw.normal(5, 5, 6))
    save(adapters, straight, 5, tmp_path / "checkpoint.pt")
    load(adapters, tmp_path / "checkpoint.pt", resumed)
    inputs = draw.normal(5, 5, 6)
    straight.train(inputs)
    resumed.train(inputs)
    snapshot.assert_close(resumed.parameters(), straight.parameters(), "parameters", atol=1e-5)


def test_checkpoint_of_another_model(adapters: Any, draw: Draws, tmp_path: Path) -> None:
    """Refuses to load a checkpoint into a model whose parameters have other names."""
    run, same, other = Run(draw), Run(draw), Run(draw)
    save(adapters, run, 1, tmp_path / "checkpoint.pt")
    other.model.tail = other.model.head
    del other.model.head
    assert_refuses(
        lambda run: load(adapters, tmp_path / "checkpoint.pt", run),
        same,
        other,
        "A checkpoint of a model with other parameter names",
    )
