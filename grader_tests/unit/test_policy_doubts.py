"""What the rules leave to a person, and what they pass over."""

import time
from pathlib import Path

import pytest

from cs336_grader.records import Consequence

from .test_policy_sources import found, marked

HEAD = """
import base64, ctypes, functools, gc, importlib, inspect, marshal, pickle, sys
import torch
import torch.nn.functional as F
from torch import nn
"""
DOUBTFUL = {
    "a branch": """
def run_softmax(x, dim):
    if x.dim() > 9:
        return F.softmax(x, dim)  # here
    return x
""",
    "what follows a return": """
def run_softmax(x, dim):
    if x.dim() < 9:
        return x
    return F.softmax(x, dim)  # here
""",
    "a choice": """
def run_softmax(x, dim):
    return F.softmax(x, dim) if dim else x  # here
""",
    "a last resort": """
def run_softmax(x, dim):
    try:
        return x.exp()
    except ValueError:
        return F.softmax(x, dim)  # here
""",
    "a table": """
TABLE = {
    "one": F.softmax,  # here
    "two": torch.exp,
}
def run_softmax(x, dim):
    return TABLE["two"](x)
""",
    "a function handed on": """
def run_softmax(x, dim):
    return functools.partial(F.softmax, dim=dim)(x)  # here
""",
    "a module handed on": """
def use(module, x, dim):
    return module.softmax(x, dim)
def run_softmax(x, dim):
    return use(F, x, dim)  # here
""",
    "a name that is computed": """
def run_softmax(x, dim):
    return getattr(F, "xamtfos"[::-1])(x, dim)  # here
""",
    "a name looked up in all names": """
def run_softmax(x, dim):
    return vars(torch)[chr(110) * 2].functional.softmax(x, dim)  # here
""",
    "a module that is computed": """
def run_softmax(x, dim):
    name = "lanoitcnuf.nn.hcrot"[::-1]
    return importlib.import_module(name).softmax(x, dim)  # here
""",
    "text run as code": """
def run_softmax(x, dim):
    exec(base64.b64decode(b"cGFzcw=="))  # here
    return x
""",
    "an expression as text": """
def run_softmax(x, dim):
    return eval("F.softmax(x, dim)")  # here
""",
    "bytes turned into code": """
def run_softmax(x, dim):
    return marshal.loads(b"")  # here
""",
    "bytes turned into objects": """
def run_softmax(x, dim):
    return pickle.loads(b"")  # here
""",
    "memory searched": """
def run_softmax(x, dim):
    return gc.get_objects()  # here
""",
    "frames looked into": """
def run_softmax(x, dim):
    return sys._getframe(1).f_locals  # here
""",
    "a stack looked into": """
def run_softmax(x, dim):
    return inspect.stack()  # here
""",
    "a library called": """
def run_softmax(x, dim):
    return ctypes.CDLL(None)  # here
""",
    "the inside of a function": """
def run_softmax(x, dim):
    return x.exp.__globals__  # here
""",
    "part of an answer": """
def run_embedding(vocab_size, d_model, weights, ids):
    return F.one_hot(ids, vocab_size) @ weights  # here
""",
    "a method of the same name": """
class Other:
    def apply(self, x):
        return F.softmax(x, -1)  # here
KEPT = [Other()]
def run_softmax(x, dim):
    return KEPT[0].apply(x)
""",
    "code of the import": """
exec("x = 1")  # here
def run_softmax(x, dim):
    return x
""",
}


@pytest.mark.parametrize("way", DOUBTFUL)
def test_what_is_not_certain_asks_for_a_look(tmp_path: Path, way: str) -> None:
    """It costs nothing by itself; the line is told."""
    source = HEAD + DOUBTFUL[way]
    findings = found(tmp_path, source)
    assert {one.consequence for one in findings} == {Consequence.HUMAN_LOOK}
    assert {one.line for one in findings} == {marked(source)}
    whole = way == "code of the import"
    assert {one.problem == "" for one in findings} == {whole}


INNOCENT = {
    "imports that nothing uses": """
import tiktoken, tokenizers, transformers
from torch.nn.functional import softmax
def run_softmax(x, dim):
    return x.exp()
""",
    "annotations": """
def run_softmax(x: nn.Linear, dim: "F.softmax") -> nn.Linear:
    y: nn.Linear = x
    return y
""",
    "questions about types": """
def run_softmax(x, dim):
    if isinstance(x, (nn.Linear, nn.Embedding)) or type(x) is nn.Linear or hasattr(F, "silu"):
        raise TypeError
    match x:
        case nn.Linear():
            return x
    return x
""",
    "types with parameters": """
from typing import Callable
Layers = list[nn.Linear]
def run_softmax(x, dim):
    kinds: dict = dict[str, nn.Linear]()
    return x
""",
    "text": '''
def run_softmax(x, dim):
    """As torch.nn.functional.softmax does, not with F.softmax(x)."""
    # return F.softmax(x, dim)
    return "nn.Linear"
''',
    "code that no adapter reaches": """
def compare(x):
    return F.softmax(x, -1), exec("1"), nn.Linear(1, 1)
class Trainer:
    def train(self):
        return torch.optim.AdamW([])
def run_softmax(x, dim):
    return x.exp()
""",
    "code for a program": """
def run_softmax(x, dim):
    return x.exp()
if __name__ == "__main__":
    print(F.softmax(torch.ones(3), -1), eval("1"))
""",
    "imports for types alone": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from tokenizers import Tokenizer
def run_softmax(x, dim) -> "Tokenizer":
    return x
""",
    "what is allowed of torch.nn": """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(3, 3))
        nn.init.trunc_normal_(self.weight)
        self.layers = nn.ModuleList([nn.Sequential(nn.Identity())])
        self.register_buffer("x", torch.ones(3))
    def forward(self, x):
        return x @ self.weight
