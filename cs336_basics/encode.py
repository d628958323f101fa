"""Turn text into token files: uv run python -m cs336_basics.encode TRAIN VALID --out FOLDER.

The vocabulary is learned from the first text, unless the folder has one already. Each text becomes
a token file: train.npy and valid.npy. What was interrupted is taken up where it was left.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path

from cs336_basics.fast.train_bpe import train_bpe
from cs336_basics.files import remove_unfinished
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.training.command_line import in_words, whole_number
from cs336_basics.training.encoding import Encoding, encode_file, require_text
from cs336_basics.training.extra import extra_training
from cs336_basics.training.tokens import END_OF_TEXT, load_tokenizer, read_facts, write_facts

with extra_training():
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text

    from cs336_basics.training.progress import plain_console

VOCAB_SIZE = 2048


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn a vocabulary, then encode."""
    parser = argparse.ArgumentParser(
        prog="python -m cs336_basics.encode", description="Turn text into token files."
    )
    parser.add_argument("train", type=Path, help="UTF-8 text; <|endoftext|> ends a document")
    parser.add_argument("valid", type=Path, help="other text of the same kind")
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument(
        "--vocab-size",
        type=whole_number(257),
        help=f"by default that of the vocabulary in the folder, or {VOCAB_SIZE}",
    )
    parser.add_argument(
        "--workers",
        type=whole_number(1),
        default=os.cpu_count() or 1,
        help="default: as many as CPUs",
    )
    options = parser.parse_args(arguments)
    return in_words("encode", lambda: encode_both(options))


def encode_both(options: argparse.Namespace) -> int:
    """Learn the vocabulary if there is none, and encode both texts."""
    console = plain_console()
    for text in (options.train, options.valid):
        require_text(text)
    options.out.mkdir(parents=True, exist_ok=True)
    remove_unfinished(options.out)
    try:
        learn_vocabulary(options, console)
        for name in ("train", "valid"):
            job = Encoding(
                text=getattr(options, name),
                vocabulary=options.out,
                out=options.out / f"{name}.npy",
                workers=options.workers,
            )
            encode(job, console)
    except KeyboardInterrupt:
        console.print("Interrupted; the same command goes on from here.")
        raise
    except BrokenExecutor as error:
        raise OSError(f"{error} Perhaps memory was short: try --workers 1") from error
    return 0


def learn_vocabulary(options: argparse.Namespace, console: Console) -> None:
    """Write vocab.json and merges.txt, if they are not there.

    Raises:
        ValueError: they are there, but of another size than is asked for.
    """
    vocab_path, merges_path = options.out / "vocab.json", options.out / "merges.txt"
    if vocab_path.exists() and merges_path.exists():
        size = len(load_tokenizer(options.out).vocab)
        # A text may have no pair left for a vocabulary as large as it was asked for.
        if options.vocab_size not in (None, size, read_facts(vocab_path).get("asked_for")):
            raise ValueError(
                f"{vocab_path} has {size:,} tokens, not --vocab-size {options.vocab_size}: leave "
                "the option out to use it, or choose another folder with --out"
            )
        console.print(f"{vocab_path} is there already: {size:,} tokens")
        return
    vocab_size = options.vocab_size or VOCAB_SIZE
    with console.status(Text(f"Learning {vocab_size:,} tokens from {options.train}")):
        vocab, merges = train_bpe(
            options.train, vocab_size, [END_OF_TEXT], num_workers=options.workers
        )
    write_facts(vocab_path, {"asked_for": vocab_size})
    Tokenizer(vocab, merges, [END_OF_TEXT]).save(vocab_path, merges_path)
    console.print(f"{vocab_path}: {len(vocab):,} tokens")


def encode(job: Encoding, console: Console) -> None:
    """Encode one text and show how far it is, how fast and how long it will take."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(job.out.name, total=None)
        num_tokens = encode_file(
            job, lambda done, size: progress.update(task, completed=done, total=size)
        )
    ratio = job.text.stat().st_size / num_tokens
    console.print(f"{job.out}: {num_tokens:,} tokens of {ratio:.2f} bytes")


if __name__ == "__main__":
    sys.exit(main())
