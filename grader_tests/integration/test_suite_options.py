"""The suite's own options, as a student or an author uses them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from grader_tests.assignments import ROOT
from grader_tests.programs import run_python

SOFTMAX = ["tests/test_model_attention.py", "-k", "test_softmax"]
WRONG_ADAPTERS = """
import torch
from importlib import metadata

from . import beside
import my_package

metadata.version("my_package")


def run_softmax(in_features, dim):
    return beside.half(my_package.exponentials(in_features, dim))
"""
SUBMISSION = {
    "tests/adapters.py": WRONG_ADAPTERS,
    "tests/beside.py": "def half(x):\n    return x / 2\n",
    "my_package/__init__.py": "def exponentials(x, dim):\n    return x.softmax(dim)\n",
}
NEARLY_RIGHT = """
right = run_softmax

def run_softmax(in_features, dim):
    return right(in_features, dim) + 2.0**-24
"""


def suite(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder."""
    return run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", *options, cwd=folder)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The suite and the reference, to be changed."""
    for name in ("tests", "cs336_basics", "pyproject.toml"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    return tmp_path


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """A submission with half of every probability."""
    for name, text in SUBMISSION.items():
        path = tmp_path / "submission" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "submission"


@pytest.mark.parametrize("seed", ["0", "5"])
def test_another_folder_is_checked_at_any_seed(submission: Path, seed: str) -> None:
    """Its own package and neighbours are imported; expected values come from the reference."""
    result = suite(ROOT, *SOFTMAX, f"--seed={seed}", f"--adapters-from={submission}")
    assert result.returncode == 1, result.stdout
    assert "tests/test_model_attention.py::test_softmax" in result.stdout
    assert "softmax: " in result.stdout
    assert "skipped" not in result.stdout
    assert "ImportError" not in result.stdout


def test_a_folder_may_stand_after_its_option() -> None:
    """As a word of its own, too, and without a path to the checks beside it."""
    options = ["--adapters-from", "examples/half_right", "-k", "test_rope_lengths", "--seed", "5"]
    result = suite(ROOT, *options)
    assert "1 failed" in result.stdout, result.stdout + result.stderr


def test_a_folder_with_settings_and_a_suite_of_its_own(submission: Path) -> None:
    """As one that was handed out: neither is taken for those of the run, behind an equals sign."""
    (submission / "pyproject.toml").write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    (submission / "tests" / "conftest.py").write_text("assert False\n", encoding="utf-8")
    result = suite(ROOT, f"--adapters-from={submission}", *SOFTMAX)
    assert "tests/test_model_attention.py::test_softmax" in result.stdout, result.stderr


def test_at_another_seed_what_is_not_saved_is_skipped_aloud(copy: Path) -> None:
    """Without another folder there is nothing to compare with: the reason is told."""
    result = suite(copy, "tests/test_model.py", "--seed=5")
    assert result.returncode == 0, result.stdout
    assert "expected values are saved for seed 0 only" in result.stdout


def test_an_update_fails_the_run_once(copy: Path) -> None:
    """Snapshots that change are written, and nobody commits them unseen."""
    changed = next((copy / "tests" / "_snapshots").glob("test_model_attention.test_softmax*"))
    changed.unlink()
    missing = suite(copy, *SOFTMAX)
    assert "pytest --update-snapshots" in missing.stdout
    first, second = (suite(copy, *SOFTMAX, "--update-snapshots") for _ in range(2))
    assert (first.returncode, second.returncode) == (1, 0), first.stdout + second.stdout
    assert "1 snapshots written" in first.stdout
    assert changed.exists()


def test_an_unused_snapshot_fails_the_run(copy: Path) -> None:
    """Only where all checks were collected; then it is named."""
    (copy / "tests" / "_snapshots" / "test_model.test_of_old.npz").write_bytes(b"")
    for file in (copy / "tests").glob("test_*.py"):
        if file.name != "test_data.py":
            file.unlink()
    whole, part = suite(copy, "tests"), suite(copy, "tests/test_data.py")
    assert (whole.returncode, part.returncode) == (1, 0), whole.stdout + part.stdout
    assert "unused snapshot: test_model.test_of_old.npz" in whole.stdout


def test_exact_comparison_allows_nothing(copy: Path) -> None:
    """What passes within the tolerance fails exactly."""
    adapters = copy / "tests" / "adapters.py"
    text = adapters.read_text(encoding="utf-8")
    adapters.write_text(text + NEARLY_RIGHT, encoding="utf-8")
    tolerant, exact = suite(copy, *SOFTMAX), suite(copy, *SOFTMAX, "--snapshot-exact")
    assert (tolerant.returncode, exact.returncode) == (0, 1), tolerant.stdout + exact.stdout


@pytest.fixture
def divided(copy: Path) -> Path:
    """The same, with softmax in a track that nothing is written of."""
    rubric = copy / "tests" / "rubric.toml"
    text = rubric.read_text(encoding="utf-8")
    text = text.replace('modern = "Modern track"\n', 'modern = "Modern track"\nother = "Other"\n')
    text = text.replace('"Softmax"\ntrack = "modern"', '"Softmax"\ntrack = "other"')
    rubric.write_text(text, encoding="utf-8")
    with (copy / "tests" / "adapters.py").open("a", encoding="utf-8") as adapters:
        adapters.write("\ndel run_softmax\n")
    return copy


def test_a_track_that_there_is_nothing_of_is_left_out_aloud(divided: Path) -> None:
    """Its checks are skipped, a file's in one line, with how to run them all the same."""
    result = suite(divided, *SOFTMAX, "tests/test_loss.py")
    assert result.returncode == 0, result.stdout
    told = "tests/test_model_attention.py: Other: the adapters lack it; to run it: --track other"
    assert result.stdout.count(told) == 1
    result = suite(divided, *SOFTMAX, "tests/test_loss.py", "--track", "other")
    assert result.returncode == 1, result.stdout
    assert "Your adapters have no function run_softmax" in result.stdout
    assert re.search(r"\d+ failed, \d+ deselected", result.stdout)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--seed=-1"], "non-negative integer"),
        (["--seed=one"], "non-negative integer"),
        (["--seed=3", "--update-snapshots"], "leave out --seed"),
        (["--adapters-from=nowhere"], "holds no tests/adapters.py"),
        (["--track=modem"], "--track: there are these alone: modern"),
    ],
)
def test_options_that_cannot_be_followed_are_refused(options: list[str], complaint: str) -> None:
    """With a sentence and pytest's code for wrong usage."""
    result = suite(ROOT, *SOFTMAX, *options)
    assert result.returncode == 4
    assert complaint in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr
