"""Token files: what is encoded, taken up again, and refused."""

import shutil
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from cs336_basics import encode
from cs336_basics import stories as stories_command
from cs336_basics.training.corpus import open_corpus
from cs336_basics.training.encoding import Encoding, encode_file
from cs336_basics.training.stories import stories
from cs336_basics.training.tokens import (
    END_OF_TEXT,
    load_tokenizer,
    open_tokens,
)
from grader_tests.unit.training_runs import files_up_to


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stories and their token files, as the two commands write them."""
    folder = tmp_path_factory.mktemp("stories")
    assert stories_command.main(["--out", str(folder), "--train", "80", "--valid", "20"]) == 0
    texts = [str(folder / "train.txt"), str(folder / "valid.txt")]
    options = ["--out", str(folder), "--vocab-size", "400", "--workers", "1"]
    assert encode.main([*texts, *options]) == 0
    return folder


def job(folder: Path, out: Path, workers: int = 1) -> Encoding:
    """An encoding in some ten chunks."""
    return Encoding(
        text=folder / "train.txt", vocabulary=folder, out=out, workers=workers, chunk_bytes=4000
    )


def test_a_token_file_holds_what_encode_gives(folder: Path) -> None:
    """Ids of both files are those of the texts, in two bytes each."""
    tokenizer = load_tokenizer(folder)
    for name in ("train", "valid"):
        text = (folder / f"{name}.txt").read_text(encoding="utf-8")
        tokens = open_tokens(folder / f"{name}.npy", len(tokenizer.vocab), 16)
        assert tokens.dtype == np.uint16
        assert tokens.tolist() == tokenizer.encode(text)


def test_the_floor_is_that_of_the_stories(folder: Path) -> None:
    """All stories together, divided by all tokens."""
    nats = sum(story.nats for story in islice(stories(0), 20))
    text = (folder / "valid.txt").read_text(encoding="utf-8")
    assert text.count(END_OF_TEXT) == 20
    count = len(load_tokenizer(folder).encode(text))
    assert open_corpus(folder, 16).floor == pytest.approx(nats / count)


def test_facts_of_another_text_are_not_used(folder: Path, tmp_path: Path) -> None:
    """A kill between two files leaves a new text beside the facts of an old one."""
    shutil.copytree(folder, tmp_path / "data")
    text = tmp_path / "data" / "valid.txt"
    text.write_bytes(text.read_bytes() + b" The end.")
    task = Encoding(text=text, vocabulary=folder, out=tmp_path / "data" / "valid.npy")
    encode_file(task, lambda *_: None)
    corpus = open_corpus(tmp_path / "data", 16)
    assert corpus.floor is None
    assert corpus.bytes_per_token == pytest.approx(text.stat().st_size / len(corpus.valid))
    np.save(tmp_path / "data" / "valid.npy", corpus.valid[:50])
    assert open_corpus(tmp_path / "data", 16).bytes_per_token is None


def test_processes_and_chunks_change_nothing(folder: Path, tmp_path: Path) -> None:
    """Two processes and small chunks give the same file."""
    encode_file(job(folder, tmp_path / "tokens.npy", workers=2), lambda *_: None)
    assert (tmp_path / "tokens.npy").read_bytes() == (folder / "train.npy").read_bytes()


@pytest.mark.parametrize("chunks", [1, 4])
def test_an_interrupted_encoding_goes_on(folder: Path, tmp_path: Path, chunks: int) -> None:
    """The second call begins where the first was stopped, and the file is the same."""
    steps: list[int] = []

    def stop(done: int, _: int) -> None:
        steps.append(done)
        if len(steps) > chunks:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_file(job(folder, tmp_path / "tokens.npy"), stop)
    # What a kill in the middle of a chunk leaves behind.
    with (tmp_path / "tokens.unfinished").open("ab") as file:
        file.write(b"half a chu")
    resumed: list[int] = []
    encode_file(job(folder, tmp_path / "tokens.npy"), lambda done, _: resumed.append(done))
    assert resumed[0] == steps[-1] > 0
    assert (tmp_path / "tokens.npy").read_bytes() == (folder / "train.npy").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"tokens.npy", "tokens.npy.json"}


def test_another_text_is_not_gone_on_with(folder: Path, tmp_path: Path) -> None:
    """Where the text has changed meanwhile, the encoding begins anew."""
    text = tmp_path / "text.txt"
    text.write_text("One day. " * 2000, encoding="utf-8")
    task = Encoding(text=text, vocabulary=folder, out=tmp_path / "tokens.npy", chunk_bytes=4000)
    steps: list[int] = []

    def stop(done: int, _: int) -> None:
        steps.append(done)
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_file(task, stop)
    text.write_text("Two days. " * 2000, encoding="utf-8")
    encode_file(task, lambda *_: None)
    expected = load_tokenizer(folder).encode("Two days. " * 2000)
    assert np.load(tmp_path / "tokens.npy").tolist() == expected


def test_a_full_disk_is_told_and_costs_no_tokens(folder: Path, tmp_path: Path) -> None:
    """The message says which file had no room; the next call goes on with what there is."""
    # Room for the tokens, but not for their header.
    size = (folder / "train.npy").stat().st_size
    with files_up_to(size - 1), pytest.raises(OSError, match=r"File too large: .*tokens\.npy"):
        encode_file(job(folder, tmp_path / "tokens.npy"), lambda *_: None)
    assert not (tmp_path / "tokens.npy").exists()
    resumed: list[int] = []
    encode_file(job(folder, tmp_path / "tokens.npy"), lambda done, _: resumed.append(done))
    assert len(resumed) == 1
    assert (tmp_path / "tokens.npy").read_bytes() == (folder / "train.npy").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.arange(100, dtype=np.uint16), "holds the token id 99, but the vocabulary has 50"),
        (np.zeros(16, dtype=np.uint16), "has 16 tokens, and a context of 16 needs at least 17"),
        (np.zeros(100), "one row of unsigned integers, not float64"),
        (np.zeros(100, dtype=np.int64), "one row of unsigned integers, not int64"),
        (np.zeros((10, 10), dtype=np.uint16), r"not uint16 of \(10, 10\)"),
        (b"", "is no token file"),
        (b"some bytes that are no array", "is no token file"),
    ],
)
def test_what_is_no_token_file_is_refused(
    tmp_path: Path, content: np.ndarray | bytes, message: str
) -> None:
    """The message says what is wrong with which file."""
    path = tmp_path / "train.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)
    with pytest.raises(ValueError, match=message) as raised:
        open_tokens(path, vocab_size=50, context_length=16)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(("content", "message"), [(b"", "is empty"), (b"ab\xff", "not UTF-8")])
def test_what_is_no_text_is_refused(
    folder: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    """An empty file, and one that is not UTF-8."""
    (tmp_path / "text.txt").write_bytes(content)
    task = Encoding(text=tmp_path / "text.txt", vocabulary=folder, out=tmp_path / "tokens.npy")
    with pytest.raises(ValueError, match=message):
        encode_file(task, lambda *_: None)
    assert not (tmp_path / "tokens.npy").exists()