def run_softmax(x, dim):
    return Layer().eval()(x)
""",
    "what is allowed of torch.optim": """
from torch.optim.optimizer import ParamsT
class AdamW(torch.optim.Optimizer):
    def __init__(self, params: ParamsT, lr=1e-3):
        super().__init__(params, {"lr": lr})
    def step(self, closure=None):
        return None
def get_adamw_cls():
    return AdamW
""",
    "a cache in a file": """
def run_train_bpe(path, size, special_tokens):
    with open(path, "rb") as file:
        return pickle.loads(file.read()) or pickle.load(file)
""",
    "compiling": """
import re
@torch.compile
def exponential(x):
    return x.exp()
def run_softmax(x, dim):
    re.compile("x")
    return torch.compile(exponential)(x)
""",
    "other libraries": """
import einops, einx
from einops import rearrange, einsum
def run_softmax(x, dim):
    return einx.sum("a [b]", rearrange(einsum(x, x, "a b, b c -> a c"), "a b -> b a"))
""",
    "names of its own": """
def softmax(x, dim):
    return x.exp()
class functional:
    softmax = staticmethod(softmax)
def run_softmax(F, dim):
    nn = functional
    return F.softmax(dim) + nn.softmax(F, dim)
""",
    "a method that no check calls": """
class TransformerLM(nn.Module):
    def forward(self, x):
        return x
    def sample_tokens(self, x):
        return F.softmax(x, -1)
def run_transformer_lm(*args):
    return TransformerLM()(args[-1])
""",
    "looking up its own names": """
def run_softmax(x, dim):
    return getattr(x, "exp" if dim else "log")() + getattr(run_softmax, str(dim), 0)
""",
}


@pytest.mark.parametrize("way", INNOCENT)
def test_no_false_alarm(tmp_path: Path, way: str) -> None:
    """Right work is left in peace."""
    assert not found(tmp_path, HEAD + INNOCENT[way])


def test_a_package_of_its_own_called_nn(tmp_path: Path) -> None:
    """A submission's module is never taken for a library's."""
    adapters = """
from cs336_basics import nn
from cs336_basics.nn import functional as F
def run_linear(d_in, d_out, weights, x):
    return nn.Linear(F.softmax(x))
"""
    own = "class Linear:\n    pass\nclass functional:\n    softmax = None\n"
    assert not found(tmp_path, adapters, nn=own)


def test_a_file_with_a_librarys_name_hides_nothing(tmp_path: Path) -> None:
    """It lies where no import of the library comes to."""
    adapters = """
import torch.nn.functional as F
def run_softmax(x, dim):
    return F.softmax(x, dim)
"""
    decoy = {"torch/nn/functional": "def softmax(x, dim):\n    return x\n"}
    (finding,) = found(tmp_path, adapters, **decoy)
    assert finding.consequence is Consequence.COSTS_POINTS


UNREADABLE = {
    "no Python at all": "def (:\n",
    "an encoding of the submission's own": "# coding: its-own\n",
    "deeper than Python reads until it is told to": "x = " + " + ".join(["1"] * 5000) + "\n",
    "a name that takes all memory to read": f"import {'.'.join(['a'] * 100_000)}\n",
}


@pytest.mark.parametrize("way", UNREADABLE)
def test_what_cannot_be_parsed_is_left_to_a_person(tmp_path: Path, way: str) -> None:
    """Its Python can be told to import more than can be read here, and no run shows all it does."""
    hidden = "import torch\ndef softmax(x, dim):\n    return torch.nn.functional.softmax(x, dim)\n"
    adapters = "from cs336_basics.hidden import softmax as run_softmax\n"
    (finding,) = found(tmp_path, adapters, hidden=UNREADABLE[way] + hidden)
    assert (finding.file, finding.consequence) == (
        "cs336_basics/hidden.py",
        Consequence.HUMAN_LOOK,
    )


HOSTILE = {
    "a chain of attributes": "x = a" + ".b" * 900 + "\n",
    "nested calls": "x = " + "f(" * 80 + "1" + ")" * 80 + "\n",
    "a long sum": "x = " + " + ".join(["1"] * 5000) + "\n",
    "names that stand for twice as much each": "from torch import nn\na0 = nn\na0 = nn.x\n"
    + "".join(f"a{n + 1} = a{n}.p\na{n + 1} = a{n}.q\n" for n in range(60)),
    "names that go round in circles": "from cs336_basics.other import *\n"
    + "".join(f"from cs336_basics.other import a{n}, b as a{n}\n" for n in range(40)),
    "names of themselves": "x = x.y\ny = x.y\nx = y.x\n" * 30,
    "a table of a million characters": f"x = '{'x' * 2_000_000}'\n",
    "characters that are none": "x = '\\ud800'\nclass \u202e\u0041: pass\n",
}


@pytest.mark.parametrize("way", HOSTILE)
def test_no_source_stops_the_examination(tmp_path: Path, way: str) -> None:
    """It ends soon, and what cannot be read is at most left to a person."""
    adapters = "from cs336_basics.hostile import x\ndef run_softmax(a, dim):\n    return x(a60)\n"
    started = time.process_time()
    findings = found(tmp_path, adapters, hostile=HOSTILE[way], other=HOSTILE[way])
    assert time.process_time() - started < 5
    assert {one.consequence for one in findings} <= {Consequence.HUMAN_LOOK}
