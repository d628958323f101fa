"""The adapters of a submission that tries, one function each, what has to cross the border."""

ADAPTERS = """
import gc
import multiprocessing
import os
import signal
import socket
import time

import numpy as np
import torch


@torch.compile(fullgraph=True, mode="max-autotune")
def compiled(x):
    return not torch.compiler.is_compiling(), 2 * x


def compiled_names():
    model = torch.compile(torch.nn.Linear(1, 1))
    model.train(False)
    return list(model.state_dict()), model._orig_mod.training


def take_one(items):
    return next(items)


def echo(*args, **kwargs):
    return [*args, *kwargs.values()]


def kinds(*args):
    return [type(arg).__name__ for arg in args]


def masked_attention(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v


def answer_and_linger():
    channel = next(one for one in gc.get_objects() if type(one).__name__ == "Channel"
                   and one.connection.fileno() >= 0)
    answer = {"op": "result", "call": 0, "value": 42, "outputs": []}
    channel.send(answer)
    time.sleep(1000)


def exponential_in_place(x):
    x -= 1.0
    return x.exp()


def adamw():
    return torch.optim.AdamW


def clip(parameters, limit):
    total = 0
    kept = [p for p in parameters if p.grad is not None]
    for p in kept:
        total += (p.grad ** 2).sum()
    for p in kept:
        p.grad = p.grad * limit / total.sqrt()


def save(model, optimizer, iteration, out):
    torch.save([model.state_dict(), optimizer.state_dict(), iteration], out)


def shrink_state(optimizer):
    for group in optimizer.param_groups:
        group["fused"] = True
    for entries in optimizer.state.values():
        entries["exp_avg"] = entries["exp_avg"].flatten()[:1]


def load(src, model, optimizer):
    model_state, optimizer_state, iteration = torch.load(src)
    model.load_state_dict(model_state)
    optimizer.load_state_dict(optimizer_state)
    return iteration


class Tokenizer:
    def encode(self, text):
        return [ord(c) for c in text]

    def encode_iterable(self, texts):
        for text in texts:
            yield from self.encode(text)


def failing():
    yield 1
    yield 2
    raise ValueError("no third")


def tokenizer():
    return Tokenizer()


def total(array):
    return type(array).__name__, int(np.asarray(array[-10:]).sum())


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Words:
    def __iter__(self):
        return iter(["one", "two"])


def endless():
    while True:
        yield 1


def words():
    return Words()


def fraction():
    from fractions import Fraction

    return Fraction(1, 4)


def ask_for_logits(model, ids):
    logits = model(ids)
    logits[..., 0] = float("-inf")
    return model(logits.argmax(-1)), logits


def call_with(function, value):
    return function(object() if value is None else value)


def random_numbers():
    return torch.rand(3)


def raise_exit():
    raise SystemExit(0)


def exit_now():
    os._exit(0)


def pools():
    for _ in range(20):
        with multiprocessing.Pool(2) as pool:
            pool.map(abs, [1])
    return signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def change_everything():
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    open("left behind", "w").close()
    os.makedirs("folder/within")
    os.chdir("folder")


def state():
    return torch.get_default_dtype(), torch.is_grad_enabled(), os.listdir()


remembered = []


def remember():
    remembered.append(1)
    return len(remembered)


def hold_every_connection():
    socket.socket.close = lambda self: None
    time.sleep(1000)


def write_rubbish():
    import gc
    import socket

    for found in gc.get_objects():
        if isinstance(found, socket.socket) and found.fileno() >= 0:
            found.sendall(b"\\xff" * 1000)
    return None
"""
