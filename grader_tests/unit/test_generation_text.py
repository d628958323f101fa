"""From text to text: tokenizers around a model, streaming, and the command."""

import itertools
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cs336_basics.checkpoint import save_checkpoint
from cs336_basics.generate import TINY_MODEL, main
from cs336_basics.generation import (
    GenerationConfig,
    TextCodec,
    decode_stream,
    generate,
    generate_text,
)
from cs336_basics.gpt import GPT
from cs336_basics.model import DecoderLM, TransformerLM
from cs336_basics.optimizer import AdamW
from cs336_basics.tokenizer import Tokenizer
from tests.vocabularies import gpt2

ROOT = Path(__file__).parents[2]
END_OF_TEXT = "<|endoftext|>"
TEXTS = [
    "Once upon a time",
    "从前森林里住着一只小猫。",
    "👩\u200d👩\u200d👧\u200d👦 🇫🇷 👍🏽 🏴\u200d☠\ufe0f",
    "naïve 东京 🙂 e\u0301 <|endoftext|> привет\r\n\t  x²",
]


@cache
def tokenizers() -> dict[str, TextCodec]:
    """GPT-2's vocabulary in this project's tokenizer and in tiktoken's."""
    vocabulary = gpt2(END_OF_TEXT)
    ours = Tokenizer(vocabulary.tokens, vocabulary.merges, [END_OF_TEXT])
    return {"ours": ours, "tiktoken": vocabulary.tiktoken}


@cache
def models() -> dict[str, DecoderLM]:
    """A small model of each family, with random weights and GPT-2's vocabulary."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": 50257,
        "context_length": 32,
        "d_model": 8,
        "num_layers": 1,
    }
    return {
        "classic": GPT(**sizes, num_heads=2, d_ff=16),
        "modern": TransformerLM(**sizes, num_heads=2, d_ff=16, rope_theta=100.0),
    }


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back(text: str) -> None:
    """What is encoded and decoded is the same text, at once and as a stream."""
    tokenizer = tokenizers()["ours"]
    token_ids = tokenizer.encode(text)
    assert tokenizer.decode(token_ids) == text
    assert "".join(decode_stream(tokenizer, token_ids)) == text


@pytest.mark.parametrize("family", ["classic", "modern"])
@pytest.mark.parametrize("kind", ["ours", "tiktoken"])
@pytest.mark.parametrize("text", [text for text in TEXTS if END_OF_TEXT not in text])
def test_a_prompt_is_continued(text: str, kind: str, family: str) -> None:
    """The pieces are the text of the tokens that generate gives for the encoded prompt."""
    tokenizer, model = tokenizers()[kind], models()[family]
    config = GenerationConfig(max_new_tokens=40, seed=1)
    [token_ids] = generate(model, torch.tensor([tokenizer.encode(text)]), config)
    continuation = "".join(generate_text(model, tokenizer, text, config))
    assert continuation == tokenizer.decode(token_ids)
    assert len(token_ids) == 40


@given(token_ids=st.lists(st.integers(0, 50256) | st.integers(0, 255), max_size=30))
@settings(max_examples=200, deadline=None)
def test_a_stream_is_what_decoding_at_once_gives(token_ids: list[int]) -> None:
    """Also where tokens hold parts of characters, or bytes that are no UTF-8."""
    tokenizer = tokenizers()["ours"]
    assert "".join(decode_stream(tokenizer, token_ids)) == tokenizer.decode(token_ids)


def test_bytes_that_are_no_text_are_given_too() -> None:
    """All but the last of them, and no more than a few tokens are decoded again for the next."""
    tokenizer = tokenizers()["ours"]
    decoded: list[int] = []

    class Counting:
        """Notes how many tokens are decoded."""

        def encode(self, text: str) -> list[int]:
            """Give the ids of a text."""
            return tokenizer.encode(text)

        def decode(self, token_ids: list[int]) -> str:
            """Give the text of ids."""
            decoded.append(len(token_ids))
            return tokenizer.decode(token_ids)

    no_text = next(
        id_ for id_ in range(256) if tokenizer.decode([id_]) == "\N{REPLACEMENT CHARACTER}"
    )
    stream = decode_stream(Counting(), itertools.repeat(no_text, 200))
    assert list(stream) == ["\N{REPLACEMENT CHARACTER}"] * 200
    assert max(decoded) <= 4


@given(text=st.text(max_size=20))
@settings(max_examples=100, deadline=None)
def test_a_stream_divides_no_character(text: str) -> None:
    """Pieces of a right text are right texts."""
    tokenizer = tokenizers()["ours"]
    pieces = list(decode_stream(tokenizer, tokenizer.encode(text)))
    assert "".join(pieces) == text
    if "\N{REPLACEMENT CHARACTER}" not in text:
        assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)


def test_pieces_come_as_soon_as_they_are_known() -> None:
    """The first piece is there before the last token is computed."""
    passes: list[int] = []
    model = models()["classic"]
    hook = model.register_forward_hook(lambda *_: passes.append(1))
    pieces = generate_text(
        model, tokenizers()["ours"], "Once", GenerationConfig(max_new_tokens=30, seed=0)
    )
    assert next(pieces)
    hook.remove()
    assert len(passes) < 10


def test_the_end_of_text_is_no_text() -> None:
    """A text stops before the end token, and an empty prompt begins after one."""
    tokenizer, model, end = tokenizers()["ours"], models()["classic"], 50256
    options = GenerationConfig(max_new_tokens=6, seed=3, end_of_text=end)
    [after_end] = generate(model, torch.tensor([[end]]), options)
    assert "".join(generate_text(model, tokenizer, "", options)) == tokenizer.decode(after_end)
    ending = GenerationConfig(max_new_tokens=6, seed=3, end_of_text=after_end[3])
    pieces = generate_text(model, tokenizer, END_OF_TEXT, ending)
    assert "".join(pieces) == tokenizer.decode(after_end[: after_end.index(after_end[3])])
    with pytest.raises(ValueError, match="at least one token"):
        list(generate_text(model, tokenizer, "", GenerationConfig(max_new_tokens=1)))


def run(*arguments: str) -> int | str | None:
    """What the command returns, or exits with."""
    try:
        return main(arguments)
    except SystemExit as exit_:
        return exit_.code


def test_the_tiny_model_tells_a_story(capsys: pytest.CaptureFixture[str]) -> None:
    """The prompt is continued with words of the stories it was trained on, and a seed repeats."""
    arguments = ("Once upon a time", "--seed", "0", "--max-new-tokens", "40")
    assert run(*arguments) == 0
    text = capsys.readouterr().out
    assert text.startswith("Once upon a time, ")
    assert " lived near the " in text
    assert run(*arguments) == 0
    assert capsys.readouterr().out == text
    assert TINY_MODEL.stat().st_size < 1_000_000


@pytest.mark.parametrize("family", ["modern", "transformer"])
def test_a_checkpoint_of_the_modern_family_is_continued(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], family: str
) -> None:
    """What training saves can be used with a config and a tokenizer beside it, an old one too."""
    sizes: dict[str, Any] = {"vocab_size": 512, "context_length": 16, "d_model": 8}
    sizes |= {"num_layers": 1, "num_heads": 2, "d_ff": 16, "rope_theta": 100.0}
    model = TransformerLM(**sizes)
    save_checkpoint(model, AdamW(model.parameters()), 5, tmp_path / "run.pt")
    (tmp_path / "config.json").write_text(json.dumps({"family": family, **sizes}))
    for name in ("vocab.json", "merges.txt"):
        shutil.copy(TINY_MODEL.parent / name, tmp_path)
    assert run("The", "--checkpoint", str(tmp_path / "run.pt"), "--seed", "0") == 0
    assert capsys.readouterr().out.startswith("The")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--temperature", "-1", "temperature = -1.0"),
        ("--temperature", "warm", "invalid float value: 'warm'"),
        ("--top-k", "0", "top_k = 0"),
        ("--top-p", "1.5", "top_p = 1.5"),
        ("--max-new-tokens", "-3", "max_new_tokens = -3"),
        ("--seed", "-1", "seed = -1"),
        ("--seed", str(2**64), "seed = 18446744073709551616"),
        ("--colour", "red", "unrecognized arguments: --colour red"),
    ],
)
def test_options_that_make_no_sense_exit_with_2(
    option: str, value: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A message on standard error says which, and nothing is written to standard output."""
    assert run("Once", option, value) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


