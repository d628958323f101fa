"""Weights in and out of Hugging Face's layout, for use with transformers.

    uv run python -m cs336_basics.hub export runs/stories/best.pt --out FOLDER
    uv run python -m cs336_basics.hub import FOLDER --out runs/gpt2

A classic model becomes a GPT-2, a modern one a Llama, and the other way. GPT-2's vocabulary goes
with it; Llama's own vocabularies are of another kind than this project's.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from cs336_basics.checkpoint import read_checkpoint, require_fit, save_checkpoint
from cs336_basics.families import build_model, present_name
from cs336_basics.files import read_json, replacing, write_json
from cs336_basics.hub_layouts import FIXED, from_gpt2, from_llama, to_gpt2, to_llama
from cs336_basics.optimizer import AdamW
from cs336_basics.training.command_line import in_words
from cs336_basics.training.extra import extra_training
from cs336_basics.training.tokens import END_OF_TEXT, load_tokenizer

with extra_training():
    import safetensors
    import safetensors.torch

VOCABULARY = ("vocab.json", "merges.txt")


def main(arguments: Sequence[str] | None = None) -> int:
    """Export or import."""
    parser = argparse.ArgumentParser(
        prog="python -m cs336_basics.hub",
        description="Weights in and out of Hugging Face's layout (GPT-2 and Llama).",
    )
    commands = parser.add_subparsers(required=True)
    export = commands.add_parser("export", help="a checkpoint to a folder for transformers")
    export.add_argument("source", type=Path, help="with config.json and its vocabulary beside it")
    export.set_defaults(convert=export_checkpoint)
    import_ = commands.add_parser("import", help="such a folder to a checkpoint, model.pt")
    import_.add_argument("source", type=Path, help="a folder with config.json and *.safetensors")
    import_.set_defaults(convert=import_folder)
    for each in (export, import_):
        each.add_argument("--out", type=Path, required=True, help="a folder that is new or empty")
    options = parser.parse_args(arguments)

    def command() -> int:
        if options.out.exists() and any(options.out.iterdir()):
            raise ValueError(f"{options.out} is not empty: choose a new folder with --out")
        options.convert(options.source, options.out)
        sys.stdout.write(f"{options.out}\n")
        return 0

    return in_words("hub", command)


def export_checkpoint(checkpoint: Path, out: Path) -> None:
    """Write a folder that transformers' from_pretrained reads.

    Raises:
        OSError: a file is missing, or one cannot be written.
        ValueError: a file is damaged.
    """
    sizes = read_json(checkpoint.parent / "config.json")
    saved = read_checkpoint(checkpoint)["model"]
    weights = {name: tensor.float() for name, tensor in saved.items()}
    require_fit(build_model(sizes).state_dict(), weights)
    to_layout = to_llama if present_name(sizes["family"]) == "modern" else to_gpt2
    config, tensors = to_layout(sizes, weights)
    end_of_text = load_tokenizer(checkpoint.parent).special_ids[END_OF_TEXT]
    config |= {"bos_token_id": end_of_text, "eos_token_id": end_of_text}
    out.mkdir(parents=True, exist_ok=True)
    copy_vocabulary(checkpoint.parent, out)
    write_json(out / "tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer"})
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    with replacing(out / "model.safetensors") as file:
        # Without the metadata, transformers does not know whose tensors these are.
        file.write(safetensors.torch.save(whole, metadata={"format": "pt"}))
    write_json(out / "config.json", config)


def import_folder(folder: Path, out: Path) -> None:
    """Write model.pt, config.json and the vocabulary, for generate and to train on from.

    Raises:
        OSError: a file is missing, or one cannot be written.
        ValueError: a file is damaged, or our models lack what this one needs.
    """
    sizes, weights = read_folder(folder)
    model = build_model(sizes)
    require_fit(model.state_dict(), weights)
    model.load_state_dict(weights)
    out.mkdir(parents=True, exist_ok=True)
    copy_vocabulary(folder, out)
    save_checkpoint(model, AdamW(model.parameters()), 0, out / "model.pt")
    write_json(out / "config.json", sizes)


def read_folder(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the arguments of our model and its weights, from a folder of Hugging Face's layout.

    Raises:
        OSError: a file is missing.
        ValueError: a file is damaged, or our models lack what this one needs.
    """
    path = folder / "config.json"
    config = read_json(path)
    kind = config.get("model_type")
    if kind not in FIXED:
        raise ValueError(f"{path} is of the model_type {kind!r}, not {' or '.join(FIXED)}")
    for name, value in FIXED[kind].items():
        if config.get(name, value) != value:
            raise ValueError(f"{path} has {name} = {config[name]!r}, and this model {value!r}")
    try:
        return (from_gpt2 if kind == "gpt2" else from_llama)(config, read_tensors(folder))
    except KeyError as error:
        raise ValueError(f"{folder} has no {error} in its configuration or tensors") from error
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of a folder's files in float32."""
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise FileNotFoundError(f"there is no *.safetensors in {folder}")
    tensors: dict[str, Tensor] = {}
    for path in paths:
        try:
            tensors |= safetensors.torch.load_file(path)
        except safetensors.SafetensorError as error:
            raise ValueError(f"{path} is damaged: {error}; fetch it again") from error
    return {name: tensor.float() for name, tensor in tensors.items()}


def copy_vocabulary(source: Path, out: Path) -> None:
    """Copy vocab.json and merges.txt, where both exist."""
    if all((source / name).exists() for name in VOCABULARY):
        for name in VOCABULARY:
            with replacing(out / name) as file, (source / name).open("rb") as original:
                shutil.copyfileobj(original, file)


if __name__ == "__main__":
    sys.exit(main())
