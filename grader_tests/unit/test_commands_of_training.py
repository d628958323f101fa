"""The commands around training: what they refuse, and how they print what they are given."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from cs336_basics import encode, generate, plot, stories, train
from cs336_basics.train_bpe import train_bpe
from cs336_basics.training.encoding import Encoding, encode_file, token_dtype
from cs336_basics.training.tokens import load_tokenizer
from grader_tests.unit.training_runs import prepared

ROOT = Path(__file__).parents[2]
Main = Callable[[Sequence[str] | None], int]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, a vocabulary and token files."""
    return prepared(tmp_path_factory.mktemp("data"))


def status(main: Main, arguments: Sequence[str]) -> int | str | None:
    """Return the exit status of a command."""
    try:
        return main(arguments)
    except SystemExit as exit_:
        return exit_.code


WHOLE = ("0", "-1", "2.5", "nan", "many", "", "1e3")
SENSELESS: list[tuple[Main, str, str]] = [
    *((stories.main, option, value) for option in ("--train", "--valid") for value in WHOLE),
    *((stories.main, "--seed", value) for value in ("-1", "0.5", "nan", "x", "")),
    *((encode.main, "--workers", value) for value in WHOLE),
    *((encode.main, "--vocab-size", value) for value in (*WHOLE, "256", "-2048")),
    *((generate.main, "--max-new-tokens", value) for value in ("-1", "2.5", "nan", "")),
    *((generate.main, "--temperature", value) for value in ("-1", "nan", "inf", "hot")),
    *((generate.main, "--top-k", value) for value in ("0", "-1", "2.5", "nan")),
    *((generate.main, "--top-p", value) for value in ("-0.1", "1.1", "nan", "inf")),
    *((generate.main, "--seed", value) for value in ("-1", "0.5", str(2**64), "x")),
    (plot.main, "--colour", "red"),
]


