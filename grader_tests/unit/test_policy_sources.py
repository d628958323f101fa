"""What the rules find in a submission's source: each way to use a name, and what is none.

In the sources, a comment marks the line that a finding must name.
"""

from pathlib import Path

import pytest

from cs336_grader.policy import Examination
from cs336_grader.records import Consequence, Finding, Staged
from grader_tests.assignments import ASSIGNMENT
from grader_tests.unit.submissions import write

HERE = "# here"


def examined(folder: Path, files: dict[str, str]) -> Examination:
    """A submission of these files, examined."""
    root = write(folder / "submission", dict(files))
    staged = Staged("mine", "", root, "tests.adapters", (".",), (), frozenset())
    return Examination(staged, ASSIGNMENT)


def found(folder: Path, source: str, **modules: str) -> tuple[Finding, ...]:
    """What is found in these adapters, and in modules of the package."""
    files = {f"cs336_basics/{name}.py": text for name, text in modules.items()}
    examination = examined(folder, {"tests/adapters.py": source, **files})
    return examination.findings(tuple(ASSIGNMENT.rubric.problems), ())


def marked(source: str) -> int:
    """The line that is marked."""
    return next(n for n, line in enumerate(source.splitlines(), start=1) if HERE in line)


SOFTMAX = "torch.nn.functional.softmax"
FORBIDDEN = {
    "a module's short name": """
import torch.nn.functional as F
def run_softmax(x, dim):
    return F.softmax(x, dim)  # here
""",
    "a module imported from another": """
from torch.nn import functional
def run_softmax(x, dim):
    return functional.softmax(x, dim)  # here
""",
    "a function under another name": """
from torch.nn.functional import softmax as normalise
def run_softmax(x, dim):
    return normalise(x, dim)  # here
""",
    "the whole name": """
import torch
def run_softmax(x, dim):
    return torch.nn.functional.softmax(x, dim)  # here
""",
    "names of names": """
import torch
nn = torch.nn
G = nn.functional
def run_softmax(x, dim):
    mine = G.softmax
    return mine(x, dim)  # here
""",
    "two names at once": """
import torch
a, b = torch.nn, torch.nn.functional
def run_softmax(x, dim):
    return b.softmax(x, dim)  # here
""",
    "a name in an expression": """
import torch
def run_softmax(x, dim):
    return (f := torch.nn.functional).softmax(x, dim)  # here
""",
    "an import of everything": """
from torch.nn.functional import *
def run_softmax(x, dim):
    return softmax(x, dim)  # here
""",
    "an import within the function": """
def run_softmax(x, dim):
    from torch.nn.functional import softmax
    return softmax(x, dim)  # here
""",
    "getattr with a text": """
import torch.nn.functional as F
def run_softmax(x, dim):
    return getattr(F, "softmax")(x, dim)  # here
""",
    "getattr with texts put together": """
import torch
part = getattr(torch, "n" + "n")
def run_softmax(x, dim):
    return getattr(getattr(part, f"{'func'}tional"), "".join(["soft", "max"]))(x, dim)  # here
""",
    "import_module with a text": """
import importlib
F = importlib.import_module("torch.nn.functional")
def run_softmax(x, dim):
    return F.softmax(x, dim)  # here
""",
    "__import__ with a text": """
def run_softmax(x, dim):
    return __import__("torch").nn.functional.softmax(x, dim)  # here
""",
    "the table of modules": """
import sys
def run_softmax(x, dim):
    return sys.modules["torch.nn.functional"].softmax(x, dim)  # here
""",
    "the names of a module": """
import torch.nn.functional as F
def run_softmax(x, dim):
    return vars(F)["softmax"](x, dim)  # here
""",
    "the dictionary of a module": """
import torch.nn.functional as F
def run_softmax(x, dim):
    return F.__dict__["softmax"](x, dim)  # here
""",
    "a function without a name": """
import torch.nn.functional as F
run_softmax = lambda x, dim: F.softmax(x, dim)  # here
""",
    "a function within the function": """
import torch.nn.functional as F
def run_softmax(x, dim):
    def inner():
        return [F.softmax(row, dim) for row in x]  # here
    return inner()
""",
    "a method that an own method calls": """
import torch.nn.functional as F
class Softmax:
    def __call__(self, x, dim):
        return self.apply(x, dim)
    def apply(self, x, dim):
        return F.softmax(x, dim)  # here
def run_softmax(x, dim):
    return Softmax()(x, dim)
""",
    "a method of a local instance": """
import torch.nn.functional as F
class Softmax:
    def apply(self, x, dim):
        return F.softmax(x, dim)  # here
def run_softmax(x, dim):
    tool = Softmax()
    return tool.apply(x, dim)
""",
    "a forward pass inherited": """
import torch
from torch import nn
class First(nn.Module):
    def forward(self, x):
        return nn.functional.softmax(x, -1)  # here
class Second(First):
    pass
def run_softmax(x, dim):
    return Second()(x)
""",
}


@pytest.mark.parametrize("way", FORBIDDEN)
def test_a_ready_made_answer_costs_the_problem(tmp_path: Path, way: str) -> None:
    """However it is named, with its line and its whole name, and that problem alone."""
    source = FORBIDDEN[way]
    (finding,) = found(tmp_path, source)
    assert finding.consequence is Consequence.COSTS_POINTS
    assert (finding.problem, finding.file) == ("softmax", "tests/adapters.py")
    assert (finding.line, finding.name) == (marked(source), SOFTMAX)
    assert "not allowed" in finding.message


