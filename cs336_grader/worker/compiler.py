"""Does without torch's compiler, which optimizers import although they compile nothing.

Its import takes 2.3 s of CPU and 160 MB (torch 2.15 on Linux), and every fork of the process that
has imported it is dearer for that.
"""

import importlib
import sys
from types import ModuleType

import torch

COMPILER = "torch._dynamo"


def leave_compiler_out() -> None:
    """Let optimizers that a submission writes do without the compiler; it can still be imported.

    What they inherit asks the compiler to leave it alone, and remembers by an attribute what that
    has come to. A release of torch that remembers it otherwise imports the compiler as ever.
    """
    asks_compiler = torch._compile._disable_dynamo(lambda: None).__code__
    for method in vars(torch.optim.Optimizer).values():
        if getattr(method, "__code__", None) is asks_compiler:
            method.__wrapped__.__dynamo_disable = method.__wrapped__


def stand_in_for_compiler() -> None:
    """Let torch's own optimizers do without the compiler, too, in a process that compiles nothing.

    Not where a submission runs: it may import what lies in the compiler's package.
    """
    if COMPILER not in sys.modules:
        sys.modules[COMPILER] = torch._dynamo = IdleCompiler(COMPILER)


class IdleCompiler(ModuleType):
    """What a step of torch's own optimizers calls; the compiler itself comes when it is needed."""

    def graph_break(self) -> None:
        """Say that nothing is to be compiled across this point."""

    def __getattr__(self, name: str) -> object:
        """Anything else is the compiler's."""
        if sys.modules.get(COMPILER) is self:
            del sys.modules[COMPILER], torch._dynamo
        return getattr(importlib.import_module(COMPILER), name)
