"""One training of a vocabulary, measured in a process of its own: python -m benchmarks.alone."""

import json
import sys
import threading
import time
from pathlib import Path

import psutil
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from cs336_basics.train_bpe import train_bpe
from cs336_basics.training.tokens import END_OF_TEXT


def ours(path: Path, vocab_size: int) -> None:
    """The reference, in this process alone."""
    train_bpe(path, vocab_size, [END_OF_TEXT], num_workers=1)


def theirs(path: Path, vocab_size: int) -> None:
    """The tokenizers library, on as many threads as RAYON_NUM_THREADS says."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(path)], trainer)


def main() -> None:
    """Write the CPU time, and how much more memory was held at the most than before."""
    name, path, vocab_size = sys.argv[1:]
    process, peak, done = psutil.Process(), 0, threading.Event()
    before = process.memory_info().rss

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, process.memory_info().rss)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begun = time.process_time()
    {"ours": ours, "theirs": theirs}[name](Path(path), int(vocab_size))
    seconds = time.process_time() - begun
    done.set()
    watcher.join()
    sys.stdout.write(json.dumps({"seconds": seconds, "mebibytes": (peak - before) / 2**20}))


if __name__ == "__main__":
    main()
