"""Train a language model: uv run python -m cs336_basics.train --data FOLDER --out FOLDER.

Several processes: uv run torchrun --nproc-per-node 2 -m cs336_basics.train ...
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType

from cs336_basics.training.command_line import in_words
from cs336_basics.training.extra import extra_training

with extra_training():
    # Before torch is imported. Threads that wait in a loop for one another cost several times what
    # they compute where other programs need the cores, too.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

    import torch

    from cs336_basics.training.config import TrainConfig, parse
    from cs336_basics.training.curves import draw_curves
    from cs336_basics.training.loop import Trainer
    from cs336_basics.training.processes import Processes, joined
    from cs336_basics.training.progress import plain_console, watching
    from cs336_basics.training.weights_and_biases import logging_to_wandb


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and say in one line what went wrong if something does."""

    def command() -> int:
        config = parse(sys.argv[1:] if arguments is None else arguments)
        with (
            short_memory(config),
            joined(config.device) as processes,
            signals() as received,
        ):
            return train(config, processes, received)

    return in_words("train", command)


def train(config: TrainConfig, processes: Processes, received: list[int]) -> int:
    """Train to the end or to a signal, and draw the curve."""
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    trainer = Trainer(config, processes)
    console = plain_console(quiet=not processes.first)
    if trainer.step == config.steps:
        console.print(f"Nothing is left to do: {config.out} has come to step {config.steps}")
        return 0
    if trainer.step:
        console.print(f"Going on from step {trainer.step} of {config.out}")
    console.print(summary(trainer))
    if config.compile:
        console.print("Compiling: the first step and the first evaluation take a minute or so")
    with (
        logging_to_wandb(config) if processes.first else nullcontext() as wandb,
        watching(console, config.steps, trainer.step, wandb) as watcher,
    ):
        finished = trainer.train(watcher, lambda: bool(received))
    if processes.first:
        draw_curves([config.out], config.out / "loss")
    if finished:
        console.print(f"Done: {config.out}/best.pt has validation loss {trainer.run.best_loss:.3f}")
        return 0
    console.print(f"Stopped and saved at step {trainer.step}; --resume goes on from there")
    return 128 + (received[0] if received else signal.SIGTERM)


@contextmanager
def short_memory(config: TrainConfig) -> Iterator[None]:
    """Let torch's errors for want of memory say what to change.

    Raises:
        MemoryError: memory was short.
    """
    try:
        yield
    except RuntimeError as error:
        short = isinstance(error, torch.OutOfMemoryError) or "DefaultCPUAllocator" in str(error)
        if not short:
            raise
        raise MemoryError(
            f"batch_size = {config.batch_size} in accumulation = {config.accumulation} parts is "
            "too much for this model: take a smaller batch, more parts or a smaller model"
        ) from error


def summary(trainer: Trainer) -> str:
    """The sizes of a run in a line."""
    config, num_tokens = trainer.config, len(trainer.corpus.train)
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    tokens_a_step = config.batch_size * config.model.context_length
    return (
        f"{parameters:,} parameters; {num_tokens:,} tokens of text; {config.steps:,} steps of "
        f"{tokens_a_step:,} tokens: {config.steps * tokens_a_step / num_tokens:,.2f} times the text"
    )


@contextmanager
def signals() -> Iterator[list[int]]:
    """Note SIGINT and SIGTERM instead of dying of them; the loop saves after the step."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
