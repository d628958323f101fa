"""The fault of an exception: the submission's own, or a package that is not installed."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

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
    "mine/uses_what_is_not_there.py": "import json\njson.surely_not_there",
    "mine/uses_class.py": "import torch\ntorch.Tensor.surely_not_there",
    "mine/needs_other_python.py": "def f(x: 1 | 'Later'): ...",
    "mine/raises.py": "def f():\n    raise ValueError('\\ud800')\n\nf()",
}


COMPILED = (
    "Your code imports mine.fast (mine/{}.py:1). It is a compiled module of the submission, and "
    "the grader builds none."
)
UNMET = {
    "surely_not_installed": "surely-not-installed>=3 (pyproject.toml), which is not installed",
    "torch": "torch>=99 (pyproject.toml), and 2.0 is installed",
    "Python": "Python >=99 (pyproject.toml), and 3.11.7 runs it",
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


def described(
    root: Path, module: str, unmet: Mapping[str, str] = MappingProxyType({})
) -> dict[str, object]:
    """What is told of the exception that importing a module raises."""
    try:
        importlib.import_module(f"mine.{module}")
    except Exception as error:
        return describe(error, Origin(root, "basics", unmet))
    raise AssertionError


@pytest.mark.parametrize(
    ("module", "missing"),
    [
        (
            "needs_package",
            "Your code imports surely_not_installed (mine/needs_package.py:1), which the grading "
            "environment does not have. The name comes from the submission, which declares no "
            "package of this name.",
        ),
        ("needs_its_package", None),
        ("needs_other_case", None),
        (
            "needs_name",
            "Your code imports surely_not_there of json (mine/needs_name.py:1), which the grading "
            "environment does not have. ",
        ),
        ("needs_own_name", None),
        ("needs_own_module", None),
        ("needs_compiled", COMPILED.format("needs_compiled")),
        ("needs_compiled_module", COMPILED.format("needs_compiled_module")),
        ("uses_what_is_not_there", None),
        ("needs_other_python", None),
        ("wrong_syntax", None),
        ("raises", None),
    ],
)
def test_what_is_missing_is_named(root: Path, module: str, missing: str | None) -> None:
    """Only what should be installed or built counts as missing."""
    assert described(root, module)["missing"] == missing


@pytest.mark.parametrize(
    ("module", "asked"),
    [
        ("needs_package", "surely_not_installed"),
        ("needs_name", "Python"),
        ("uses_what_is_not_there", "Python"),
        ("uses_class", "torch"),
        ("needs_other_python", "Python"),
        ("wrong_syntax", "Python"),
    ],
)
def test_what_was_asked_for_and_is_not_to_be_had_is_named(
    root: Path, module: str, asked: str
) -> None:
    """An attribute, a name or an annotation that another version has is no fault of the work."""
    said = str(described(root, module, UNMET)["missing"])
    assert UNMET[asked] in said
    assert f"mine/{module}.py:" in said


@pytest.mark.parametrize("module", ["raises", "needs_own_name", "needs_own_module"])
def test_what_another_version_would_not_change_stays_a_fault(root: Path, module: str) -> None:
    """Whatever is asked for."""
    assert described(root, module, UNMET)["missing"] is None


def test_places_are_the_submissions_own(root: Path) -> None:
    """Innermost last, relative to the submission; a syntax error has its line."""
    assert described(root, "raises")["places"] == ["mine/raises.py:4", "mine/raises.py:2"]
    assert described(root, "wrong_syntax")["places"] == ["mine/wrong_syntax.py:2"]


def test_files_are_named_within_the_submission(root: Path) -> None:
    """The folder that holds the copy of a submission is not in the text of an exception."""
    text = described(root, "needs_own_name")["text"]
    assert isinstance(text, str)
    assert text.endswith(f"({Path('mine', 'good.py')})")


def test_text_is_plain_and_short(root: Path) -> None:
    """Whatever str() gives, or fails to give, is text that can be sent."""

    class NastyError(Exception):
        def __str__(self) -> str:
            raise ValueError

    origin = Origin(root, "basics")
    assert described(root, "raises")["text"] == "?"
    assert describe(NastyError(), origin)["text"] == "(its text cannot be read)"
    assert len(str(describe(ValueError("x" * 10**6), origin)["text"])) <= 4000
    for name in ("x" * 10**7, "\0", 5):
        error = ModuleNotFoundError("no", name=name)  # type: ignore[arg-type]
        assert describe(error, origin)["type"] == "ModuleNotFoundError"
