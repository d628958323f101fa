"""Ways to a ready-made answer by what a library hands over, at import or outside Python."""

ADAMW = {
    "torch's class": "def get_adamw_cls():\n    return torch.optim.AdamW\n",
    "an empty subclass": """
class AdamW(torch.optim.AdamW):
    pass
def get_adamw_cls():
    return AdamW
""",
    "a subclass that changes nothing of it": """
class AdamW(torch.optim.AdamW):
    def zero_grad(self, set_to_none=True):
        super().zero_grad(set_to_none)
def get_adamw_cls():
    return AdamW
""",
    "its private step": """
class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, torch.optim.AdamW([torch.nn.Parameter(x0)], lr=lr).defaults)
    def step(self):
        torch.optim.AdamW.step(self)
def get_adamw_cls():
    return AdamW
""",
}
CLIPPING = {
    "torch's function": "run_gradient_clipping = torch.nn.utils.clip_grad_norm_\n",
    "a function that bounds norms": """
def run_gradient_clipping(parameters, most):
    for p in parameters:
        p.grad.copy_(torch.renorm(p.grad[None], 2, 0, most)[0])
""",
    "torch's partial": """
import functools
run_gradient_clipping = functools.partial(torch.nn.utils.clip_grad_norm_, norm_type=2.0)
""",
}
SCHEDULE = {
    "an unbound method": """
from types import SimpleNamespace
def run_get_lr_cosine_schedule(it, most, least, warmup, cycle):
    schedule = SimpleNamespace(last_epoch=it - warmup, base_lrs=[most], eta_min=least,
                               T_max=cycle - warmup)
    return torch.optim.lr_scheduler.CosineAnnealingLR._get_closed_form_lr(schedule)[0]
""",
}
SILU = {
    "a library by torch's own ctypes": """
import os
def run_silu(x):
    library = torch._ops.ctypes.CDLL(os.path.join(torch.__path__[0], "lib", "libtorch_cpu.so"))
    return x * torch.sigmoid(x)
""",
    "a library by NumPy": """
import os
import numpy as np
def run_silu(x):
    np.ctypeslib.load_library("libtorch_cpu", os.path.join(torch.__path__[0], "lib"))
    return x * torch.sigmoid(x)
""",
    "a library as it is imported": """
import importlib
foreign = importlib.import_module("ctypes").CDLL(None)
def run_silu(x):
    return x * torch.sigmoid(x)
""",
    "another process as it is imported": """
import subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
def run_silu(x):
    return x * torch.sigmoid(x)
""",
    "a graph that is traced as it is imported": """
from torch.fx.experimental.proxy_tensor import make_fx
graph = make_fx(torch._decomp.decompositions.silu)(torch.ones(3, 4))
def run_silu(x):
    return graph(x)
""",
    "a table that is made as it is imported": """
table = torch.nn.functional.silu(torch.linspace(-9, 9, 9999))
def run_silu(x):
    return table[((x + 9) / 18 * 9998).long()]
""",
}
SOFTMAX = {
    "the sum of exponentials": """
def run_softmax(x, dim):
    return torch.exp(x - torch.logsumexp(x, dim, keepdim=True))
""",
    "a gradient": """
def run_softmax(x, dim):
    with torch.enable_grad():
        y = x.detach().requires_grad_()
        return torch.autograd.grad(torch.logsumexp(y, dim).sum(), y)[0]
""",
}
CROSS_ENTROPY = {
    "a loss of sequences": """
def run_cross_entropy(x, t):
    x = torch.cat([torch.full((3, 1), -1e30), x - x.logsumexp(1, keepdim=True)], 1)[None]
    one = torch.ones(3, dtype=torch.long)
    return torch.ctc_loss(x, (t + 1)[:, None], one, one, 0, 0).mean()
""",
}
LINEAR = {
    "a convolution": """
def run_linear(d_in, d_out, weights, x):
    return torch.conv1d(x.reshape(-1, d_in, 1), weights[:, :, None]).reshape(-1, d_out)
""",
    "another engine's operator": """
class Function(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        return torch.ops.mkldnn._linear_pointwise(x, w, None, "none", [], "")
    @staticmethod
    def backward(ctx, grad):
        return grad, None
def run_linear(d_in, d_out, weights, x):
    return Function.apply(x, weights)
""",
    "a layer of einops": """
from einops.layers.torch import EinMix
def run_linear(d_in, d_out, weights, x):
    layer = EinMix("b i -> b o", weight_shape="o i", i=d_in, o=d_out)
    layer.load_state_dict({"weight": weights})
    return layer(x)
""",
}
LIBRARY_WAYS = {
    (problem, name): body
    for problem, ways in (
        ("adamw", ADAMW),
        ("gradient_clipping", CLIPPING),
        ("learning_rate_schedule", SCHEDULE),
        ("positionwise_feedforward", SILU),
        ("softmax", SOFTMAX),
        ("cross_entropy", CROSS_ENTROPY),
        ("linear", LINEAR),
    )
    for name, body in ways.items()
}
