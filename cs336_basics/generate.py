"""Let a trained model continue a prompt: python -m cs336_basics.generate "Once upon a time".

A checkpoint is understood with the files beside it:

- config.json: a JSON object of the model's "family" (modern or classic) and the arguments that
  build it
- vocab.json, merges.txt: its tokenizer, in the format of Tokenizer.save
"""

import argparse
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from cs336_basics.checkpoint import load_model
from cs336_basics.decoder import DecoderLM
from cs336_basics.families import build_model
from cs336_basics.generation import GenerationConfig, generate_text
from cs336_basics.tokenizer import Tokenizer

TINY_MODEL = Path(__file__).parent / "tiny_model" / "checkpoint.pt"
END_OF_TEXT = "<|endoftext|>"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the prompt and what the model makes of it to the terminal, as it comes."""
    parser = argument_parser()
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that has no sign for a character gets another one, not a traceback.
        sys.stdout.reconfigure(errors="replace")
    try:
        write_continuation(options)
    except BrokenPipeError:
        # The reader has enough; Python must not try to give it the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


def argument_parser() -> argparse.ArgumentParser:
    """The options, named as in GenerationConfig."""
    parser = argparse.ArgumentParser(
        prog="python -m cs336_basics.generate",
        description="Continue a prompt with a language model.",
    )
    parser.add_argument("prompt", nargs="?", default="", help="by default a new text begins")
    parser.add_argument(
        "--checkpoint",
        type=Path,
        default=TINY_MODEL,
        help="with config.json, vocab.json and merges.txt beside it; "
        "by default a tiny model of short stories",
    )
    parser.add_argument("--max-new-tokens", type=int, default=200, help="default: 200")
    parser.add_argument("--temperature", type=float, default=0.8, help="0 is greedy; default: 0.8")
    parser.add_argument("--top-k", type=int, help="keep the k likeliest tokens")
    parser.add_argument("--top-p", type=float, help="keep the likeliest tokens of probability p")
    parser.add_argument("--seed", type=int, help="repeats a text")
    return parser


def write_continuation(options: argparse.Namespace) -> None:
    """Write prompt and continuation, every piece at once.

    Raises:
        OSError: a file is missing.
        ValueError: a file is damaged, or an option makes no sense.
    """
    folder = options.checkpoint.parent
    tokenizer = Tokenizer.from_files(
        folder / "vocab.json", folder / "merges.txt", special_tokens=[END_OF_TEXT]
    )
    config = GenerationConfig(
        max_new_tokens=options.max_new_tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        end_of_text=tokenizer.special_ids[END_OF_TEXT],
        seed=options.seed,
    )
    model = described_model(folder / "config.json")
    load_model(options.checkpoint, model)
    sys.stdout.write(options.prompt)
    for piece in generate_text(model, tokenizer, options.prompt, config):
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")
    sys.stdout.flush()


def described_model(path: Path) -> DecoderLM:
    """The model that a config file describes, with fresh weights.

    Raises:
        OSError: there is no such file.
        ValueError: it does not describe a model.
    """
    try:
        return build_model(json.loads(path.read_text(encoding="utf-8")))
    except OSError:
        raise
    except Exception as error:
        # Sizes that make no sense let torch raise nearly anything.
        raise ValueError(f"{path} does not describe a model: {error!r}") from error


if __name__ == "__main__":
    sys.exit(main())
