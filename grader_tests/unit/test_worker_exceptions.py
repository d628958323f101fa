"""An exception of a submission is told apart: its own fault, or something not installed."""

import importlib
import sys
from pathlib import Path

import pytest

from cs336_grader.worker.exceptions import Origin, describe

FILES = {
    "mine/__init__.py": "",
    "mine/good.py": "value = 1",
    "mine/fast.pyi": "def f() -> int: ...",
    "mine/needs_package.py": "import surely_not_installed.part",
    "mine/needs_its_package.py": "import basics",
    "mine/needs_other_case.py": "import Mine.good",
    "mine/needs_name.py": "from json import surely_not_there",
    "mine/needs_own_name.py": "from mine.good import other",
    "mine/needs_own_module.py": "import mine.absent",
    "mine/needs_compiled.py": "from mine import fast",
    "mine/needs_compiled_module.py": "import mine.fast",
    "mine/wrong_syntax.py": "x = 1\nx = = 2",
    "mine/raises.py": "def f():\n    raise ValueError('\\ud800')\n\nf()",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A submission's folder, on the import path."""
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "mine"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def described(root: Path, module: str) -> dict[str, object]:
    """What is told of the exception that importing a module raises."""
    try:
        importlib.import_module(f"mine.{module}")
    except Exception as error:
        return describe(error, Origin(root, "basics"))
    raise AssertionError


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        ("needs_package", "the package surely_not_installed"),
        ("needs_its_package", None),
        ("needs_other_case", None),
        ("needs_name", "surely_not_there of json"),
        ("needs_own_name", None),
        ("needs_own_module", None),
        ("needs_compiled", "the compiled module mine.fast"),
        ("needs_compiled_module", "the compiled module mine.fast"),
        ("wrong_syntax", None),
        ("raises", None),
    ],
)
def test_what_is_missing_is_named(root: Path, module: str, missing: str | None) -> None:
    """Only what should be installed or built counts as missing."""
    assert described(root, module)["missing"] == missing


def test_places_are_the_submissions_own(root: Path) -> None:
    """Innermost last, relative to the submission; a syntax error has its line."""
    assert described(root, "raises")["places"] == ["mine/raises.py:4", "mine/raises.py:2"]
    assert described(root, "wrong_syntax")["places"] == ["mine/wrong_syntax.py:2"]


def test_text_is_plain_and_short(root: Path) -> None:
    """Whatever str() gives, or fails to give, is text that can be sent."""

    class NastyError(Exception):
        def __str__(self) -> str:
            raise ValueError

    origin = Origin(root, "basics")
    assert described(root, "raises")["text"] == "?"
    assert describe(NastyError(), origin)["text"] == "(its text cannot be had)"
    assert len(str(describe(ValueError("x" * 10**6), origin)["text"])) <= 4000
    for name in ("x" * 10**7, "\0", 5):
        error = ModuleNotFoundError("no", name=name)  # type: ignore[arg-type]
        assert describe(error, origin)["type"] == "ModuleNotFoundError"
