"""Weights in and out of Hugging Face's layout, beside transformers itself."""

import importlib
import json
import shutil
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save, save_file

from cs336_basics import hub
from cs336_basics.checkpoint import load_model, save_checkpoint
from cs336_basics.families import build_model
from cs336_basics.generate import TINY_MODEL
from cs336_basics.generate import main as generate_command
from cs336_basics.generation import GenerationConfig, generate
from cs336_basics.hub_layouts import halves_from_pairs, pairs_from_halves
from cs336_basics.model import DecoderLM
from cs336_basics.optimizer import AdamW
from cs336_basics.training.tokens import END_OF_TEXT, load_tokenizer
from grader_tests.unit.test_gpt_transformers import with_drawn_weights
from grader_tests.unit.training_runs import prepared

VOCAB_SIZE = 300
SHARED = {"vocab_size": VOCAB_SIZE, "context_length": 24, "num_layers": 2, "d_ff": 20}
OURS: dict[str, dict[str, Any]] = {
    **{
        f"modern-{kv_heads}-{'tied' if tied else 'untied'}": {
            **SHARED,
            "family": "modern",
            "d_model": 24,
            "num_heads": 4,
            "rope_theta": 100.0,
            "num_kv_heads": kv_heads,
            "tie_weights": tied,
        }
        for kv_heads, tied in product((4, 2, 1), (False, True))
    },
    **{
        f"classic-{positions}-{'tied' if tied else 'untied'}-{'tanh' if tanh else 'exact'}": {
            **SHARED,
            "family": "classic",
            "d_model": 24,
            "num_heads": 3,
            "tie_weights": tied,
            "positions": positions,
            "approximate_gelu": tanh,
            "dropout": 0.1,
        }
        for positions, tied, tanh in product(
            ("learned", "sinusoidal"), (True, False), (True, False)
        )
    },
}
THEIRS: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 24, "n_layer": 2, "n_head": 3, "n_positions": 24},
    "gpt2-exact": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 24, "n_inner": 7},
    "gpt2-untied": {"n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": 24},
    "llama": {"num_key_value_heads": 4},
    "llama-grouped": {"num_key_value_heads": 2, "tie_word_embeddings": True},
    "llama-one": {"num_key_value_heads": 1, "num_hidden_layers": 3},
}
THEIRS["gpt2-exact"]["activation_function"] = "gelu"
THEIRS["gpt2-untied"]["tie_word_embeddings"] = False


@pytest.fixture(scope="module")
def transformers() -> Any:
    """The library, which takes seconds to import, for those tests alone that need it."""
    return importlib.import_module("transformers")


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a vocabulary of 300 tokens."""
    return prepared(tmp_path_factory.mktemp("data"))


def saved(sizes: dict[str, Any], vocabulary: Path, folder: Path) -> Path:
    """A checkpoint of a model with drawn weights, and what belongs beside it."""
    torch.manual_seed(0)
    model = with_drawn_weights(build_model(sizes))
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(sizes))
    for name in hub.VOCABULARY:
        shutil.copy(vocabulary / name, folder)
    save_checkpoint(model, AdamW(model.parameters()), 0, folder / "best.pt")
    return folder / "best.pt"


def opened(folder: Path, name: str) -> DecoderLM:
    """Our model of a folder."""
    model = build_model(json.loads((folder / "config.json").read_text()))
    load_model(folder / name, model)
    return model.eval()


def assert_same_model(ours: DecoderLM, theirs: Any) -> None:
    """The same logits for any tokens, and the same greedy text after any prompt."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(VOCAB_SIZE, (3, 24), generator=generator)
    theirs.eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(ids), theirs(ids).logits, rtol=1e-4, atol=1e-4)
    prompt = ids[:1, :4]
    new = generate(ours, prompt, GenerationConfig(max_new_tokens=16, temperature=0))
    told = theirs.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=16,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
    )
    assert new == told[:, 4:].tolist()


