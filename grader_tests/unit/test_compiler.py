"""Tests of doing without torch's compiler, each in a process of its own."""

import pytest

from grader_tests.assignments import ROOT
from grader_tests.programs import run_python

BEGIN = """
import sys
import torch
from cs336_grader.worker.compiler import leave_compiler_out, stand_in_for_compiler
parameter = torch.nn.Parameter(torch.zeros(2))
parameter.grad = torch.ones(2)
leave_compiler_out()
"""
OWN_OPTIMIZER = """
class Own(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 1.0})
    def step(self):
        with torch.no_grad():
            parameter.sub_(parameter.grad)
optimizer = Own([parameter])
optimizer.step()
optimizer.load_state_dict(optimizer.state_dict())
optimizer.zero_grad()
optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})
assert parameter.tolist() == [-1.0, -1.0]
assert "torch._dynamo" not in sys.modules
"""
TORCHS_OPTIMIZER = """
stand_in_for_compiler()
torch.optim.SGD([parameter], lr=1.0).step()
assert parameter.tolist() == [-1.0, -1.0]
assert "torch._dynamo.eval_frame" not in sys.modules
"""
COMPILER_ITSELF = """
double = torch.compile(lambda x: 2 * x, backend="eager")
assert double(torch.ones(2)).tolist() == [2.0, 2.0]
assert "torch._dynamo.eval_frame" in sys.modules
torch.optim.SGD([parameter], lr=1.0).step()
assert parameter.tolist() == [-1.0, -1.0]
"""
COMPILER_BEHIND_THE_STAND_IN = "stand_in_for_compiler()\ntorch._dynamo.reset()\n" + COMPILER_ITSELF

COMPILED = """
import copy
from cs336_grader.worker.compiler import compile_nothing

compile_nothing()
one = torch.ones(2, 3)

@torch.compile
def double(x):
    return 2 * x

@torch.compile(fullgraph=True, mode="max-autotune")
def triple(x):
    return 3 * x

assert double(one).tolist() == torch.compiler.compile(double)(one).tolist() == (2 * one).tolist()
assert triple(one).tolist() == (3 * one).tolist()
assert not torch.compiler.is_compiling()

inner = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout())
inner.compile(dynamic=True)
outer = torch.compile(inner, backend="inductor")
assert list(outer.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
assert outer._orig_mod is inner
outer.load_state_dict(outer.state_dict())
assert outer.eval() is outer
assert not inner.training and not inner[1].training
assert torch.equal(outer(one), inner(one))
outer.scale = 7
assert inner.scale == outer.scale == 7 and not hasattr(outer, "other")
again = copy.deepcopy(outer)
assert torch.equal(again(one), inner(one)) and again._orig_mod is not inner
outer(one).sum().backward()
assert all(p.grad is not None for p in inner.parameters())
assert "torch._dynamo" not in sys.modules

import torch._dynamo
torch._dynamo.config.suppress_errors = True
torch._dynamo.reset()
assert torch._dynamo.optimize("inductor")(double)(one).tolist() == (2 * one).tolist()
assert torch.compiler.disable(double)(one).tolist() == (2 * one).tolist()
"""


@pytest.mark.parametrize(
    "program",
    [COMPILED, OWN_OPTIMIZER, TORCHS_OPTIMIZER, COMPILER_ITSELF, COMPILER_BEHIND_THE_STAND_IN],
)
def test_without_the_compiler(program: str) -> None:
    """Optimizers work without it; where it is asked for, it works as ever."""
    found = run_python("-c", BEGIN + program, cwd=ROOT)
    assert not found.returncode, found.stderr
