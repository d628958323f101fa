"""The training loop.

What a step draws - its sequences, its dropout - depends on the seed and the number of the step
alone. So a run that was stopped and resumed draws what it would have drawn, however often it
evaluated or sampled in between, and any number of processes draws the same sequences.
"""

import copy
import hashlib
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from cs336_basics.checkpoint import load_model
from cs336_basics.data import document_starts, get_batch
from cs336_basics.fast import model as fast
from cs336_basics.files import remove_unfinished, write_json
from cs336_basics.model import cross_entropy
from cs336_basics.optimizer import AdamW, clip_gradients
from cs336_basics.training.config import TrainConfig, as_json
from cs336_basics.training.corpus import open_corpus
from cs336_basics.training.evaluation import sample, validation_loss, validation_windows
from cs336_basics.training.processes import Processes
from cs336_basics.training.resuming import require_same_run, require_vocabulary_of_run
from cs336_basics.training.runs import Record, Run, is_whole


class DivergedError(ArithmeticError):
    """The loss or its gradient is not finite any more."""


class Observer(Protocol):
    """Receives the records of a run."""

    def step(self, record: Record) -> None:
        """Receive the record of a step."""

    def evaluation(self, record: Record) -> None:
        """Receive the record of an evaluation."""


def seed_of(*numbers: int) -> int:
    """Return a seed for these numbers, unrelated to the seeds of other numbers."""
    digest = hashlib.sha256(" ".join(map(str, numbers)).encode()).digest()
    return int.from_bytes(digest[:7], "big")


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Matrices, which decay, and gains and biases, which do not."""
    parameters = list(model.parameters())
    return [
        {"params": [p for p in parameters if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]


class Trainer:
    """A model, its optimizer and its data, at some step of a run.

    Raises:
        OSError: a file is missing.
        ValueError: the data, the configuration and the run's folder do not fit together.
    """

    def __init__(self, config: TrainConfig, processes: Processes) -> None:
        self.config = config
        self.processes = processes
        length = config.model.context_length
        self.corpus = corpus = open_corpus(config.data, length)
        windows = validation_windows(corpus.valid, length, config.eval_sequences)
        self.windows = windows.to(processes.device)
        self.documents = (
            document_starts(corpus.train, corpus.end_of_text, length)
            if config.within_documents
            else None
        )
        if config.batch_size % (processes.count * config.accumulation):
            raise ValueError(
                f"batch_size = {config.batch_size} cannot be divided among {processes.count} "
                f"processes with accumulation = {config.accumulation}"
            )
        torch.manual_seed(seed_of(config.seed))
        self.model = config.model.build(corpus.vocab_size).to(processes.device)
        self.logits_of: Callable[[Tensor], Tensor] = self.model
        self.loss_of = fast.cross_entropy if config.fused else cross_entropy
        if config.fused:
            fast.fuse(self.model)
        if config.compile:
            self.logits_of = torch.compile(self.model)
        self.optimizer = AdamW(
            parameter_groups(self.model, config.optimizer.weight_decay),
            lr=config.optimizer.learning_rate,
            betas=(config.optimizer.beta1, config.optimizer.beta2),
            eps=config.optimizer.eps,
        )
        self.run = Run(config.out, config.keep)
        described = {
            "run.json": as_json(config),
            "config.json": config.model.arguments(corpus.vocab_size),
            "data.json": corpus.digests(),
        }
        self.step = self.resume(described) if self.run.checkpoints() else 0
        if processes.first:
            remove_unfinished(config.out)
            self.run.forget_after(self.step)
            if self.step and (config.accept_changes or math.isinf(self.run.best_loss)):
                self.run.best_loss = self.loss_of_best()
            for name, value in described.items():
                write_json(config.out / name, value)
            corpus.tokenizer.save(config.out / "vocab.json", config.out / "merges.txt")
        self.started = time.monotonic() - self.run.seconds

    def resume(self, described: Mapping[str, Mapping[str, Any]]) -> int:
        """Restore the last checkpoint and return its step, if it is of the same run."""
        out, config = self.config.out, self.config
        if not config.resume:
            raise ValueError(
                f"{out} holds a run already: go on from it with --resume, or choose another "
                "folder with --out"
            )
        require_vocabulary_of_run(out, self.corpus.tokenizer)
        require_same_run(out, described, accept_changes=config.accept_changes)
        step = self.run.resume(self.model, self.optimizer)
        if step > config.steps:
            raise ValueError(f"steps = {config.steps}, but {out} has come to step {step} already")
        return step

    def loss_of_best(self) -> float:
        """Measure the validation loss of best.pt, for runs whose metrics are missing."""
        if not self.run.best.exists() or not is_whole(self.run.best):
            return math.inf
        weights = copy.deepcopy(self.model.state_dict())
        load_model(self.run.best, self.model)
        loss = self.measure()
        self.model.load_state_dict(weights)
        return loss

    def measure(self) -> float:
        """Return the validation loss of the present weights."""
        with self.precision():
            return validation_loss(self.logits_of, self.windows, self.config.batch_size)

    def train(self, observer: Observer, stopped: Callable[[], bool]) -> bool:
        """Take all steps that are left, and return whether it came to the last one.

        Raises:
            DivergedError: a loss or a gradient is not finite; no step was taken with it.
            OSError: a checkpoint could not be saved.
        """
        while self.step < self.config.steps:
            record, stop = self.take_step(stopped())
            last = self.step == self.config.steps
            if self.processes.first:
                self.run.record(record)
                observer.step(record)
                if last or self.step % self.config.eval_every == 0:
                    observer.evaluation(self.evaluate())
                if last or stop or self.step % self.config.checkpoint_every == 0:
                    self.run.save(self.model, self.optimizer, self.step)
            if stop:
                return False
        return True

    def take_step(self, stop: bool) -> tuple[Record, bool]:
        """Update the weights once; tell what it was like and whether any process is to stop."""
        begun = time.monotonic()
        rate = self.config.optimizer.rate(self.step + 1, self.config.steps)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad()
        totals = torch.tensor([self.backward(), float(stop)], device=self.processes.device)
        loss, stop_sum = self.processes.sum(totals).tolist()
        self.processes.sum_gradients(self.model)
        norm = clip_gradients(self.model.parameters(), self.config.optimizer.max_norm)
        if not math.isfinite(loss) or not math.isfinite(norm):
            raise DivergedError(
                f"at step {self.step + 1}, with learning rate {rate:.3g}, the loss is {loss} and "
                f"the norm of its gradient {norm}; {self.run.last_good()}"
            )
        self.optimizer.step()
        self.step += 1
        now = time.monotonic()
        num_tokens = self.config.batch_size * self.config.model.context_length
        return {
            "step": self.step,
            "loss": loss,
            "learning_rate": rate,
            "gradient_norm": norm,
            "tokens_per_second": num_tokens / max(now - begun, 1e-9),
            "seconds": now - self.started,
        }, stop_sum > 0

    def backward(self) -> float:
        """Add the gradients of this process's share of the step, and return its part of the loss.

        All processes draw all sequences, so that their number changes nothing.
        """
        config, processes = self.config, self.processes
        torch.manual_seed(seed_of(config.seed, self.step))
        inputs, targets = get_batch(
            self.corpus.train,
            config.batch_size,
            config.model.context_length,
            processes.device,
            self.documents,
        )
        if not processes.first:
            # Other sequences want other dropout.
            torch.manual_seed(seed_of(config.seed, self.step, processes.rank))
        loss_sum = 0.0
        for part, part_targets in zip(
            processes.share(inputs, config.accumulation),
            processes.share(targets, config.accumulation),
            strict=True,
        ):
            with self.precision():
                logits = self.logits_of(part)
            loss = self.loss_of(logits.float(), part_targets)
            loss = loss / (processes.count * config.accumulation)
            loss.backward()  # type: ignore[no-untyped-call]
            loss_sum += loss.item()
        return loss_sum

    def precision(self) -> torch.autocast:
        """Return a context in which matrix products have the configured type."""
        enabled = self.config.dtype == "bfloat16"
        return torch.autocast(self.processes.device.type, torch.bfloat16, enabled=enabled)

    def evaluate(self) -> Record:
        """Measure the validation loss, sample, and save what is best so far."""
        loss = self.measure()
        text = sample(
            self.model,
            self.corpus.tokenizer,
            self.config.prompt,
            self.config.sample_tokens,
            self.step,
        )
        size = self.corpus.bytes_per_token
        record = {
            "step": self.step,
            "valid_loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "bits_per_byte": size and loss / math.log(2) / size,
            "floor": self.corpus.floor,
            "sample": text,
            "seconds": time.monotonic() - self.started,
        }
        self.run.record(record)
        self.run.save_if_best(self.model, self.optimizer, self.step, loss)
        return record
