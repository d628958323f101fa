"""Ways to a ready-made answer in a case whose operators are not recorded."""

CALLS = {
    "positionwise_feedforward": {
        "a function": "torch.nn.functional.silu(x)",
        "an operator": "torch.ops.aten.silu(x)",
        "an overload": "torch.ops.aten.silu.default(x)",
        "the operator in place": "torch.ops.aten.silu_(x.clone())",
        "a gate": "torch.nn.functional.glu(torch.cat([x, x], -1), -1)",
        "a layer": "torch.nn.SiLU()(x)",
        "a compiled function": "torch.compile(torch.nn.functional.silu)(x)",
        "the operators by name": 'getattr(torch.ops.aten, "si" + "lu")(x)',
        "a part of torch": "torch.nn.init.torch.ops.aten.silu(x)",
        "the inner module": "torch._C._nn.silu(x)",
    },
    "softmax": {
        "a function": "torch.softmax(x, dim)",
        "a method": "x.softmax(dim)",
        "an unbound method": "torch.Tensor.softmax(x, dim)",
        "a method by name": 'getattr(x, "softmax")(dim)',
        "a method caller": '__import__("operator").methodcaller("softmax", dim)(x)',
        "a logarithm": "x.log_softmax(dim).exp()",
        "a special function": "torch.special.softmax(x, dim)",
        "a private function": "torch._softmax(x, dim, False)",
        "a function of functions": "torch.vmap(lambda row: torch.softmax(row, 0))(x)",
        "a layer": "torch.nn.Softmax(dim)(x)",
        "a script": "torch.jit.script(torch.nn.Softmax(dim))(x)",
    },
    "linear": {
        "a function": "torch.nn.functional.linear(x, weights)",
        "a function of functions": "torch.vmap(torch.nn.functional.linear, (0, None))(x, weights)",
    },
    "gelu": {"a function": "torch.nn.functional.gelu(x)"},
    "scaled_dot_product_attention": {
        "a function": "torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        "an operator": "torch.ops.aten.scaled_dot_product_attention(q, k, v)",
        "a private function": "torch._scaled_dot_product_attention_math(q, k, v)[0]",
    },
    "embedding": {
        "a function": "torch.nn.functional.embedding(ids, weights)",
        "an older function": "torch.embedding(weights, ids)",
    },
}
HEADS = {
    "positionwise_feedforward": "run_silu(x)",
    "softmax": "run_softmax(x, dim)",
    "linear": "run_linear(d_in, d_out, weights, x)",
    "gelu": "run_gelu(x)",
    "scaled_dot_product_attention": "run_scaled_dot_product_attention(q, k, v, mask=None)",
    "embedding": "run_embedding(vocab_size, d_model, weights, ids)",
}
UNRECORDED_WAYS = {
    (problem, f"{name}, not recorded"): f"def {HEADS[problem]}:\n    return {expression}\n"
    for problem, expressions in CALLS.items()
    for name, expression in expressions.items()
}