@pytest.mark.parametrize("name", OURS)
def test_what_is_exported_is_the_same_in_transformers(
    transformers: Any, vocabulary: Path, tmp_path: Path, name: str
) -> None:
    """Logits and greedy text; and imported again, it is the same here."""
    checkpoint = saved(OURS[name], vocabulary, tmp_path / "ours")
    ours = opened(tmp_path / "ours", "best.pt")
    assert hub.main(["export", str(checkpoint), f"--out={tmp_path / 'theirs'}"]) == 0
    theirs, loading = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / "theirs", output_loading_info=True
    )
    assert not any(loading[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert_same_model(ours, theirs)
    assert hub.main(["import", str(tmp_path / "theirs"), f"--out={tmp_path / 'again'}"]) == 0
    assert_same_model(opened(tmp_path / "again", "model.pt"), theirs)


@pytest.mark.parametrize("name", THEIRS)
def test_what_is_imported_is_the_same_as_in_transformers(
    transformers: Any, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Models of random weights that transformers itself has saved."""
    torch.manual_seed(0)
    common = {"vocab_size": VOCAB_SIZE, "bos_token_id": None, "eos_token_id": None}
    if name.startswith("gpt2"):
        model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**common, **THEIRS[name]))
    else:
        sizes: dict[str, Any] = {
            "hidden_size": 32,
            "num_attention_heads": 4,
            "intermediate_size": 24,
        }
        sizes |= {"num_hidden_layers": 2, "max_position_embeddings": 24, "rms_norm_eps": 1e-5}
        config = transformers.LlamaConfig(**common, **(sizes | THEIRS[name]))
        model = transformers.LlamaForCausalLM(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    model.save_pretrained(tmp_path / "theirs")
    capsys.readouterr()
    assert hub.main(["import", str(tmp_path / "theirs"), f"--out={tmp_path / 'ours'}"]) == 0
    assert_same_model(opened(tmp_path / "ours", "model.pt"), model)
    assert capsys.readouterr().out == f"{tmp_path / 'ours'}\n"


def test_files_as_gpt2_was_published_are_read(transformers: Any, tmp_path: Path) -> None:
    """Names without a prefix, masks among the tensors, several files, half precision."""
    torch.manual_seed(0)
    sizes = THEIRS["gpt2"]
    config = transformers.GPT2Config(
        vocab_size=VOCAB_SIZE, bos_token_id=None, eos_token_id=None, **sizes
    )
    model = transformers.GPT2LMHeadModel(config).half().float()
    model.save_pretrained(tmp_path / "theirs")
    path = tmp_path / "theirs" / "model.safetensors"
    tensors = {
        name.removeprefix("transformer."): tensor.half() for name, tensor in load_file(path).items()
    }
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 24, 24).half()
    names = sorted(tensors)
    path.unlink()
    for number, part in enumerate((names[:5], names[5:]), start=1):
        save_file(
            {name: tensors[name] for name in part}, path.with_name(f"model-{number}.safetensors")
        )
    settings = tmp_path / "theirs" / "config.json"
    published = {"activation_function": "gelu_new", "model_type": "gpt2", "n_ctx": 24, **sizes}
    settings.write_text(json.dumps({**published, "vocab_size": VOCAB_SIZE}))
    assert hub.main(["import", str(tmp_path / "theirs"), f"--out={tmp_path / 'ours'}"]) == 0
    assert_same_model(opened(tmp_path / "ours", "model.pt"), model)


def test_the_vocabulary_goes_with_the_weights(
    transformers: Any, vocabulary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Transformers' tokenizer gives the same ids, and generate has all that it needs."""
    checkpoint = saved(OURS["modern-2-untied"], vocabulary, tmp_path / "ours")
    assert hub.main(["export", str(checkpoint), f"--out={tmp_path / 'theirs'}"]) == 0
    text = f"Once upon a time, Tom's dog naïvely barked 42 times.{END_OF_TEXT}\n  The end."
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    assert tokenizer.encode(text) == load_tokenizer(vocabulary).encode(text)
    assert hub.main(["import", str(tmp_path / "theirs"), f"--out={tmp_path / 'again'}"]) == 0
    told = []
    for path in (checkpoint, tmp_path / "again" / "model.pt"):
        capsys.readouterr()
        assert generate_command(["Once", f"--checkpoint={path}", "--temperature=0"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]


def test_the_tiny_model_goes_to_transformers(transformers: Any, tmp_path: Path) -> None:
    """It is saved in half precision, and both compute with it in single precision."""
    assert hub.main(["export", str(TINY_MODEL), f"--out={tmp_path}"]) == 0
    theirs = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    ours = opened(TINY_MODEL.parent, TINY_MODEL.name)
    assert {parameter.dtype for parameter in theirs.parameters()} == {torch.float32}
    assert_same_model(ours, theirs)


def test_rows_of_heads_come_back() -> None:
    """A head of six features is 0, 2, 4, 1, 3, 5 there."""
    rows = torch.arange(12).unsqueeze(-1)
    there = halves_from_pairs(rows, 2)
    assert there.flatten().tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    assert torch.equal(pairs_from_halves(there, 2), rows)


LLAMA = {"model_type": "llama", "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 5}
REFUSED: dict[str, dict[str, Any]] = {
    "of the model_type 'bert', not gpt2 or llama": {"model_type": "bert"},
    "of the model_type None": {},
    "has rms_norm_eps = 1e-06, and this model 1e-05": {**LLAMA, "rms_norm_eps": 1e-6},
    "has hidden_act = 'gelu', and this model 'silu'": {**LLAMA, "hidden_act": "gelu"},
    "has attention_bias = True": {**LLAMA, "attention_bias": True},
    "rope_type = 'llama3' is not": {
        **LLAMA,
        "rope_parameters": {"rope_type": "llama3", "rope_theta": 1.0},
    },
    "head_dim = 16 must be": {**LLAMA, "head_dim": 16},
    "has no 'max_position_embeddings' in its configuration": LLAMA,
    "activation_function = 'relu' is not": {"model_type": "gpt2", "activation_function": "relu"},
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_model_that_ours_cannot_be_is_refused(
    tmp_path: Path, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the setting, and nothing is written."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(REFUSED[message]))
    content = save({"model.embed_tokens.weight": torch.zeros(5, 8)})
    (folder / "model.safetensors").write_bytes(content)
    assert hub.main(["import", str(folder), f"--out={tmp_path / 'ours'}"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert message in line
    assert str(folder) in line
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 100])
def test_tensors_that_cannot_be_read_are_told(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is missing or damaged."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    assert hub.main(["import", str(tmp_path), f"--out={tmp_path / 'ours'}"]) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "safetensors" in line
    assert ("is damaged" in line) == (content is not None)


def test_nothing_is_overwritten(
    vocabulary: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that holds anything is refused, the source's own, for instance."""
    checkpoint = saved(OURS["modern-4-tied"], vocabulary, tmp_path / "ours")
    before = {path.name: path.read_bytes() for path in (tmp_path / "ours").iterdir()}
    assert hub.main(["export", str(checkpoint), f"--out={tmp_path / 'ours'}"]) == 1
    assert "is not empty: choose a new folder" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "ours").iterdir()} == before
