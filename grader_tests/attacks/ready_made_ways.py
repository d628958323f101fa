"""Ways to a ready-made answer that a reader of the source, or a list of names, may miss.

Each is the body of an adapters file for one problem, and gives the right answer unless what it
looks for is absent. All must cost the problem's points or ask a person to look.
"""

from .library_ways import LIBRARY_WAYS
from .softmax_ways import SOFTMAX

PRELUDE = "import torch\nx0 = torch.ones(2)\n"

SILU = {
    "an operator": "def run_silu(x):\n    return torch.ops.aten.silu(x)\n",
    "one in place": "def run_silu(x):\n    return torch.ops.aten.silu_(x.clone())\n",
    "the overload": "def run_silu(x):\n    return torch.ops.aten.silu.default(x)\n",
    "the implementation": "def run_silu(x):\n    return torch._C._nn.silu(x)\n",
    "swish in a gate": """
def run_silu(x):
    return torch.nn.functional.glu(torch.cat([x, x], -1), -1)
""",
    "a layer in a container": """
def run_silu(x):
    return torch.nn.Sequential(torch.nn.SiLU())(x)
""",
    "a function kept before": "from torch.nn.functional import silu as run_silu\n",
    "a partial": """
import functools
run_silu = functools.partial(torch.nn.functional.silu, inplace=False)
""",
    "the functional of a module": """
def run_silu(x):
    return torch.nn.modules.activation.F.silu(x)
""",
    "what can be overridden": """
def run_silu(x):
    found = torch.overrides.get_overridable_functions()[torch.nn.functional]
    return next(one for one in found if one.__name__ == "silu")(x)
""",
    "Hardswish's family": "def run_silu(x):\n    return torch.nn.functional.mish(x)\n",
    "a compiled function": "run_silu = torch.compile(lambda x: torch.nn.functional.silu(x))\n",
}
CROSS_ENTROPY = {
    "an operator": """
def run_cross_entropy(x, t):
    return torch.ops.aten.cross_entropy_loss(x, t)
""",
    "its halves": """
def run_cross_entropy(x, t):
    return torch.ops.aten.nll_loss(torch.log_softmax(x, -1), t)
""",
    "by a distribution": """
def run_cross_entropy(x, t):
    return -torch.distributions.Categorical(logits=x).log_prob(t).mean()
""",
    "the layer": "def run_cross_entropy(x, t):\n    return torch.nn.CrossEntropyLoss()(x, t)\n",
    "a computed name": """
def run_cross_entropy(x, t):
    return getattr(torch.nn.functional, "cross" + "_entropy")(x, t)
""",
    "log_softmax alone": """
def run_cross_entropy(x, t):
    return -torch.log_softmax(x, -1)[torch.arange(len(t)), t].mean()
""",
    "the linear one": """
def run_cross_entropy(x, t):
    return torch.nn.functional.nll_loss(x - x.logsumexp(-1, keepdim=True), t)
""",
}
ATTENTION = {
    "the mathematics": """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    return torch._scaled_dot_product_attention_math(q, k, v, mask)[0]
""",
    "an operator": """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    return torch.ops.aten.scaled_dot_product_attention(q, k, v, mask)
""",
    "the flash kernel": """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q[:, None], k[:, None], v[:, None])[0][:, 0]
""",
    "the layer": """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    attention = torch.nn.MultiheadAttention(q.shape[-1], 1, bias=False, batch_first=True)
    return attention(q, k, v)[0]
""",
    "a private layer": """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    d = q.shape[-1]
    eye = torch.eye(d)
    return torch._native_multi_head_attention(
        q, q, q, d, 1, torch.cat([eye] * 3), torch.zeros(3 * d), eye, torch.zeros(d))[0]
""",
    "a whole encoder": """
def run_scaled_dot_product_attention(q, k, v, mask=None):
    d = q.shape[-1]
    z, e = torch.zeros(d), torch.eye(d)
    return torch._transformer_encoder_layer_fwd(
        q, d, 1, torch.cat([e] * 3), torch.zeros(3 * d), e, z, False, False, 1e-5,
        z + 1, z, z + 1, z, e, z, e, z)
""",
}
OTHERS = {
    ("rmsnorm", "fused"): """
def run_rmsnorm(d, eps, w, x):
    return torch._fused_rms_norm(x, [d], w, eps)[0]
""",
    ("rmsnorm", "a function"): """
def run_rmsnorm(d, eps, w, x):
    return torch.rms_norm(x, (d,), w, eps)
""",
    ("rmsnorm", "a layer"): """
def run_rmsnorm(d, eps, w, x):
    norm = torch.nn.RMSNorm(d, eps)
    norm.weight.data = w
    return norm(x)
""",
    ("embedding", "a bag"): """
def run_embedding(n, d, w, ids):
    flat = ids.reshape(-1)
    return torch.embedding_bag(w, flat, torch.arange(len(flat)))[0].view(*ids.shape, d)
""",
    ("embedding", "an operator"): """
def run_embedding(n, d, w, ids):
    return torch.ops.aten.embedding(w, ids)
""",
    ("linear", "an operator"): """
def run_linear(i, o, w, x):
    return torch.ops.aten.linear(x, w)
""",
    ("linear", "the implementation"): """
def run_linear(i, o, w, x):
    return torch._C._nn.linear(x, w)
""",
    ("linear", "a bilinear form"): """
def run_linear(i, o, w, x):
    return torch.nn.functional.bilinear(x, torch.ones(*x.shape[:-1], 1), w[..., None])
""",
    ("layer_norm", "the native one"): """
def run_layer_norm(d, eps, w, b, x):
    return torch.native_layer_norm(x, [d], w, b, eps)[0]
""",
    ("gelu", "an operator"): "def run_gelu(x):\n    return torch.ops.aten.gelu(x)\n",
    ("dropout", "a private operator"): """
def run_dropout(x, p, training=True):
    return torch._fused_dropout(x, 1 - p)[0] if False else torch.native_dropout(x, p, True)[0]
""",
    ("dropout", "a relative"): """
def run_dropout(x, p, training=True):
    return torch.feature_dropout(x, p, True)
""",
    ("adamw", "the fused step"): """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                z = torch.zeros_like
                torch._fused_adamw_([p.data], [p.grad], [z(p.data)], [z(p.data)], [],
                    [torch.tensor(1.0)], lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01,
                    eps=1e-8, amsgrad=False, maximize=False)
def get_adamw_cls():
    return AdamW
""",
    ("adamw", "the fused step of Adam"): """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                z = torch.zeros_like
                torch._fused_adam_([p.data], [p.grad], [z(p.data)], [z(p.data)], [],
                    [torch.tensor(1.0)], lr=1e-3, beta1=0.9, beta2=0.999, weight_decay=0.01,
                    eps=1e-8, amsgrad=False, maximize=False)
def get_adamw_cls():
    return AdamW
""",
    ("adamw", "inherited"): """
class AdamW(torch.optim.AdamW):
    pass
def get_adamw_cls():
    return AdamW
""",
    ("adamw", "the class itself"): "def get_adamw_cls():\n    return torch.optim.AdamW\n",
    ("adamw", "the function behind it"): """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                z = torch.zeros_like
                torch.optim._functional.adamw([p.data], [p.grad], [z(p.data)], [z(p.data)], [],
                    [torch.tensor(0.0)], foreach=False, amsgrad=False, beta1=0.9, beta2=0.999,
                    lr=1e-3, weight_decay=0.01, eps=1e-8, maximize=False)
def get_adamw_cls():
    return AdamW
""",
    ("adamw", "a private part"): """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    def step(self):
        import sys
        f = vars(sys.modules["torch.optim." + "adam"])["_single_tensor_" + "adam"]
        for group in self.param_groups:
            for p in group["params"]:
                z = torch.zeros_like
                f([p.data], [p.grad], [z(p.data)], [z(p.data)], [], [torch.tensor(0.0)], None, None,
                  amsgrad=False, has_complex=False, beta1=0.9, beta2=0.999, lr=1e-3,
                  weight_decay=0.01, eps=1e-8, maximize=False, capturable=False,
                  differentiable=False, decoupled_weight_decay=True)
def get_adamw_cls():
    return AdamW
""",
    ("gradient_clipping", "the function"): """
def run_gradient_clipping(parameters, most):
    torch.nn.utils.clip_grad_norm_(parameters, most)
""",
    ("gradient_clipping", "in a thread"): """
from concurrent.futures import ThreadPoolExecutor
def run_gradient_clipping(parameters, most):
    with ThreadPoolExecutor() as pool:
        pool.submit(torch.nn.utils.clip_grad.clip_grad_norm_, parameters, most).result()
""",
    ("gradient_clipping", "compiled"): """
def run_gradient_clipping(parameters, most):
    torch.compile(torch.nn.utils.clip_grad_norm_)(parameters, most)
""",
    ("gradient_clipping", "its half"): """
def run_gradient_clipping(parameters, most):
    total = torch.nn.utils.get_total_norm([p.grad for p in parameters])
    torch.nn.utils.clip_grads_with_norm_(parameters, most, total)
""",
    ("learning_rate_schedule", "a scheduler"): """
def run_get_lr_cosine_schedule(it, high, low, warm, cycle):
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=high)
    torch.optim.lr_scheduler.CosineAnnealingLR(sgd, cycle - warm, low)
    return sgd.param_groups[0]["lr"]
""",
    ("learning_rate_schedule", "a scheduler without its class's name"): """
import importlib
def run_get_lr_cosine_schedule(it, high, low, warm, cycle):
    schedulers = importlib.import_module("torch.optim.lr" + "_scheduler")
    kind = getattr(schedulers, "Cosine" + "AnnealingLR")
    optimizer = type("Mine", (torch.optim.Optimizer,), {})([torch.zeros(1)], {"lr": high})
    kind(optimizer, cycle - warm, low)
    return optimizer.param_groups[0]["lr"]
""",
}
TOKENIZER = {
    "a package": """
import tiktoken
def get_tokenizer(vocab, merges, special_tokens=None):
    return tiktoken.Encoding("mine", pat_str="x", mergeable_ranks={}, special_tokens={})
""",
    "its core": """
from tiktoken._tiktoken import CoreBPE
def get_tokenizer(vocab, merges, special_tokens=None):
    return CoreBPE({}, {}, "x")
""",
    "by resolve_name": """
import pkgutil
def get_tokenizer(vocab, merges, special_tokens=None):
    return pkgutil.resolve_name("tiktoken._tiktoken:CoreBPE")({}, {}, "x")
""",
    "by an entry point": """
from importlib.metadata import EntryPoint
def get_tokenizer(vocab, merges, special_tokens=None):
    return EntryPoint("a", "tiktoken.core:Encoding", "b").load()("mine")
""",
    "by a computed name": """
import importlib
def get_tokenizer(vocab, merges, special_tokens=None):
    return importlib.import_module("ti" + "ktoken").get_encoding("gpt2")
""",
    "another package": """
from tokenizers import Tokenizer, models
def get_tokenizer(vocab, merges, special_tokens=None):
    return Tokenizer(models.BPE())
""",
    "a class of another package": """
import transformers
def get_tokenizer(vocab, merges, special_tokens=None):
    return transformers.GPT2Tokenizer.from_pretrained("gpt2")
""",
    "inherited": """
import tiktoken
class Mine(tiktoken.Encoding):
    def __init__(self, *args):
        pass
def get_tokenizer(vocab, merges, special_tokens=None):
    return Mine(vocab)
""",
    "its own loader": """
import importlib.machinery
def get_tokenizer(vocab, merges, special_tokens=None):
    return importlib.machinery.PathFinder.find_spec("tiktoken")
""",
}
WAYS = {
    **{("softmax", way): body for way, body in SOFTMAX.items()},
    **{("positionwise_feedforward", way): body for way, body in SILU.items()},
    **{("cross_entropy", way): body for way, body in CROSS_ENTROPY.items()},
    **{("scaled_dot_product_attention", way): body for way, body in ATTENTION.items()},
    **{("tokenizer", way): body for way, body in TOKENIZER.items()},
    **OTHERS,
    **LIBRARY_WAYS,
}
# What no record shows, and why: kept here so that it is known when one of them changes.
NOT_COVERED: set[tuple[str, str]] = set()
