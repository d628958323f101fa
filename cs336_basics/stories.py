"""Write stories to train on, without a network: uv run python -m cs336_basics.stories.

They come with the probability of each, so that the loss of a model has a floor to compare with.
"""

import argparse
import math
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from cs336_basics.files import remove_unfinished, replacing
from cs336_basics.training.command_line import in_words, whole_number
from cs336_basics.training.stories import Story, stories
from cs336_basics.training.tokens import END_OF_TEXT, write_facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Write train.txt and valid.txt."""
    parser = argparse.ArgumentParser(
        prog="python -m cs336_basics.stories", description="Write stories to train on."
    )
    parser.add_argument("--out", type=Path, default=Path("data/stories"), help="a folder")
    some = whole_number(1)
    parser.add_argument("--train", type=some, default=20_000, help="stories; default: 20000")
    parser.add_argument("--valid", type=some, default=500, help="stories; default: 500")
    parser.add_argument("--seed", type=whole_number(0), default=0, help="default: 0")
    options = parser.parse_args(arguments)
    return in_words("stories", lambda: write_both(options))


def write_both(options: argparse.Namespace) -> int:
    """Write both files from one stream of stories."""
    options.out.mkdir(parents=True, exist_ok=True)
    remove_unfinished(options.out)
    source = stories(options.seed)
    write_stories(options.out / "valid.txt", islice(source, options.valid))
    write_stories(options.out / "train.txt", islice(source, options.train))
    return 0


def write_stories(path: Path, told: Iterable[Story]) -> None:
    """Write stories, each with the end of text after it, and the facts about them."""
    nats: list[float] = []
    with replacing(path) as file:
        for story in told:
            file.write(f"{story.text}{END_OF_TEXT}".encode())
            nats.append(story.nats)
        size = file.tell()
    write_facts(path, {"stories": len(nats), "bytes": size, "nats": math.fsum(nats)})
    bits = math.fsum(nats) / math.log(2) / size
    sys.stdout.write(f"{path}: {len(nats)} stories, {size:,} bytes, {bits:.4f} bits a byte\n")


if __name__ == "__main__":
    sys.exit(main())
