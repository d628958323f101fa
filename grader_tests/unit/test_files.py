"""Files that are written whole or not at all, and what is said of those that cannot be read."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs336_basics import encode, plot, stories, train
from cs336_basics.checkpoint import read_checkpoint
from cs336_basics.files import read_json, replacing, write_text
from cs336_basics.training.runs import Run, read_metrics
from cs336_basics.training.tokens import END_OF_TEXT, load_tokenizer
from grader_tests.unit.training_runs import files_up_to

SMALL_RUN = (
    *("--model.context-length=16", "--model.d-model=8", "--model.num-layers=1"),
    *("--model.num-heads=2", "--steps=4", "--batch-size=2", "--optimizer.warmup-steps=1"),
    *("--eval-every=2", "--checkpoint-every=2", "--sample-tokens=4", "--eval-sequences=2"),
)


def commands(folder: Path) -> dict[str, list[str]]:
    """The command lines that write every kind of file, in their order."""
    texts = [str(folder / f"{name}.txt") for name in ("train", "valid")]
    return {
        "stories": [f"--out={folder}", "--train=40", "--valid=3"],
        "encode": [*texts, f"--out={folder}", "--vocab-size=300", "--workers=1"],
        "train": [f"--data={folder}", f"--out={folder / 'run'}", *SMALL_RUN, "--resume"],
        "plot": [str(folder / "run"), f"--out={folder / 'picture'}"],
    }


MAINS = {"stories": stories.main, "encode": encode.main, "train": train.main, "plot": plot.main}


def require_whole(path: Path) -> None:
    """Read a file as those who use it do."""
    if path.suffix == ".json":
        read_json(path)
    elif path.suffix == ".jsonl":
        read_metrics(path.parent)
    elif path.suffix == ".npy":
        np.load(path)
    elif path.suffix == ".pt":
        read_checkpoint(path)
    elif path.suffix == ".svg":
        ET.parse(path)  # noqa: S314 - written here
    elif path.suffix == ".png":
        assert path.read_bytes().endswith(b"IEND\xaeB`\x82")
    elif path.name == "merges.txt":
        load_tokenizer(path.parent)
    else:
        assert path.read_text(encoding="utf-8").endswith(END_OF_TEXT)


@pytest.mark.parametrize("name", MAINS)
def test_a_disk_that_is_full_at_any_file_costs_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each time the command names the file, no file is cut short, and with room it finishes."""
    lines = commands(tmp_path)
    for before in list(MAINS)[: list(MAINS).index(name)]:
        assert MAINS[before](lines[before]) == 0
    capsys.readouterr()
    refused = set()
    for limit in (0, 50, 300, 1000, 3000, 6000, 10_000, 15_000, 20_000, 30_000, 60_000):
        with files_up_to(limit):
            status = MAINS[name](lines[name])
        said = capsys.readouterr().err
        assert status == (1 if said else 0)
        if said:
            refused.add(re.search(r"File too large: '(.*?)'", said)[1])  # type: ignore[index]
        for path in tmp_path.rglob("*"):
            if path.is_file() and ".unfinished" not in path.name:
                require_whole(path)
    assert MAINS[name](lines[name]) == 0
    assert all(path.startswith(str(tmp_path)) for path in refused)
    assert refused
    assert not list(tmp_path.rglob("*.unfinished*"))


def write_half(path: Path, error: BaseException) -> None:
    """Begin to write and fail."""
    with replacing(path) as file:
        file.write(b"half")
        raise error


def test_a_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """Whichever error ends the writing, and nothing half written stays beside it."""
    path = tmp_path / "file.txt"
    write_text(path, "old")
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("bad")):
        with pytest.raises(type(error)):
            write_half(path, error)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["missing/file.txt", "folder"])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    """In the system's words, and not by the name that it has while it is written."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=rf"\[Errno \d+\] [\w ]+: '{tmp_path / name}'$"):
        write_text(tmp_path / name, "text")


ANY_TEXT = st.text() | st.text(alphabet="a\x0a\x0b\x0c\x0d\x1c\x1d\x1e\x85\u2028\u2029")


@given(samples=st.lists(ANY_TEXT, max_size=4))
def test_metrics_come_back_whatever_text_is_in_them(
    tmp_path_factory: pytest.TempPathFactory, samples: list[str]
) -> None:
    """A sample may hold any character, also one that ends a line for some programs."""
    run = Run(tmp_path_factory.mktemp("run"), keep=1)
    entries = [
        {"step": step, "seconds": 0.5, "sample": sample} for step, sample in enumerate(samples)
    ]
    run.forget_after(0)
    for entry in entries:
        run.record(entry)
    assert read_metrics(run.folder) == entries
    for cut in range(1, 12):
        content = run.metrics.read_bytes()
        run.metrics.write_bytes(content[:-cut])
        assert read_metrics(run.folder) == entries[: len(entries) - (cut > 1)]
        run.metrics.write_bytes(content)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"is no JSON: .*correct it, or make it again"),
        (b"[" * 100_000, "is no JSON"),
        (b"[1]", "must hold one JSON object, not list"),
        (b'{"a": "caf\xe9"}', "is not UTF-8: byte 0xe9 at offset 10"),
        (b"", "is no JSON"),
    ],
)
def test_what_is_no_json_object_is_told_with_its_name(
    tmp_path: Path, content: bytes, message: str
) -> None:
    """And with what to do."""
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as raised:
        read_json(path)
    assert str(path) in str(raised.value)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    """Editors on Windows write one."""
    path = tmp_path / "config.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\r\n')
    assert read_json(path) == {"a": 1}
