"""Draw the loss curves of runs on one picture: uv run python -m cs336_basics.plot runs/a runs/b."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from cs336_basics.training.command_line import in_words
from cs336_basics.training.extra import extra_training

with extra_training():
    from cs336_basics.training.curves import draw_curves


def main(arguments: Sequence[str] | None = None) -> int:
    """Write an SVG and a PNG."""
    parser = argparse.ArgumentParser(
        prog="python -m cs336_basics.plot", description="Draw the loss curves of runs."
    )
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, also unfinished ones")
    parser.add_argument("--out", type=Path, default=Path("loss"), help="name without .svg or .png")
    options = parser.parse_args(arguments)
    return in_words("plot", lambda: draw(options))


def draw(options: argparse.Namespace) -> int:
    """Write the pictures, and then their names to the terminal."""
    paths = draw_curves(options.runs, options.out)
    sys.stdout.write("".join(f"{path}\n" for path in paths))
    return 0


if __name__ == "__main__":
    sys.exit(main())
