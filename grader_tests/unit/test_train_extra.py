"""The message of each command where the extra training is not installed."""

import importlib
import sys

import pytest

from cs336_basics.training.extra import extra_training


@pytest.mark.parametrize(
    ("command", "package", "needing"),
    [
        ("train", "tyro", "cs336_basics.training.config"),
        ("encode", "rich.progress", None),
        ("hub", "safetensors", None),
        ("plot", "matplotlib", "cs336_basics.training.curves"),
    ],
)
def test_a_missing_extra_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, command: str, package: str, needing: str | None
) -> None:
    """In a sentence, and without a traceback."""
    module = importlib.import_module(f"cs336_basics.{command}")
    monkeypatch.setitem(sys.modules, package, None)
    if needing is not None:
        monkeypatch.delitem(sys.modules, needing)
    name = package.partition(".")[0]
    expected = rf"{name} is not installed: .* uv sync --extra training, or pip install"
    with pytest.raises(SystemExit, match=expected):
        importlib.reload(module)


def test_any_other_package_is_no_matter_of_the_extra() -> None:
    """Other missing packages raise Python's own error."""
    with pytest.raises(ModuleNotFoundError), extra_training():
        importlib.import_module("cs336_basics.no_such_module")