OTHER_NAMES = {
    "a class made": ("linear", "torch.nn.Linear", "nn.Linear(d, e)"),
    "a class made by its full name": ("linear", "torch.nn.modules.linear.Linear", "M(d, e)"),
    "a function of the library": ("linear", "torch.nn.utils.clip_grad_norm_", "clip([], 1)"),
    "an operator": ("linear", "torch.ops.aten.linear", "torch.ops.aten.linear(x, w)"),
    "an implementation behind it": ("linear", "torch._C._nn.linear", "torch._C._nn.linear(x, w)"),
    "what a wrapper hides": (
        "linear",
        "torch.nn.functional.linear.__wrapped__",
        "nn.functional.linear.__wrapped__(x, w)",
    ),
    "a tokenizer": ("linear", "tiktoken.get_encoding", "tiktoken.get_encoding('gpt2')"),
}


@pytest.mark.parametrize("way", OTHER_NAMES)
def test_all_that_is_forbidden(tmp_path: Path, way: str) -> None:
    """A name stands for all that it holds."""
    problem, name, expression = OTHER_NAMES[way]
    source = f"""
import tiktoken, torch
from torch import nn
from torch.nn.modules.linear import Linear as M
from torch.nn.utils import clip_grad_norm_ as clip
def run_linear(d, e, w, x):
    return {expression}
"""
    findings = found(tmp_path, source)
    assert (problem, name) in {(one.problem, one.name) for one in findings}


def test_a_class_that_inherits_the_answer(tmp_path: Path) -> None:
    """The line is that of the class, through a package that passes names on."""
    layers = """
from torch import nn
class Linear(nn.Linear):  # here
    pass
"""
    adapters = """
import cs336_basics as mine
def run_linear(d_in, d_out, weights, x):
    return mine.Linear(d_in, d_out)(x)
"""
    (finding,) = found(tmp_path, adapters, __init__="from .layers import Linear", layers=layers)
    assert (finding.file, finding.line) == ("cs336_basics/layers.py", marked(layers))
    assert (finding.problem, finding.name) == ("linear", "torch.nn.Linear")


def test_adapters_written_elsewhere(tmp_path: Path) -> None:
    """The adapters may be imported, one by one or all at once."""
    answers = """
from scipy.special import softmax
def run_softmax(x, dim):
    return softmax(x, dim)  # here
"""
    for line in (
        "from cs336_basics.answers import run_softmax",
        "from cs336_basics.answers import *",
    ):
        (finding,) = found(tmp_path / line[-1], line, answers=answers)
        assert (finding.file, finding.line) == ("cs336_basics/answers.py", marked(answers))
        assert finding.consequence is Consequence.COSTS_POINTS


def test_an_optimizer_that_inherits_or_delegates(tmp_path: Path) -> None:
    """Both the base class and the instance made are found."""
    source = """
import torch
class Own(torch.optim.Optimizer):
    def __init__(self, params, **options):
        self.inner = torch.optim.AdamW(params, **options)
    def step(self, closure=None):
        self.inner.step()
class Derived(torch.optim.Adam):
    pass
def get_adamw_cls():
    return [Own, Derived][0]
"""
    findings = found(tmp_path, source)
    assert {one.name for one in findings} == {"torch.optim.AdamW", "torch.optim.Adam"}
    assert {one.problem for one in findings} == {"adamw"}


def test_a_method_that_only_the_checks_call(tmp_path: Path) -> None:
    """What the suite calls of an object counts as reached; other methods do not."""
    source = """
import tiktoken
class Tokenizer:
    def encode(self, text):
        return tiktoken.get_encoding("gpt2").encode(text)  # here
    def compare(self, text):
        return tiktoken.Encoding(text)
def get_tokenizer(vocab, merges, special_tokens=None):
    return Tokenizer()
"""
    (finding,) = found(tmp_path, source)
    assert (finding.line, finding.consequence) == (marked(source), Consequence.COSTS_POINTS)


NESTED = """
import torch
from torch import nn
import torch.nn.functional as F
def attention(q, k, v, mask=None):
    return F.softmax(q @ k, -1) @ v
class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(3, 3)
    def forward(self, x):
        return attention(x, x, x)
class Block(nn.Module):
    def __init__(self):
        self.attention = MultiHead()
    def forward(self, x):
        return self.attention(x)
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return attention(Q, K, V, mask)
def run_multihead_self_attention(*args):
    return MultiHead()(args[-1])
def run_transformer_block(*args):
    return Block()(args[-1])
def run_transformer_lm(*args):
    return run_transformer_block(*args)
"""


def test_what_is_built_on_an_answer_is_not_charged_again(tmp_path: Path) -> None:
    """The problem whose adapters are nearest pays, and no other."""
    charged = {one.name: one.problem for one in found(tmp_path, NESTED)}
    assert charged == {
        SOFTMAX: "scaled_dot_product_attention",
        "torch.nn.Linear": "multihead_self_attention",
    }


def test_a_problems_own_rules_are_about_it_alone(tmp_path: Path) -> None:
    """torch.softmax answers the softmax problem; in attention it is a tool like any other."""
    source = """
import torch
def run_scaled_dot_product_attention(Q, K, V, mask=None):
    return torch.softmax(Q @ K.mT, -1) @ V
"""
    assert not found(tmp_path, source)
    (finding,) = found(
        tmp_path, source + "def run_softmax(x, dim):\n    return torch.softmax(x, dim)\n"
    )
    assert finding.problem == "softmax"


def test_several_lines_are_one_finding(tmp_path: Path) -> None:
    """The first line is the finding's, the others are told."""
    source = """
import torch.nn.functional as F
def run_softmax(x, dim):
    y = F.softmax(x, dim)  # here
    return F.softmax(y, dim)
"""
    (finding,) = found(tmp_path, source)
    assert finding.line == marked(source)
    assert "Also in line 5." in finding.message
