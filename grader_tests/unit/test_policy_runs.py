"""What a run says that it entered, held against the rules: it accuses, and excuses nothing."""

import shutil
from pathlib import Path

import pytest

from correct_variants import VARIANTS
from cs336_grader.policy import Examination
from cs336_grader.records import Consequence, Finding, ForbiddenCall, Staged
from cs336_grader.running.forbidden_calls import forbidden_calls_in
from grader_tests.assignments import ASSIGNMENT, ROOT
from grader_tests.unit.submissions import write

from .test_policy_sources import NESTED, SOFTMAX, examined

PROBLEMS = tuple(ASSIGNMENT.rubric.problems)
ADAPTERS = "tests/adapters.py"
BRANCH = """
import torch.nn.functional as F
def attention(q, k, v):
    if q.dim() > 9:
        return F.softmax(q @ k, -1) @ v
    return v
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V)
def run_multihead_self_attention(*args):
    return 2 * run_scaled_dot_product_attention(*args)
"""
HIDDEN = """
def run_softmax(x, dim):
    return x.softmax(dim)
"""


def judged(
    folder: Path, source: str, *forbidden_calls: ForbiddenCall
) -> list[tuple[str, str, str]]:
    """What is found in these adapters after such a run: problem, name and consequence."""
    findings = examined(folder, {ADAPTERS: source}).findings(PROBLEMS, forbidden_calls)
    return [(one.problem, one.name, one.consequence.value) for one in findings]


def test_what_was_entered_from_an_unreadable_file_costs_points(tmp_path: Path) -> None:
    """The run shows what the source hides: a file that only Python told to recurse deeper reads."""
    deep = "x = " + " + ".join(["1"] * 5000) + "\n"
    files = {ADAPTERS: "from .deep import run_softmax\n", "tests/deep.py": deep}
    seen = ForbiddenCall("test_softmax", "tests/deep.py", 3, SOFTMAX)
    found = examined(tmp_path, files).findings(PROBLEMS, (seen,))
    assert [(one.problem, one.file, one.consequence.value) for one in found] == [
        ("", "tests/deep.py", "human look"),
        ("softmax", "tests/deep.py", "costs points"),
    ]


def test_a_branch_that_was_taken_costs_points(tmp_path: Path) -> None:
    """It costs the problem in whose checks it was taken, and nobody need look any more."""
    assert judged(tmp_path, BRANCH) == [("scaled_dot_product_attention", SOFTMAX, "human look")]
    seen = ForbiddenCall("test_attention", ADAPTERS, 5, SOFTMAX)
    assert judged(tmp_path, BRANCH, seen) == [
        ("scaled_dot_product_attention", SOFTMAX, "costs points")
    ]
    seen = ForbiddenCall("test_multihead_attention", ADAPTERS, 5, SOFTMAX)
    assert judged(tmp_path, BRANCH, seen) == [("multihead_self_attention", SOFTMAX, "costs points")]


def test_what_is_built_on_an_answer_is_not_charged_again(tmp_path: Path) -> None:
    """Many checks come to one place: the nearest problem pays."""
    checks = ("test_transformer_lm", "test_transformer_block", "test_attention")
    seen = [ForbiddenCall(check, ADAPTERS, 6, SOFTMAX) for check in checks]
    charged = {name: problem for problem, name, _ in judged(tmp_path, NESTED, *seen)}
    assert charged[SOFTMAX] == "scaled_dot_product_attention"


SHORT_CUT = """
import torch.nn.functional as F
class Gate:
    def __init__(self, name):
        self.act = F.silu if name else F.relu
    def forward(self, x):
        return self.act(x)
class SwiGLU:
    def __init__(self):
        self.gate = Gate("silu")
    def forward(self, x):
        return self.gate.forward(x)
class Block:
    def __init__(self, gated=True):
        if gated:
            self.gate = Gate("silu")
    def forward(self, x):
        return self.gate.forward(x)
def run_swiglu(*args):
    return SwiGLU().forward(args[-1])
def run_transformer_block(*args):
    return Block().forward(args[-1])
"""


def test_of_two_as_near_the_one_that_surely_comes_there_pays(tmp_path: Path) -> None:
    """A way that a condition may close is no shorter than one that is always open."""
    checks = ("test_transformer_block", "test_swiglu")
    name = "torch.nn.functional.silu"
    seen = [ForbiddenCall(check, ADAPTERS, 7, name) for check in checks]
    costly = [one for one in judged(tmp_path, SHORT_CUT, *seen) if one[2] == "costs points"]
    assert costly == [("positionwise_feedforward", name, "costs points")]


def test_what_no_source_shows(tmp_path: Path) -> None:
    """A method of a tensor is found while it runs, and the message names the check."""
    examination = examined(tmp_path, {ADAPTERS: HIDDEN})
    assert not examination.findings(PROBLEMS, ())
    forbidden_calls = [
        ForbiddenCall(check, ADAPTERS, 3, "torch.Tensor.softmax")
        for check in ("test_softmax_gradient", "test_softmax")
    ]
    (finding,) = examination.findings(PROBLEMS, forbidden_calls)
    assert (finding.line, finding.consequence) == (3, Consequence.COSTS_POINTS)
    assert "test_softmax came to it." in finding.message
    assert examination.findings(PROBLEMS, reversed(forbidden_calls)) == (finding,)


def test_other_problems_are_not_touched(tmp_path: Path) -> None:
    """What is one problem's answer is a tool in another's checks."""
    assert not judged(
        tmp_path, HIDDEN, ForbiddenCall("test_rope", ADAPTERS, 3, "torch.Tensor.softmax")
    )