@pytest.mark.parametrize("wrong", SENSELESS, ids=lambda wrong: f"{wrong[0].__module__}{wrong[1:]}")
def test_senseless_values_are_refused(
    wrong: tuple[Main, str, str], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the name of the option, before anything is written, and without a traceback."""
    main, option, value = wrong
    out = f"--out={tmp_path / 'out'}"
    needed: dict[Main, list[str]] = {
        stories.main: [out],
        encode.main: [str(data / "train.txt"), str(data / "valid.txt"), out],
        generate.main: ["Once"],
        plot.main: [str(data), out],
    }
    assert status(main, [*needed[main], f"{option}={value}"]) == 2
    said = capsys.readouterr()
    assert option.strip("-") in said.err.replace("_", "-")
    assert "Traceback" not in said.err
    assert said.out == ""
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_text_leaves_no_vocabulary(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty text, one that is missing, a folder, and a pipe: nothing is learned from them."""
    (tmp_path / "empty.txt").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder").mkdir()
    valid = str(data / "valid.txt")
    for name, said in (
        ("empty.txt", "is empty"),
        ("absent.txt", "No such file or directory"),
        ("folder", "is no regular file"),
        ("pipe.txt", "write it to a file first"),
    ):
        for texts in ([str(tmp_path / name), valid], [valid, str(tmp_path / name)]):
            assert status(encode.main, [*texts, f"--out={tmp_path / 'out'}"]) == 1
            [line] = capsys.readouterr().err.splitlines()
            assert str(tmp_path / name) in line
            assert said in line
    assert not (tmp_path / "out").exists()
    with pytest.raises(ValueError, match="is no regular file"):
        train_bpe(tmp_path / "pipe.txt", 300, [])


def test_a_vocabulary_of_another_size_is_not_used_without_a_word(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one in the folder serves where no size or its own is asked for."""
    texts = [str(data / "train.txt"), str(data / "valid.txt")]
    arguments = [*texts, f"--out={tmp_path}", "--workers=1"]
    assert encode.main([*arguments, "--vocab-size=290"]) == 0
    before = (tmp_path / "vocab.json").read_bytes()
    assert status(encode.main, [*arguments, "--vocab-size=280"]) == 1
    assert "has 290 tokens, not --vocab-size 280" in capsys.readouterr().err
    for same in ([], ["--vocab-size=290"]):
        assert encode.main([*arguments, *same]) == 0
    assert (tmp_path / "vocab.json").read_bytes() == before


def test_the_same_command_serves_twice_where_a_text_has_few_pairs(tmp_path: Path) -> None:
    """The vocabulary is smaller than was asked for, both times."""
    for name in ("train.txt", "valid.txt"):
        (tmp_path / name).write_text("aaaa", encoding="utf-8")
    texts = [str(tmp_path / "train.txt"), str(tmp_path / "valid.txt")]
    for _ in range(2):
        assert encode.main([*texts, f"--out={tmp_path}", "--vocab-size=5000", "--workers=1"]) == 0
    assert len(load_tokenizer(tmp_path).vocab) < 300


def test_tokens_have_room_for_the_largest_id(tmp_path: Path) -> None:
    """Ids may have gaps, so that few tokens reach far."""
    assert token_dtype(2**16 - 1) == np.uint16
    assert token_dtype(2**16) == np.uint32
    tokens = {f'"{chr(code)}"': code for code in range(97, 123)}
    lines = ", ".join(f"{token}: {token_id + 70_000}" for token, token_id in tokens.items())
    (tmp_path / "vocab.json").write_text(f"{{{lines}}}", encoding="utf-8")
    (tmp_path / "merges.txt").write_text("", encoding="utf-8")
    (tmp_path / "text.txt").write_text("abc", encoding="utf-8")
    job = Encoding(text=tmp_path / "text.txt", vocabulary=tmp_path, out=tmp_path / "tokens.npy")
    encode_file(job, lambda *_: None)
    assert np.load(tmp_path / "tokens.npy").tolist() == [70_097, 70_098, 70_099]


@pytest.mark.parametrize(
    "name", ["br[red]y", "br[/x]", "a:smile:b", "long" * 40, "a$b$\\frac", "ü東京", "-x y"]
)
def test_paths_are_printed_as_they_are(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brackets, colons and dollars mean nothing in them, and no line is broken."""
    folder = tmp_path / name
    assert stories.main([f"--out={folder}", "--train=30", "--valid=3"]) == 0
    texts = [str(folder / "train.txt"), str(folder / "valid.txt")]
    assert encode.main([*texts, f"--out={folder}", "--vocab-size=280", "--workers=1"]) == 0
    assert encode.main([*texts, f"--out={folder}", "--workers=1"]) == 0
    small = ("context-length=8", "d-model=8", "num-layers=1", "num-heads=2")
    few = ("steps=2", "optimizer.warmup-steps=1", "sample-tokens=2", "batch-size=2")
    options = [*(f"--model.{each}" for each in small), *(f"--{each}" for each in few)]
    assert train.main([f"--data={folder}", f"--out={folder / 'run'}", *options]) == 0
    assert plot.main([str(folder / "run"), f"--out={folder / 'loss'}"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    for path in ("train.txt", "vocab.json", "train.npy", "valid.npy", "run/best.pt", "loss.png"):
        assert str(folder / path) in said.out
    assert f"{folder / 'vocab.json'} is there already: 280 tokens" in said.out.splitlines()


def test_a_prompt_in_another_encoding_is_told() -> None:
    """In words that say what to do, and not in Python's."""
    command = [sys.executable, "-m", "cs336_basics.generate", os.fsdecode(b"caf\xe9")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    assert ended.returncode == 2
    assert b"character 4 is the byte 0xe9; type it in a terminal whose encoding is UTF-8" in (
        ended.stderr
    )
    assert b"Traceback" not in ended.stderr
    assert ended.stdout == b""


class Terminal(io.TextIOWrapper):
    """Standard input that is a terminal in which lines were typed."""

    def __init__(self, typed: bytes) -> None:
        super().__init__(io.BytesIO(typed), encoding="utf-8")

    def isatty(self) -> bool:
        """Tell that it is one."""
        return True


def test_prompts_are_read_from_a_terminal_to_the_end_of_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty line begins a new text, and a line in another encoding costs only itself."""
    monkeypatch.setattr(sys, "stdin", Terminal(b"Once upon\n\ncaf\xe9\nThe\n"))
    assert generate.main(["--max-new-tokens=5", "--seed=0"]) == 0
    said = capsys.readouterr()
    continued = said.out.replace("> ", "").splitlines()
    assert len(continued) == 3
    assert continued[0].startswith("Once upon")
    assert continued[2].startswith("The")
    assert "character 4 is the byte 0xe9" in said.err


def test_without_a_terminal_a_new_text_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with an empty prompt."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("not a prompt\n"))
    options = ["--max-new-tokens=5", "--seed=0"]
    assert generate.main(options) == 0
    told = capsys.readouterr().out
    assert generate.main(["", *options]) == 0
    assert capsys.readouterr().out == told
