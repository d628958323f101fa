"""Measure everything and write docs/performance.md: make bench."""

import argparse
from pathlib import Path

import torch

from benchmarks import growth, learning, tokenizing
from benchmarks.report import machine, table

DOCUMENT = Path("docs/performance.md")
NOTES = Path(__file__).with_name("notes.md")
TRAININGS = [
    ("docstrings", 10**6, 5_000, 3),
    ("docstrings", 10**7, 10_000, 1),
    ("sources", 10**7, 10_000, 1),
    ("sources", 10**8, 32_000, 1),
]


def main() -> None:
    """Run what is asked for, by default all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=main.__doc__)
    parser.add_argument("--small", action="store_true", help="leave out the texts of 100 MB")
    options = parser.parse_args()
    torch.set_num_threads(1)
    trainings = TRAININGS[:-1] if options.small else TRAININGS
    largest = 3 * 10**7 if options.small else 10**8
    tables = {
        "train": table(tokenizing.training(trainings), "tokenizers", None, None),
        "encode": table(tokenizing.encoding([10**6, 10**7], 5), "tiktoken", None, None),
        "tables": table(tokenizing.making_ready(5), "tiktoken", None, None),
        "cache": tokenizing.caches(),
        "letter": table(tokenizing.one_letter(3), "1 MB of docstrings", None, 10),
        "step": table(learning.steps(9), "transformers", None, 1.4),
        "generate": table(learning.generation(3), "transformers", 0.8, None),
        "texts": growth.texts("sources", [10**6, 10**7, largest], 10_000),
        "vocabularies": growth.vocabularies("sources", 10**7, [2_000, 8_000, 32_000]),
        "lengths": growth.steps([(4, 64), (4, 128), (4, 256), (4, 512)], 3),
        "batches": growth.steps([(2, 128), (4, 128), (8, 128), (16, 128)], 3),
        "generations": growth.generations([32, 64, 128, 256, 384]),
    }
    text = NOTES.read_text(encoding="utf-8").replace("{machine}", machine())
    for name, rows in tables.items():
        text = text.replace(f"{{{name}}}", rows)
    DOCUMENT.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