@pytest.mark.parametrize(
    "forged",
    [
        ForbiddenCall("test_nothing", ADAPTERS, 3, SOFTMAX),
        ForbiddenCall("test_softmax", "tests/other.py", 3, SOFTMAX),
        ForbiddenCall("test_softmax", ADAPTERS, 3, "os.system"),
        ForbiddenCall("test_softmax", ADAPTERS, 3, "torch.nn.Module"),
        ForbiddenCall("test_softmax", ADAPTERS, 3, ""),
    ],
    ids=str,
)
def test_what_cannot_be_true_is_passed_over(tmp_path: Path, forged: ForbiddenCall) -> None:
    """An unknown check or file, and a name that no rule is about."""
    assert not judged(tmp_path, HIDDEN, forged)


def test_silence_excuses_nothing(tmp_path: Path) -> None:
    """What the source shows stands, whatever the run says."""
    assert len(judged(tmp_path, NESTED)) == 2
    other = ForbiddenCall("test_softmax", ADAPTERS, 5, "torch.nn.Module")
    assert judged(tmp_path, NESTED, other) == judged(tmp_path, NESTED)


def test_only_the_problems_that_are_graded(tmp_path: Path) -> None:
    """What touches another problem is not told."""
    examination = examined(tmp_path, {ADAPTERS: NESTED})
    assert not examination.findings(("rope",), ())


@pytest.mark.parametrize(
    "told",
    [
        None,
        "seen",
        {"a": 1},
        [["a.py", 1]],
        [["a.py", "1", "torch"]],
        [["a.py", True, 5]],
        [[b"a.py", 1, "torch"]],
        [["a.py", -1, "torch"]],
        [["a" * 400, 1, "torch"]],
        [["a.py", 1, "t" * 400]],
        [[["a.py"], 1, "torch"]],
    ],
    ids=repr,
)
def test_a_malformed_report_is_passed_over(told: object) -> None:
    """Whatever a worker sends, nothing comes of it."""
    assert not list(forbidden_calls_in(told))


def test_a_flood_is_cut() -> None:
    """Of many places, some are enough."""
    assert len(list(forbidden_calls_in([["a.py", 1, "torch"]] * 10_000))) == 100


def findings_in(folder: Path) -> tuple[Finding, ...]:
    """What is found in a submission's folder."""
    staged = Staged("own", "", folder, "tests.adapters", (".",), (), frozenset())
    return Examination(staged, ASSIGNMENT).findings(PROBLEMS, ())


@pytest.mark.parametrize("home", [".", "examples/half_right"])
def test_no_false_alarm_on_what_is_here(tmp_path: Path, home: str) -> None:
    """Neither on the reference nor on the example."""
    for package in ("cs336_basics", "tests"):
        copy_modules(ROOT / home / package, tmp_path / package)
    assert not findings_in(tmp_path)


# What some right variants use of torch.nn.
READY_MADE = {
    "cross_entropy": "functional.cross_entropy functional.one_hot",
    "dropout": "Dropout functional.dropout",
    "embedding": "functional.embedding",
    "gelu": "functional.gelu",
    "glu": "Linear functional.glu functional.linear",
    "gpt": "Linear",
    "gpt_attention": "functional.dropout functional.linear functional.scaled_dot_product_attention",
    "gpt_block": "LayerNorm functional.layer_norm",
    "gpt_feed_forward": "Dropout GELU Linear functional.dropout functional.gelu functional.linear",
    "gradient_clipping": "utils.clip_grad_norm_",
    "layer_norm": "LayerNorm functional.layer_norm",
    "learned_positions": "Embedding",
    "multihead_self_attention": "functional.linear functional.scaled_dot_product_attention",
    "parameter_count": (
        "Embedding LayerNorm Linear Transformer.generate_square_subsequent_mask "
        "TransformerEncoderLayer"
    ),
    "positionwise_feedforward": "Linear functional.silu",
    "rmsnorm": "functional.rms_norm",
    "sampling": "functional.one_hot",
    "scaled_dot_product_attention": "functional.scaled_dot_product_attention",
    "scaled_embedding": "Embedding functional.embedding functional.one_hot",
    "transformer_block": "functional.rms_norm",
    "transformer_lm": "Linear",
}


def test_no_false_alarm_on_right_variants(tmp_path: Path) -> None:
    """Those that use torch's own functions, to be right in another way, are found; no others."""
    adapters: list[str] = []
    for name, problem in ASSIGNMENT.rubric.problems.items():
        functions = {
            f"{function.__module__}.{function.__qualname__}"
            for variant in VARIANTS
            if variant.problem == name
            for function in variant.adapters.values()
            if function.__module__.startswith("correct_variants.")
        }
        written = sorted(function for function in functions if "<" not in function)
        adapters += [f"import {function.rpartition('.')[0]}" for function in written]
        adapters += [f"def {problem.adapters[0]}(*args):", "    pass"]
        adapters += [f"    {function}(*args)" for function in written]
    copy_modules(ROOT / "correct_variants", tmp_path / "correct_variants")
    write(tmp_path, {ADAPTERS: "\n".join(adapters)})
    told = {(one.problem, one.name) for one in findings_in(tmp_path)}
    assert told == {
        (problem, f"torch.nn.{name}")
        for problem, names in READY_MADE.items()
        for name in names.split()
    }


def copy_modules(package: Path, target: Path) -> None:
    """Copy a package's modules."""
    target.mkdir(parents=True)
    for path in package.glob("*.py"):
        shutil.copy(path, target)
