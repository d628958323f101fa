"""The checks before a run is resumed.

A resumed run has the result of one that was never stopped. So each option that would change the
result is refused by name. Where a side file is missing, its options are not compared.
"""

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cs336_basics.families import present_name
from cs336_basics.files import read_json
from cs336_basics.tokenizer import Tokenizer
from cs336_basics.training.tokens import load_tokenizer

# Options that do not change the result.
FREE_OPTIONS = frozenset(
    {
        *("data", "out", "threads", "wandb", "resume", "accept_changes"),
        *("checkpoint_every", "keep", "prompt", "sample_tokens"),
    }
)
# They change the rounding alone, but also the numbers that dropout draws.
FREE_WITHOUT_DROPOUT = frozenset({"device", "fused", "compile", "accumulation"})


def require_vocabulary_of_run(folder: Path, tokenizer: Tokenizer) -> None:
    """Refuse another vocabulary, even of the same size: ids would stand for other tokens.

    Raises:
        ValueError: the run's vocabulary is another one, or its files are damaged.
    """
    if not all((folder / name).exists() for name in ("vocab.json", "merges.txt")):
        return
    with advising():
        saved = load_tokenizer(folder)
    if (saved.vocab, saved.merges) != (tokenizer.vocab, tokenizer.merges):
        raise ValueError(
            f"{folder} is a run with another vocabulary: take the token files that it was begun "
            "with (--data), or choose another folder with --out"
        )


def require_same_run(
    folder: Path, described: Mapping[str, Mapping[str, Any]], *, accept_changes: bool
) -> None:
    """Refuse to resume a run whose side files describe another one.

    Args:
        folder: The run's.
        described: The content of run.json, config.json and data.json for the run that is asked for.
        accept_changes: Allow other options and other text; another model is refused even so.

    Raises:
        ValueError: names everything that differs.
    """
    saved = {name: saved_object(folder / name) for name in described}
    # run.json has the model, too, but without the values that are left to defaults.
    chosen = saved["run.json"].pop("model", {})
    model = saved["config.json"] or {k: v for k, v in chosen.items() if v is not None}
    wanted = described["config.json"]
    free = FREE_OPTIONS if wanted.get("dropout") else FREE_OPTIONS | FREE_WITHOUT_DROPOUT
    others = changes(model, wanted, free, "model.")
    for name in ("run.json", "data.json"):
        others += [] if accept_changes else changes(saved[name], described[name], free)
    if others:
        raise ValueError(
            f"{folder} is another run: {'; '.join(others)}. Repeat its options, which "
            f"{folder / 'run.json'} has, or choose another folder with --out; --accept-changes "
            "goes on all the same, but not with another model"
        )


def changes(
    saved: Mapping[str, Any], wanted: Mapping[str, Any], free: Container[str], prefix: str = ""
) -> list[str]:
    """Return a line for each option that differs and is not free."""
    lines = []
    for key, value in wanted.items():
        name, before = f"{prefix}{key}", saved.get(key, value)
        before = present_name(before) if key == "family" else before
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            lines += changes(before, value, free, f"{name}.")
        elif before != value and name not in free:
            lines.append(f"{name} is {before!r} in the run and {value!r} now")
    return lines


def saved_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a side file, empty where the file is missing."""
    with advising():
        return read_json(path) if path.exists() else {}


@contextmanager
def advising() -> Iterator[None]:
    """Add to an error of a side file that the run can be resumed without it.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{error}. Without the file, --resume goes on and writes it") from error
