"""Work from scratch that looks like something else: it costs nothing and asks for no look."""

OWN = {
    ("softmax", "exponentials"): """
def run_softmax(x, dim):
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
""",
    ("softmax", "in place, with the names of what is ready-made"): """
class Softmax(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
    def forward(self, x):
        e = torch.exp(x - x.amax(self.dim, keepdim=True))
        return e.div_(e.sum(self.dim, keepdim=True))
def softmax(x, dim):
    return Softmax(dim).eval()(x)
def run_softmax(x, dim):
    return softmax(x, dim)
""",
    ("softmax", "annotations and questions about types"): """
import torch.nn as nn
import torch.nn.functional as F
def run_softmax(x: torch.Tensor, dim: int, layer: nn.Linear | None = None):
    if isinstance(layer, nn.Linear):
        return F.softmax(layer(x), dim)
    e = torch.exp(x - x.max(dim, keepdim=True).values)
    return e / e.sum(dim, keepdim=True)
""",
    ("softmax", "an attribute that is looked up in an object of its own"): """
class Ops:
    exp = staticmethod(torch.exp)
def run_softmax(x, dim, name="ex"):
    e = getattr(Ops, name + "p")(x)
    return e / e.sum(dim, keepdim=True)
""",
    (
        "positionwise_feedforward",
        "a sigmoid",
    ): "def run_silu(x):\n    return x * torch.sigmoid(x)\n",
    ("positionwise_feedforward", "in a thread"): """
from concurrent.futures import ThreadPoolExecutor
def run_silu(x):
    with ThreadPoolExecutor() as pool:
        return pool.submit(lambda: x / (1 + torch.exp(-x))).result()
""",
    ("cross_entropy", "logsumexp"): """
def run_cross_entropy(x, t):
    return (x.logsumexp(-1) - x.gather(-1, t[:, None])[:, 0]).mean()
""",
    ("scaled_dot_product_attention", "einsum"): """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    s = torch.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, float("-inf"))
    e = (s - s.amax(-1, keepdim=True)).exp()
    return torch.einsum("bqk,bkd->bqd", e / e.sum(-1, keepdim=True), v)
""",
    ("rmsnorm", "a module of its own"): """
from torch import nn
class RMSNorm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.eps, self.weight = eps, nn.Parameter(torch.ones(d))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
def run_rmsnorm(d, eps, w, x):
    norm = RMSNorm(d, eps)
    norm.load_state_dict({"weight": w})
    return norm(x)
""",
    ("linear", "a module of its own"): """
from torch import nn
class Linear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(o, i))
        nn.init.trunc_normal_(self.weight, std=0.1, a=-0.3, b=0.3)
    def forward(self, x):
        return x @ self.weight.T
def run_linear(i, o, w, x):
    layers = nn.Sequential(nn.Identity(), Linear(i, o))
    layers[1].weight.data = w
    return layers(x)
""",
    ("embedding", "an index"): "def run_embedding(n, d, w, ids):\n    return w[ids]\n",
    ("embedding", "one-hot rows"): """
def run_embedding(n, d, w, ids):
    return (ids[..., None] == torch.arange(n)).to(w.dtype) @ w
""",
    ("layer_norm", "variance"): """
def run_layer_norm(d, eps, w, b, x):
    var, mean = torch.var_mean(x, -1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * w + b
""",
    ("gelu", "erf"): "def run_gelu(x):\n    return x * 0.5 * (1 + torch.erf(x / 2**0.5))\n",
    ("dropout", "a mask"): """
def run_dropout(x, p, training=True):
    return x * (torch.rand_like(x) >= p) / (1 - p)
""",
    ("dropout", "bernoulli"): """
def run_dropout(x, p, training=True):
    return x * torch.empty_like(x).bernoulli_(1 - p) / (1 - p)
""",
    ("adamw", "the base class"): """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("m", torch.zeros_like(p)).mul_(0.9).add_(p.grad, alpha=0.1)
                v = state.setdefault("v", torch.zeros_like(p)).mul_(0.99).addcmul_(p.grad, p.grad)
                p.addcdiv_(m, v.sqrt().add_(1e-8), value=-group["lr"])
def get_adamw_cls():
    return AdamW
""",
    ("adamw", "many tensors at once"): """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            grads = [p.grad for p in group["params"]]
            torch._foreach_add_(list(group["params"]), grads, alpha=-group["lr"])
def get_adamw_cls():
    return AdamW
""",
    ("gradient_clipping", "norms"): """
def run_gradient_clipping(parameters, most):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(g) for g in grads]))
    for g in grads:
        g.mul_(torch.clamp(most / (norm + 1e-6), max=1.0))
""",
    ("learning_rate_schedule", "a cosine"): """
import math
def run_get_lr_cosine_schedule(it, high, low, warm, cycle):
    return low + (1 + math.cos((it - warm) / (cycle - warm) * math.pi)) / 2 * (high - low)
""",
    ("tokenizer", "a package that is imported for something else"): """
import tiktoken
from transformers import AutoTokenizer
from tokenizers import Tokenizer as Fast
REFERENCE = None
def compare(text: str, with_what: tiktoken.Encoding | None = None) -> Fast | None:
    return (REFERENCE or tiktoken.get_encoding("gpt2")).encode(text)
class Tokenizer:
    def encode(self, text):
        return list(text.encode())
def get_tokenizer(vocab, merges, special_tokens=None):
    return Tokenizer()
""",
    ("tokenizer", "a package that is used as it is imported"): """
import tiktoken
GPT2 = tiktoken.get_encoding("gpt2")
SIZE = GPT2.n_vocab
def get_tokenizer(vocab, merges, special_tokens=None):
    return object()
""",
    ("tokenizer", "processes of its own"): """
import os
def get_tokenizer(vocab, merges, special_tokens=None):
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
    return object()
""",
    ("tokenizer", "a package that may be missing"): """
import importlib
from importlib.metadata import PackageNotFoundError, version
try:
    __version__ = version("nothing-of-this-name")
except PackageNotFoundError:
    __version__ = "0"
regex = importlib.import_module("regex")
def get_tokenizer(vocab, merges, special_tokens=None):
    return regex.compile("a")
""",
}
