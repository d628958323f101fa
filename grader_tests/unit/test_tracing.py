"""What a worker sees of a submission's run, and that watching changes nothing.

It is tried in a process of its own, since it changes torch for the process that it is in.

A comment after the head of a case says what is to be seen, and how many lines further; in line 1 if
that is 0.
"""

import ast
import json
import subprocess
import sys

import pytest

from grader_tests.assignments import ASSIGNMENT, ROOT

SUBMISSION = r"""
import functools
import importlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.functional import softmax as normalise

x = torch.ones(4, 4, requires_grad=True)


def alias():  # 1 torch.nn.functional.softmax
    normalise(x, -1).sum().backward()


def table():  # 1 torch.nn.functional.silu
    {"act": F.silu}["act"](x)


def builtin_function():  # 2 torch.nn.functional.scaled_dot_product_attention
    q = x[None]
    F.scaled_dot_product_attention(q, q, q)


def layer():  # 2 torch.nn.Linear
    f = functools.partial
    f(nn.Linear, 4)(4)(x)


def subclass():  # 4 torch.nn.Linear
    class Linear(nn.Linear):
        pass

    Linear(4, 4)


def within_a_container():  # 1 torch.nn.SiLU
    nn.Sequential(nn.SiLU())(x)


def method_of_a_tensor():  # 1 torch.Tensor.softmax
    x.softmax(-1)


def function_of_torch():  # 1 torch.softmax
    torch.softmax(x, -1)


def implementation():  # 1 torch._C._nn.silu
    torch._C._nn.silu(x)


def computed():  # 1 torch.nn.functional.gelu
    getattr(importlib.import_module("lanoitcnuf.nn.hcrot"[::-1]), "gelu")(x)


def mapped():  # 1 torch.nn.functional.relu
    list(map(F.relu, [x]))


def from_text():  # 0 torch.nn.functional.silu
    names = {"__file__": __file__}
    exec("import torch\ndef f(x): return torch.nn.functional.silu(x)", names)
    names["f"](x)


def delegated():  # 2 torch.optim.AdamW
    parameter = nn.Parameter(torch.zeros(2))
    inner = torch.optim.AdamW([parameter])
    inner.zero_grad()


def clipped():  # 1 torch.nn.utils.clip_grad_norm_
    torch.nn.utils.clip_grad_norm_([x], 1.0)


def scheduled():  # 1 torch.optim.SGD
    torch.optim.SGD([x], lr=0.1)


def what_is_allowed():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(4, 4))
            nn.init.trunc_normal_(self.weight)
            self.layers = nn.ModuleList([nn.Identity()])

        def forward(self, features):
            return self.layers[0](features @ self.weight)

    class Steps(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {})

        def step(self, closure=None):
            return None

    own = Own()
    own(x)
    own.load_state_dict(own.state_dict())
    steps = Steps(own.parameters())
    steps.step()
    steps.zero_grad()


def one_that_calls_another():  # 1 torch.nn.functional.softmin
    F.softmin(x, -1)


def what_torch_does_by_itself():
    torch.distributions.Categorical(logits=x).sample()
    torch.stft(torch.ones(400), 100, return_complex=True, window=torch.ones(100))


def compiled():
    step = torch.compile(lambda y: (y @ y).exp(), fullgraph=True, backend="eager")
    step(x)


def compiled_with_a_tool():  #
    def weights(y):
        return torch.softmax(y, -1) + y.softmax(-1)

    torch.compile(weights, fullgraph=True, backend="eager")(x)
    torch.compile(weights, fullgraph=True, backend="aot_eager")(x).sum().backward()


def compiled_with_what_is_forbidden():
    step = torch.compile(lambda y: F.silu(y) + F.linear(y, y), fullgraph=True, backend="eager")
    step(x)
"""
PROGRAM = """
import json, sys
from pathlib import Path
rules, folder = json.loads(sys.argv[1]), Path(sys.argv[2])
from cs336_grader.worker.tracing import Tracer
tracer = Tracer(folder, rules)
tracer.install()
sys.path.insert(0, str(folder))
import traced_submission
tracer.install()
seen = {}
for name in json.loads(sys.argv[3]):
    tracer.seen.clear()
    getattr(traced_submission, name)()
    seen[name] = tracer.news()
    assert tracer.news() == []
import torch
single, double = torch.ones(2), torch.ones(2, dtype=torch.float64)
values = [torch.nn.functional.silu(ones).tolist() for ones in (single, double)]
print(json.dumps([seen, values]))
"""


Run = tuple[dict[str, list[list[object]]], list[list[float]]]


def cases() -> dict[str, tuple[int, str, str]]:
    """Each case with its line, and what is to be seen how many lines further."""
    lines = SUBMISSION.splitlines()
    found: dict[str, tuple[int, str, str]] = {}
    for node in ast.parse(SUBMISSION).body:
        if isinstance(node, ast.FunctionDef):
            further, _, name = lines[node.lineno - 1].partition("#")[2].strip().partition(" ")
            found[node.name] = (node.lineno, further, name)
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """What is seen in each case, and what a function returns that is watched."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "traced_submission.py").write_text(SUBMISSION, encoding="utf-8")
    rules = ASSIGNMENT.rubric.watched()
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM,
            json.dumps(rules),
            str(folder),
            json.dumps(list(cases())),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    seen, values = json.loads(result.stdout)
    return seen, values


@pytest.mark.parametrize("case", cases())
def test_what_is_seen(run: Run, case: str) -> None:
    """The name that was entered first, with the line of the submission that led there."""
    line, further, name = cases()[case]
    seen = run[0][case]
    if not name:
        assert seen == []
    else:
        expected = line + int(further) if int(further) else 1
        assert seen == [["traced_submission.py", expected, name]]


def test_results_are_the_same(run: Run) -> None:
    """Values and types are those of the function itself."""
    single, double = run[1]
    assert single == pytest.approx([0.7310585786300049] * 2, abs=1e-7)
    assert double == pytest.approx([0.7310585786300049] * 2, abs=1e-15)
