"""The reference: what bad input is told, and what neither a crash nor a machine may change."""

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cs336_basics.checkpoint import load_checkpoint, save_checkpoint
from cs336_basics.data import get_batch
from cs336_basics.model import Embedding, Linear, TransformerLM, cross_entropy
from cs336_basics.optimizer import AdamW
from cs336_basics.pretokenization import count_pretokens, count_pretokens_in_file
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.train_bpe import train_bpe

BYTES = {byte: bytes([byte]) for byte in range(256)}
TEXT = "the cat<|end|>the hat \n\n  that\r\nthé 那 cat<|en" * 20


def language_model(**sizes: Any) -> TransformerLM:
    """Build a small model."""
    small = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 8}
    return TransformerLM(vocab_size=10, context_length=4, rope_theta=100.0, **small | sizes)


@pytest.mark.parametrize("token_id", [-1, 10])
def test_an_id_outside_the_vocabulary_is_named(token_id: int) -> None:
    """An embedding names the id that it has no vector for, also a negative one."""
    with pytest.raises(ValueError, match=rf"{token_id}\b.*vocabulary of 10"):
        Embedding(10, 4)(torch.tensor([3, token_id]))


def test_a_sequence_longer_than_the_context_is_refused() -> None:
    """A model says how long its context is."""
    with pytest.raises(ValueError, match="5 tokens are more than the context of 4"):
        language_model()(torch.zeros(1, 5, dtype=torch.int64))


def test_an_odd_width_cannot_be_paired() -> None:
    """A model with RoPE says that it needs pairs."""
    with pytest.raises(ValueError, match="heads of 5 features: RoPE turns pairs"):
        language_model(d_model=10, num_heads=2)


def test_heads_must_divide_the_model() -> None:
    """A model with heads of unequal width is refused."""
    with pytest.raises(ValueError, match="d_model = 10 cannot be divided among 3 heads"):
        language_model(d_model=10, num_heads=3)


def test_heads_that_share_keys_must_divide_the_heads() -> None:
    """Three query heads cannot share two heads of keys and values."""
    with pytest.raises(ValueError, match="3 heads cannot share 2 of keys and values"):
        language_model(d_model=12, num_heads=3, num_kv_heads=2)


def test_targets_of_another_shape_are_refused() -> None:
    """Targets that would broadcast silently are refused."""
    with pytest.raises(ValueError, match=r"targets of shape \(1,\)"):
        cross_entropy(torch.zeros(3, 5), torch.zeros(1, dtype=torch.int64))