DAMAGED: dict[str, tuple[str, str | None, str]] = {
    "no checkpoint": ("checkpoint.pt", None, "there is no checkpoint at"),
    "no config": ("config.json", None, "config.json"),
    "no vocabulary": ("vocab.json", None, "vocab.json"),
    "a checkpoint that is none": ("checkpoint.pt", "text", "is no checkpoint, or is damaged"),
    "a config that is no JSON": ("config.json", "{", "config.json is no JSON"),
    "a config of a list": ("config.json", "[]", "config.json must hold one JSON object"),
    "an unknown family": ("config.json", '{"family": "rnn"}', "KeyError('rnn')"),
    "a missing size": ("config.json", '{"family": "classic"}', "missing 6 required"),
    "a size below zero": (
        "config.json",
        '{"family": "classic", "vocab_size": -1, "context_length": 8, "d_model": 8, '
        '"num_layers": 1, "num_heads": 1, "d_ff": 8}',
        "config.json does not describe a model",
    ),
    "other sizes": (
        "config.json",
        '{"family": "classic", "vocab_size": 512, "context_length": 8, "d_model": 8, '
        '"num_layers": 1, "num_heads": 1, "d_ff": 8}',
        "the checkpoint does not fit the model",
    ),
    "merges that are none": ("merges.txt", "a b c\n", "merges.txt is no merges file"),
}


@pytest.mark.parametrize(("name", "text", "message"), DAMAGED.values(), ids=DAMAGED.keys())
def test_files_that_cannot_be_used_exit_with_1(
    name: str,
    text: str | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The message names the file or what is wrong in it."""
    folder = tmp_path / "model"
    shutil.copytree(TINY_MODEL.parent, folder)
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(text, encoding="utf-8")
    assert run("Once", "--checkpoint", str(folder / "checkpoint.pt")) == 1
    said = capsys.readouterr()
    assert message in said.err
    assert said.out == ""


def test_a_reader_who_has_enough_ends_the_command() -> None:
    """A closed pipe is no error."""
    command = [sys.executable, "-m", "cs336_basics.generate", "Once", "--seed", "1"]
    process = subprocess.Popen(
        [*command, "--max-new-tokens", "5000"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.read(4) == b"Once"
    process.stdout.close()
    _, said = process.communicate()
    assert (process.returncode, said) == (0, b"")
