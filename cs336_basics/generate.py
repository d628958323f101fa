"""Let a trained model continue a prompt: uv run python -m cs336_basics.generate "Once upon a time".

A checkpoint is understood with the files beside it:

- config.json: a JSON object of the model's "family" (modern or classic) and the arguments that
  build it
- vocab.json, merges.txt: its tokenizer, in the format of Tokenizer.save
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from cs336_basics.allowed import require_utf8
from cs336_basics.checkpoint import load_model
from cs336_basics.families import build_model
from cs336_basics.fast.model import fuse
from cs336_basics.files import read_json
from cs336_basics.generation import GenerationConfig, generate_text
from cs336_basics.model import DecoderLM
from cs336_basics.training.command_line import in_words
from cs336_basics.training.tokens import END_OF_TEXT, load_tokenizer

TINY_MODEL = Path(__file__).parent / "tiny_model" / "checkpoint.pt"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the prompt and what the model makes of it to the terminal, as it comes."""
    parser = argument_parser()
    options = parser.parse_args(arguments)
    try:
        require_utf8("prompt", options.prompt or "")
        config = GenerationConfig(
            max_new_tokens=options.max_new_tokens,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            seed=options.seed,
        )
    except ValueError as error:
        parser.error(str(error))
    return in_words("generate", lambda: write_continuations(options, config))


def argument_parser() -> argparse.ArgumentParser:
    """The options, named as in GenerationConfig."""
    parser = argparse.ArgumentParser(
        prog="python -m cs336_basics.generate",
        description="Continue a prompt with a language model.",
    )
    parser.add_argument(
        "prompt",
        nargs="?",
        help="by default prompts are read from the terminal, line by line, until its end of input; "
        "without a terminal, a new text begins",
    )
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
    parser.add_argument("--fused", action="store_true", help="use PyTorch's fused functions")
    parser.add_argument("--seed", type=int, help="repeats a text")
    return parser


def write_continuations(options: argparse.Namespace, config: GenerationConfig) -> int:
    """Write each prompt and its continuation, every piece at once.

    Raises:
        OSError: a file is missing.
        ValueError: a file is damaged.
    """
    folder = options.checkpoint.parent
    tokenizer = load_tokenizer(folder)
    config = replace(config, end_of_text=tokenizer.special_ids[END_OF_TEXT])
    model = described_model(folder / "config.json")
    load_model(options.checkpoint, model)
    if options.fused:
        fuse(model)
    for prompt in typed_prompts() if options.prompt is None else [options.prompt]:
        sys.stdout.write(prompt)
        for piece in generate_text(model, tokenizer, prompt, config):
            sys.stdout.write(piece)
            sys.stdout.flush()
        sys.stdout.write("\n")
        sys.stdout.flush()
    return 0


def typed_prompts() -> Iterator[str]:
    """The lines that a person types; one empty prompt where there is no terminal to type in."""
    if not sys.stdin.isatty():
        yield ""
        return
    sys.stderr.write("A prompt a line; an empty one begins a new text. Ctrl-D ends.\n")
    while True:
        try:
            prompt = input("> ")
            require_utf8("the prompt", prompt)
        except EOFError:
            return
        except ValueError as error:
            sys.stderr.write(f"{error}\n")
        else:
            yield prompt


def described_model(path: Path) -> DecoderLM:
    """The model that a config file describes, with fresh weights.

    Raises:
        OSError: there is no such file.
        ValueError: it does not describe a model.
    """
    described = read_json(path)
    try:
        return build_model(described)
    except Exception as error:
        # Sizes that make no sense let torch raise nearly anything.
        raise ValueError(f"{path} does not describe a model: {error!r}") from error


if __name__ == "__main__":
    sys.exit(main())
