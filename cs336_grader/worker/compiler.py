"""Replaces torch's compiler: code that is to be compiled runs uncompiled, with the same results.

Importing the compiler takes 2.3 s of CPU and 160 MB (torch 2.15 on Linux) and makes each fork
slower. Compiling one function takes seconds, again in every process.
"""

import importlib
import os
import sys
from types import ModuleType
from typing import Any

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


def compile_nothing() -> None:
    """Make ``torch.compile`` return functions as they are, and switch the compiler off."""
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    vars(torch)["compile"] = uncompiled


def uncompiled(model: Any = None, **_options: object) -> Any:
    """Return a function or module that runs uncompiled, or a decorator if there is none."""
    if model is None:
        return uncompiled
    return UncompiledModule(model) if isinstance(model, torch.nn.Module) else model


class UncompiledModule(torch.nn.Module):
    """A module as ``torch.compile`` returns it: its parameters have names with a prefix."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self._orig_mod = module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module itself."""
        return self._orig_mod(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Get an attribute of the module."""
        module = super().__getattr__("_orig_mod")
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute of the module; but the mode here, as ``train`` passes it on."""
        if name in ("_orig_mod", "training"):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)


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
