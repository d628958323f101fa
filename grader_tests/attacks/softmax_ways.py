"""Ways to a ready-made softmax: the same lead to any other function of torch."""

SOFTMAX = {
    "an attribute of a class": """
class Tools:
    lib = torch.ops
def run_softmax(x, dim):
    return Tools.lib.aten.softmax(x, dim)
""",
    "an attribute of an instance": """
class Tools:
    def __init__(self):
        self.lib = torch
def run_softmax(x, dim):
    return Tools().lib.softmax(x, dim)
""",
    "a dictionary": """
LIB = {"t": torch}
def run_softmax(x, dim):
    return LIB["t"].ops.aten._softmax(x, dim, False)
""",
    "a returned module": """
def lib():
    return torch.ops.aten
def run_softmax(x, dim):
    return lib().softmax(x, dim)
""",
    "a parameter's default": """
def run_softmax(x, dim, lib=torch.ops.aten):
    return lib.softmax.int(x, dim)
""",
    "the target of a loop": """
def run_softmax(x, dim):
    for lib in (torch.ops.aten,):
        return lib.softmax(x, dim)
""",
    "the target of with": """
import contextlib
def run_softmax(x, dim):
    with contextlib.nullcontext(torch.ops.aten) as lib:
        return lib.softmax(x, dim)
""",
    "the module behind torch.ops": """
from torch._ops import ops
def run_softmax(x, dim):
    return ops.aten.softmax(x, dim)
""",
    "torch in a module of torch": """
def run_softmax(x, dim):
    return torch.nn.modules.module.torch.ops.aten.softmax(x, dim)
""",
    "torch in an allowed module": """
def run_softmax(x, dim):
    return torch.nn.init.torch.softmax(x, dim)
""",
    "attrgetter": """
import operator
def run_softmax(x, dim):
    return operator.attrgetter("ops.aten.softmax")(torch)(x, dim)
""",
    "methodcaller": """
import operator
def run_softmax(x, dim):
    return operator.methodcaller("soft" + "max", dim)(x)
""",
    "the dictionary of torch": """
def run_softmax(x, dim):
    return torch.__dict__.get("soft" + "max")(x, dim)
""",
    "the table of modules": """
import sys
def run_softmax(x, dim):
    return sys.modules["torch." + "nn.functional"].softmax(x, dim)
""",
    "resolve_name": """
import pkgutil
def run_softmax(x, dim):
    return pkgutil.resolve_name("torch.nn.functional:softmax")(x, dim)
""",
    "locate": """
import pydoc
def run_softmax(x, dim):
    return pydoc.locate("torch.nn.functional.softmax")(x, dim)
""",
    "an entry point": """
from importlib.metadata import EntryPoint
def run_softmax(x, dim):
    return EntryPoint("a", "torch.nn.functional:softmax", "b").load()(x, dim)
""",
    "getattr_static": """
import inspect
def run_softmax(x, dim):
    return inspect.getattr_static(torch, "softmax")(x, dim)
""",
    "getattribute": """
def run_softmax(x, dim):
    return torch.__getattribute__("softmax")(x, dim)
""",
    "map over getattr": """
def run_softmax(x, dim):
    return next(map(getattr, [torch], ["softmax"]))(x, dim)
""",
    "an unpickler": """
import io, pickle
def run_softmax(x, dim):
    return pickle.Unpickler(io.BytesIO(b"ctorch\\nsoftmax\\n.")).load()(x, dim)
""",
    "a checker that is replaced": """
torch.compiler.is_compiling = lambda: True
def run_softmax(x, dim):
    return torch.nn.functional.softmax(x, dim)
""",
    "a pool of threads": """
from concurrent.futures import ThreadPoolExecutor
def run_softmax(x, dim):
    with ThreadPoolExecutor() as pool:
        return pool.submit(torch.nn.functional.softmax, x, dim).result()
""",
    "a thread of one's own": """
import threading
def run_softmax(x, dim):
    found = []
    thread = threading.Thread(target=lambda: found.append(x.softmax(dim)))
    thread.start()
    thread.join()
    return found[0]
""",
    "timeit": """
import timeit
def run_softmax(x, dim):
    found = []
    timeit.timeit("f(g(x, dim))", globals=dict(
        f=found.append, g=torch.nn.functional.softmax, x=x, dim=dim), number=1)
    return found[0]
""",
    "an interpreter": """
import code
def run_softmax(x, dim):
    names = dict(torch=torch, x=x, dim=dim)
    code.InteractiveInterpreter(names).runsource("y = torch.softmax(x, dim)")
    return names["y"]
""",
    "a debugger": """
import bdb
def run_softmax(x, dim):
    names = dict(torch=torch, x=x, dim=dim)
    bdb.Bdb().run("y = torch.softmax(x, dim)", names)
    return names["y"]
""",
    "a forked child": """
import os, pickle
def run_softmax(x, dim):
    out, into = os.pipe()
    if not os.fork():
        os.write(into, pickle.dumps(torch.softmax(x, dim).tolist()))
        os._exit(0)
    os.close(into)
    return torch.tensor(pickle.load(os.fdopen(out, "rb")))
""",
    "another Python": """
import subprocess, sys
def run_softmax(x, dim):
    text = f"import torch; print(torch.tensor({x.tolist()}).softmax({dim}).tolist())"
    out = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout
    rows = out.strip()[2:-2].split("], [")
    return torch.tensor([[float(v) for v in row.split(",")] for row in rows])
""",
    "a code object of another file": """
import torch.nn.functional as F
def run_softmax(x, dim):
    return F.softmax(x, dim)
run_softmax.__code__ = run_softmax.__code__.replace(co_filename=torch.__file__)
""",
    "a private operator": "def run_softmax(x, dim):\n    return torch._softmax(x, dim, False)\n",
    "a safe operator": "def run_softmax(x, dim):\n    return torch._safe_softmax(x, dim)\n",
    "the masked one": """
import torch.masked
def run_softmax(x, dim):
    return torch.masked.softmax(x, dim)
""",
    "the sparse one": """
def run_softmax(x, dim):
    return torch.sparse.softmax(x.to_sparse(), dim).to_dense()
""",
    "with a mask of nothing": """
def run_softmax(x, dim):
    return torch._masked_softmax(x, torch.zeros(x.shape, dtype=torch.bool), dim)
""",
    "the exponential of another": """
def run_softmax(x, dim):
    return torch.log_softmax(x, dim).exp()
""",
    "a method of a tensor": "def run_softmax(x, dim):\n    return x.softmax(dim)\n",
    "the special one": "def run_softmax(x, dim):\n    return torch.special.softmax(x, dim)\n",
    "vmap": "def run_softmax(x, dim):\n    return torch.vmap(lambda r: r.softmax(0))(x)\n",
    "a distribution": """
def run_softmax(x, dim):
    return torch.distributions.Categorical(logits=x).probs
""",
    "a layer": "def run_softmax(x, dim):\n    return torch.nn.Softmax(dim)(x)\n",
    "a layer that is inherited": """
class Softmax(torch.nn.Softmax):
    pass
def run_softmax(x, dim):
    return Softmax(dim)(x)
""",
    "minus softmin": "def run_softmax(x, dim):\n    return torch.nn.functional.softmin(-x, dim)\n",
    "the derivative of logsumexp by scripts": """
def run_softmax(x, dim):
    return torch.jit.CompilationUnit(
        "def f(x):\\n  return torch.softmax(x, -1)\\n").f(x)
""",
    "tracing": """
def run_softmax(x, dim):
    return torch.jit.trace(lambda y: y.softmax(-1), x)(x)
""",
    "the references": "def run_softmax(x, dim):\n    return torch._refs.softmax(x, dim)\n",
    "the references of layers": """
def run_softmax(x, dim):
    return torch._refs.nn.functional.softmax(x, dim)
""",
    "a decomposition": """
import torch._decomp.decompositions as d
def run_softmax(x, dim):
    return d._softmax(x, dim, False)
""",
    "the kernel below the record": """
def run_softmax(x, dim):
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
    return torch.ops.aten._softmax.default.redispatch(keys, x, dim, False)
""",
    "one kernel by its key": """
def run_softmax(x, dim):
    return torch.ops.aten._softmax.default._op_dk(torch._C.DispatchKey.CPU, x, dim, False)
""",
    "recording switched off": """
def run_softmax(x, dim):
    torch.autograd._enable_record_function(False)
    y = torch.softmax(x, dim)
    torch.autograd._enable_record_function(True)
    return y
""",
    "the observer removed": """
def run_softmax(x, dim):
    torch._C._profiler._remove_execution_trace_observer()
    return torch.softmax(x, dim)
""",
    "the observer paused": """
import torch.profiler.profiler as p
def run_softmax(x, dim):
    p._disable_execution_trace_observer()
    y = torch.softmax(x, dim)
    p._enable_execution_trace_observer()
    return y
""",
    "the record deleted": """
import os, tempfile
def run_softmax(x, dim):
    y = torch.softmax(x, dim)
    folder = tempfile.gettempdir()
    for name in os.listdir(folder):
        if name.endswith(".json"):
            os.unlink(os.path.join(folder, name))
    return y
""",
    "attention with the identity": """
def run_softmax(x, dim):
    n = x.shape[-1]
    eye = torch.eye(n)
    return torch.nn.functional.scaled_dot_product_attention(x[:, None], eye, eye, scale=1.0)[:, 0]
""",
    "a gradient of a loss": """
def run_softmax(x, dim):
    y = x.detach().requires_grad_()
    zeros = torch.zeros(len(y), dtype=torch.long)
    loss = torch.nn.functional.cross_entropy(y, zeros, reduction="sum")
    (grad,) = torch.autograd.grad(loss, y)
    grad[:, 0] += 1
    return grad
""",
    "text run as code": """
exec("def run_softmax(x, dim):\\n    return torch.softmax(x, dim)")
""",
    "a custom dispatch mode's helper": """
from torch.utils._python_dispatch import TorchDispatchMode
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
def run_softmax(x, dim):
    with Mode():
        return torch.softmax(x, dim)
""",
    "functional_call": """
def run_softmax(x, dim):
    return torch.func.functional_call(torch.nn.Softmax(dim), {}, (x,))
""",
    "a graph": """
def run_softmax(x, dim):
    return torch.fx.symbolic_trace(torch.nn.Softmax(-1))(x)
""",
    "numpy's results as tensors": """
import numpy as np
def run_softmax(x, dim):
    y = np.exp(x.numpy() - x.numpy().max(dim, keepdims=True))
    return torch.from_numpy(y / y.sum(dim, keepdims=True))
""",
    "inference mode": """
def run_softmax(x, dim):
    with torch.inference_mode():
        return torch.softmax(x, dim).clone()
""",
    "a nested tensor": """
def run_softmax(x, dim):
    nested = torch.nested.nested_tensor(list(x))
    return torch.nested.to_padded_tensor(torch.softmax(nested, -1), 0.0)
""",
}
