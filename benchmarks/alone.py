"""One task, measured in a process of its own: python -m benchmarks.alone TASK ARGUMENTS."""

import json
import sys
import threading
import time
from collections.abc import Callable

import psutil

Work = Callable[[], object]


def fast(path: str, vocab_size: str) -> Work:
    """Training a vocabulary by arrays, in this process alone."""
    from cs336_basics.fast.train_bpe import train_bpe  # noqa: PLC0415 - each task imports its own
    from cs336_basics.training.tokens import END_OF_TEXT  # noqa: PLC0415

    return lambda: train_bpe(path, int(vocab_size), [END_OF_TEXT], num_workers=1)


def plain(path: str, vocab_size: str) -> Work:
    """Training a vocabulary in the plain way, in this process alone."""
    from cs336_basics.train_bpe import train_bpe  # noqa: PLC0415
    from cs336_basics.training.tokens import END_OF_TEXT  # noqa: PLC0415

    return lambda: train_bpe(path, int(vocab_size), [END_OF_TEXT], num_workers=1)


def theirs(path: str, vocab_size: str) -> Work:
    """Training a vocabulary with tokenizers, on as many threads as RAYON_NUM_THREADS says."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: PLC0415

    from cs336_basics.training.tokens import END_OF_TEXT  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=int(vocab_size),
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return lambda: tokenizer.train([path], trainer)


def step(batch: str, length: str) -> Work:
    """A step of training, after one that does not count."""
    import torch  # noqa: PLC0415

    from benchmarks.learning import SIZES, VOCAB_SIZE, training_step  # noqa: PLC0415
    from cs336_basics.model import TransformerLM  # noqa: PLC0415

    sizes = SIZES | {"context_length": int(length)}
    model = TransformerLM(**sizes, d_ff=704, rope_theta=10_000.0)
    work = training_step(model, torch.randint(VOCAB_SIZE, (int(batch), int(length) + 1)))
    work()
    return work


TASKS: dict[str, Callable[..., Work]] = {
    "fast": fast,
    "plain": plain,
    "theirs": theirs,
    "step": step,
}


def main() -> None:
    """Write the CPU time, and how much more memory was held at the most than before."""
    name, *arguments = sys.argv[1:]
    work = TASKS[name](*arguments)
    process, peak, done = psutil.Process(), 0, threading.Event()
    before = process.memory_info().rss

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.01):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.process_time()
    work()
    seconds = time.process_time() - begun
    done.set()
    watcher.join()
    sys.stdout.write(json.dumps({"seconds": seconds, "mebibytes": (peak - before) / 2**20}))


if __name__ == "__main__":
    main()
