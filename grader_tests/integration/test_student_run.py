"""What a student's run says of what failed: the requirement, what was found and where."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader_tests.assignments import ROOT
from grader_tests.programs import run_python

COMMAND = ["-m", "pytest", "-p", "no:cacheprovider"]
PLACES = [f"--rootdir={ROOT}", f"--config-file={ROOT}/pyproject.toml"]
ADAPTERS = """import torch
from my_package import layers

def run_linear(d_in, d_out, weights, in_features):
    return layers.linear(weights.T, in_features)

def run_embedding(vocab_size, d_model, weights, token_ids):
    return None

def run_silu(in_features):
    assert in_features.dtype == torch.float64, "no double"

def run_rmsnorm(d_model, eps, weights, in_features):
    return in_features.float()

def run_softmax(in_features, dim):
    return in_features.exp() / in_features.exp().sum(dim, keepdim=True)
"""
LAYERS = """def linear(weight, x):
    return x @ weight.T
"""
CHECKS = [
    "test_model.py::test_linear",
    "test_model.py::test_embedding",
    "test_model.py::test_silu",
    "test_model.py::test_rmsnorm_half_precision",
    "test_model_attention.py::test_softmax_certain",
]
TOLD = """\
linear: Multiplies each vector by the transposed weight and adds no bias: y = x
Wᵀ.
  (15, 6) times (4, 6) would fit if the second were transposed: a weight is
    (d_out, d_in).
  RuntimeError: mat1 and mat2 shapes cannot be multiplied (15x6 and 4x6)
  at my_package/layers.py:2 in linear: return x @ weight.T
  called at tests/adapters.py:5 in run_linear
  Read more: course/04_linear_and_embedding.md
  Run it alone: uv run pytest tests/test_model.py::test_linear --adapters-from=. --tb=short

embedding: Looks up the weight's row for each token id.
  A tensor is expected; yours is None. Is a return statement missing?
  Read more: course/04_linear_and_embedding.md
  Run it alone: uv run pytest tests/test_model.py::test_embedding --adapters-from=.

rmsnorm: Returns the input's dtype.
  The input is torch.float16, your output is torch.float32.
  Read more: course/05_norm_and_feed_forward.md
  Run it alone: uv run pytest tests/test_model.py::test_rmsnorm_half_precision --adapters-from=.

positionwise_feedforward: Multiplies each number by its sigmoid, negative
numbers too: x · sigmoid(x).
  AssertionError: no double
  at tests/adapters.py:11 in run_silu
  Run it alone: uv run pytest tests/test_model.py::test_silu --adapters-from=. --tb=short

softmax: Gives exactly 1 to a number far above all others of its row, and 0 to
minus infinity.
  1 of 6 elements (16.7 %) are NaN, first at [0, 0].
  Read more: course/07_attention.md
  Run it alone: uv run pytest tests/test_model_attention.py::test_softmax_certain --adapters-from=.
"""


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """A submission that is wrong in several ways."""
    for name, text in {"tests/adapters.py": ADAPTERS, "my_package/layers.py": LAYERS}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(
    submission: Path, *options: str, names: Sequence[str] = CHECKS
) -> subprocess.CompletedProcess[str]:
    """Run some checks on the submission, from its folder."""
    checks = [f"{ROOT}/tests/{check}" for check in names]
    arguments = [*COMMAND, *PLACES, "--adapters-from=.", *options, *checks]
    return run_python(*arguments, cwd=submission, env={**os.environ, "COLUMNS": "80"})


def test_what_failed_is_told_in_words(submission: Path) -> None:
    """The requirement, what was found, where in the student's own code, and how to run it alone."""
    ended = run(submission)
    found = ended.stdout.partition(" what failed ")[2].partition("\n")[2].partition("\n====")[0]
    found = found.replace("mm: mat1", "mat1")  # as torch says it from 2.15 on
    assert found.rstrip("\n") + "\n" == TOLD
    assert "CheckFailedError" not in ended.stdout


def test_who_asks_for_a_traceback_gets_one(submission: Path) -> None:
    """As pytest writes it, and of checks alone nothing else."""
    ended = run(submission, "--tb=short", "-k", "test_linear")
    assert "in run_linear\n    return layers.linear(weights.T, in_features)" in ended.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("def broken(:", "at tests/adapters.py:1: def broken(:"),
        ("import no_such", "Your code imports no_such. If that is a package"),
        ("import my_package.none", "No module named 'my_package.none'\n  at"),
        ("1 / 0", "at tests/adapters.py:1 in <module>: 1 / 0"),
    ],
)
def test_adapters_that_cannot_be_imported_are_told_once(
    submission: Path, line: str, told: str
) -> None:
    """Not with every check; the traceback is there for whoever asks."""
    path = submission / "tests" / "adapters.py"
    path.write_text(f"{line}\n{ADAPTERS}", encoding="utf-8")
    ended = run(submission)
    assert ended.returncode == 4
    assert ended.stderr.count("cannot be imported") == 1
    assert told in ended.stderr
    assert ("is a package" in ended.stderr) == ("no_such" in line)
    assert "test_linear" not in ended.stdout + ended.stderr
    assert "ERROR at setup of test_linear" in run(submission, "--tb=short").stdout


def test_advice_is_a_line_at_the_end(submission: Path) -> None:
    """And no failure, unless it is all that is asked for: then it is told in full."""
    silu = (
        "def run_silu(in_features):\n    return in_features.float() * in_features.float().sigmoid()"
    )
    (submission / "tests" / "adapters.py").write_text(silu, encoding="utf-8")
    checks = ["test_model.py::test_silu", "test_model.py::test_silu_half_precision"]
    ended = run(submission, names=checks)
    assert ended.returncode == 0
    assert "FAILURES" not in ended.stdout
    assert "    positionwise_feedforward: Returns the input's dtype.\n" in ended.stdout
    assert "1 passed, 2 advice" in ended.stdout
    ended = run(submission, "-k", "advice", names=checks)
    assert ended.returncode == 1
    assert "The input is torch.float16, your output is torch.float32." in ended.stdout


def test_a_problem_is_chosen_by_its_name() -> None:
    """Without those that only hold the name; the nearest names where nothing has it."""
    chosen = suite("-k", "embedding").stdout
    assert "scaled_embedding" not in chosen
    assert "Done here." in chosen
    misspelt = suite("-k", "embeding").stdout
    assert "Did you mean embedding" in misspelt


def suite(*options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on the reference."""
    return run_python(*COMMAND, *options, cwd=ROOT)


def test_what_is_not_written_does_not_stop_a_run(submission: Path) -> None:
    """With -x the run goes on to the first check that fails, in the rubric's order."""
    stub = 'def run_linear(d_in, d_out, weights, x):\n    raise NotImplementedError("linear: it")\n'
    softmax = ADAPTERS[ADAPTERS.index("def run_softmax") :]
    (submission / "tests" / "adapters.py").write_text(stub + softmax, encoding="utf-8")
    names = ["test_model_attention.py::test_softmax_certain", "test_model.py::test_linear"]
    ended = run(submission, "-x", names=names)
    assert ended.returncode == 1
    assert "softmax: Gives exactly 1" in ended.stdout
    assert "1 failed, 1 not written yet" in ended.stdout
    alone = run(submission, names=names[1:])
    assert alone.returncode == 1, "work that is not written is no success"
    assert "linear: " not in alone.stdout.partition("= progress")[0]