@pytest.mark.parametrize("bad", [{"lr": -1.0}, {"eps": -1.0}, {"weight_decay": -0.1}])
def test_hyperparameters_outside_their_range_are_named(bad: dict[str, float]) -> None:
    """AdamW names the hyperparameter that makes no sense."""
    with pytest.raises(ValueError, match=next(iter(bad))):
        AdamW([torch.nn.Parameter(torch.zeros(1))], **bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("betas", [(1.0, 0.9), (0.9, -0.1)])
def test_betas_outside_their_range_are_refused(betas: tuple[float, float]) -> None:
    """A beta of 1 would divide by zero."""
    with pytest.raises(ValueError, match="betas"):
        AdamW([torch.nn.Parameter(torch.zeros(1))], betas=betas)


def test_a_dataset_without_room_for_a_target_is_refused() -> None:
    """The message says how many tokens are needed."""
    with pytest.raises(ValueError, match=r"4 tokens are too few.*at least 5"):
        get_batch(np.arange(4), 2, 4)


@pytest.mark.parametrize("dataset", [np.zeros((4, 4), dtype=np.int64), np.zeros(9)])
def test_a_dataset_that_is_no_row_of_integers_is_refused(dataset: np.ndarray) -> None:
    """Neither a matrix nor floating-point numbers are token ids in a row."""
    with pytest.raises(ValueError, match="one row of integers"):
        get_batch(dataset, 2, 3)


def saved_run(tmp_path: Path) -> tuple[Path, Linear, AdamW]:
    """Save a small run; give its path, model and optimizer."""
    model = Linear(3, 2)
    optimizer = AdamW(model.parameters())
    path = tmp_path / "run.pt"
    save_checkpoint(model, optimizer, 7, path)
    return path, model, optimizer


def test_a_failed_write_leaves_the_last_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that dies while it saves can be resumed from the save before, and leaves no litter."""
    path, model, optimizer = saved_run(tmp_path)

    def write_half(_: object, file: io.BufferedWriter) -> None:
        file.write(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(torch, "save", write_half)
    with pytest.raises(OSError, match="disk full"):
        save_checkpoint(model, optimizer, 8, path)
    assert load_checkpoint(path, model, optimizer) == 7
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_checkpoint_is_named(tmp_path: Path) -> None:
    """The path that does not exist is in the message."""
    _, model, optimizer = saved_run(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no checkpoint at .*absent\.pt"):
        load_checkpoint(tmp_path / "absent.pt", model, optimizer)


@pytest.mark.parametrize(
    "content", [b"", b"no checkpoint at all", b"PK\x03\x04 half an archive", b".", b"K\x01K\x02s."]
)
def test_a_file_that_is_no_checkpoint_is_refused(tmp_path: Path, content: bytes) -> None:
    """Whatever torch makes of the bytes, the message says what they are not."""
    path, model, optimizer = saved_run(tmp_path)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no checkpoint"):
        load_checkpoint(path, model, optimizer)
    with pytest.raises(ValueError, match="the file object is no checkpoint"):
        load_checkpoint(io.BytesIO(content), model, optimizer)


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    """A checkpoint cut short is refused."""
    path, model, optimizer = saved_run(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="is no checkpoint"):
        load_checkpoint(path, model, optimizer)


@pytest.mark.parametrize(
    "content",
    [
        {"weight": torch.zeros(2, 3)},
        [1, 2, 3],
        {"model": [1], "optimizer": {}, "iteration": 0},
        {"model": {"weight": 1}, "optimizer": {}, "iteration": 0},
        {"model": {}, "optimizer": [1], "iteration": 0},
        {"model": {}, "optimizer": {}, "iteration": "0"},
    ],
)
def test_another_file_of_torch_is_refused(tmp_path: Path, content: object) -> None:
    """A state dict alone is not a run."""
    path, model, optimizer = saved_run(tmp_path)
    torch.save(content, path)
    with pytest.raises(ValueError, match="no checkpoint of model, optimizer and iteration"):
        load_checkpoint(path, model, optimizer)


def test_an_optimizer_of_another_kind_is_refused(tmp_path: Path) -> None:
    """An optimizer's entry that is no optimizer's state does not fit."""
    path, model, optimizer = saved_run(tmp_path)
    torch.save({"model": model.state_dict(), "optimizer": {"state": 3}, "iteration": 0}, path)
    with pytest.raises(ValueError, match="does not fit the optimizer"):
        load_checkpoint(path, model, optimizer)


def test_code_in_a_checkpoint_does_not_run(tmp_path: Path) -> None:
    """A checkpoint from someone else cannot execute anything."""
    path, model, optimizer = saved_run(tmp_path)
    torch.save({"model": Path, "optimizer": {}, "iteration": 0}, path)
    with pytest.raises(ValueError, match="is no checkpoint"):
        load_checkpoint(path, model, optimizer)


def test_a_checkpoint_of_another_model_names_the_keys(tmp_path: Path) -> None:
    """Missing, surplus and misshapen parameters are named, and nothing is changed."""
    path, _, _ = saved_run(tmp_path)
    model = torch.nn.ModuleDict({"a": Linear(3, 2)})
    optimizer = AdamW(model.parameters())
    with pytest.raises(ValueError, match=r"a\.weight is missing; weight is not in the model"):
        load_checkpoint(path, model, optimizer)
    wider = Linear(4, 2)
    before = wider.weight.clone()
    with pytest.raises(ValueError, match=r"weight is \(2, 3\) in the checkpoint, \(2, 4\) in the"):
        load_checkpoint(path, wider, AdamW(wider.parameters()))
    assert torch.equal(wider.weight, before)


def test_a_checkpoint_of_another_optimizer_changes_nothing(tmp_path: Path) -> None:
    """A model is not half restored when its optimizer does not fit."""
    path, model, _ = saved_run(tmp_path)
    groups = [{"params": [model.weight]}, {"params": [torch.nn.Parameter(torch.zeros(1))]}]
    other = Linear(3, 2)
    before = other.weight.clone()
    with pytest.raises(ValueError, match="does not fit the optimizer"):
        load_checkpoint(path, other, AdamW(groups))
    assert torch.equal(other.weight, before)


def test_a_vocabulary_smaller_than_its_base_is_refused(tmp_path: Path) -> None:
    """The message says how large it must be; special tokens given twice count once."""
    path = tmp_path / "text.txt"
    path.write_text("a", encoding="utf-8")
    with pytest.raises(ValueError, match="must be at least 258"):
        train_bpe(path, 257, ["<a>", "<b>", "<a>"])
    vocab, merges = train_bpe(path, 258, ["<a>", "<b>", "<a>"])
    assert (vocab[0], vocab[1], len(vocab), merges) == (b"<a>", b"<b>", 258, [])


def test_an_empty_text_gives_the_base_vocabulary(tmp_path: Path) -> None:
    """Special tokens, then the bytes, and nothing to merge."""
    path = tmp_path / "text.txt"
    path.touch()
    assert train_bpe(path, 1000, ["<a>"]) == ({0: b"<a>"} | {i + 1: BYTES[i] for i in BYTES}, [])


def test_a_missing_text_is_named(tmp_path: Path) -> None:
    """The path that does not exist is in the message."""
    with pytest.raises(FileNotFoundError, match=r"absent\.txt"):
        train_bpe(tmp_path / "absent.txt", 300, [])


def test_text_that_is_not_utf8_is_refused_with_its_place(tmp_path: Path) -> None:
    """The offset counts from the start of the file, whatever was read at once."""
    path = tmp_path / "text.txt"
    path.write_bytes(b"fine words " * 50 + b"caf\xe9 ")
    with pytest.raises(ValueError, match="is not UTF-8: byte 0xe9 at offset 553"):
        count_pretokens_in_file(path, [], num_workers=1, chunk_bytes=100)


@pytest.mark.parametrize(
    "call", [lambda: Tokenizer(BYTES, [], [""]), lambda: count_pretokens("", [""])]
)
def test_an_empty_special_token_is_refused(call: object) -> None:
    """It would match everywhere."""
    assert callable(call)
    with pytest.raises(ValueError, match="special token must have at least one character"):
        call()


@pytest.mark.parametrize("chunk_bytes", [1, 7, 50, 10**6])
def test_cutting_the_file_changes_no_count(tmp_path: Path, chunk_bytes: int) -> None:
    """Neither pre-tokens nor special tokens, also ones with blanks, are cut."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    for special_tokens in [[], ["<|end|>", "<|en"], ["cat<", "hat \n", " cat"]]:
        counts = count_pretokens_in_file(path, special_tokens, 1, chunk_bytes)
        assert counts == count_pretokens(TEXT, special_tokens)


def test_workers_change_no_count(tmp_path: Path) -> None:
    """Several processes count what one counts."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    counts = [count_pretokens_in_file(path, ["<|end|>"], workers, 200) for workers in (1, 3)]
    assert counts[0] == counts[1]


def test_hash_seeds_change_no_merge(tmp_path: Path) -> None:
    """The order in which Python walks sets decides nothing."""
    path = tmp_path / "text.txt"
    path.write_bytes(TEXT.encode())
    program = (
        "import sys; from cs336_basics.train_bpe import train_bpe; "
        "print(train_bpe(sys.argv[1], 320, ['<|end|>']))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program, path],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


def test_an_unknown_id_is_named() -> None:
    """Decoding names the id."""
    with pytest.raises(ValueError, match="token id 256 is not in the vocabulary of 256"):
        Tokenizer(BYTES, []).decode([1, 256])


def test_a_byte_that_the_vocabulary_lacks_is_named() -> None:
    """Encoding names the byte and the text it is in."""
    with pytest.raises(ValueError, match=r"no token b'b' and cannot encode ' b'"):
        Tokenizer({0: b"a", 1: b" "}, []).encode("a b")


def test_files_give_back_the_same_tokenizer(tmp_path: Path) -> None:
    """Every byte survives the files, and so do special tokens with blanks and line ends."""
    special_tokens = ["<|end of\n text|>", "é那", "<|end|>"]
    text = tmp_path / "text.txt"
    text.write_bytes(TEXT.encode())
    tokenizer = Tokenizer(*train_bpe(text, 330, special_tokens), special_tokens)
    tokenizer.save(tmp_path / "vocab.json", tmp_path / "merges.txt")
    copy = Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", special_tokens)
    assert (copy.vocab, copy.merges) == (tokenizer.vocab, tokenizer.merges)
    assert copy.encode(TEXT) == tokenizer.encode(TEXT)


def test_a_token_with_two_ids_cannot_be_saved(tmp_path: Path) -> None:
    """The file format has room for one id a token; nothing is written."""
    with pytest.raises(ValueError, match="b'a' has more than one id"):
        Tokenizer({**BYTES, 256: b"a"}, []).save(tmp_path / "vocab.json", tmp_path / "merges.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("vocab", "merges", "message"),
    [
        ("{", "", r"vocab\.json is no vocabulary file"),
        ("[]", "", r"vocab\.json is no vocabulary file: it must be one JSON object"),
        ('{"a": "0"}', "", r"vocab\.json is no vocabulary file: it must be one JSON object"),
        ('{"a": 0, "b": 0}', "", r"vocab\.json is no vocabulary file: two tokens"),
        ('{"那": 0}', "", r"vocab\.json is no vocabulary file: .*stands for no byte"),
        ('{"a": 0}', "#version: 0.2\na\n", r"merges\.txt is no merges file: line 2"),
        ('{"a": 0}', "#version: 0.2\na a\n", r"merges\.txt merges b'a' and b'a', but .* no token"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, vocab: str, merges: str, message: str) -> None:
    """The message tells which file is damaged and how."""
    (tmp_path / "vocab.json").write_text(vocab, encoding="utf-8")
    (tmp_path / "merges.txt").write_text(merges, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")


def test_a_missing_vocabulary_is_named(tmp_path: Path) -> None:
    """The path that does not exist is in the message."""
    with pytest.raises(FileNotFoundError, match=r"vocab\.json"):
        Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt")
