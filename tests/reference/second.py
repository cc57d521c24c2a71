"""Writes the expected second derivatives, in double precision, into second.safetensors next to this script.

    python tests/reference/second.py

With the gradients g of sum(y * r), a case has the inputs, g, and the gradients of sum(g * v). `r` and `v` are the
weights of `weights`, so that src/reference/second.rs can compute them.
"""

import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

torch.manual_seed(0)
out = {}


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def rand(*shape):
    return torch.rand(*shape, dtype=torch.float64) + 0.5


def weights(like, step):
    values = [0.6 + math.sin(step * i) for i in range(like.numel())]
    return torch.tensor(values, dtype=torch.float64).reshape(like.shape)


def case(name, f, *inputs):
    inputs = [x.clone().requires_grad_(True) for x in inputs]
    y = f(*inputs)
    first = torch.autograd.grad((y * weights(y, 0.7)).sum(), inputs, create_graph=True, allow_unused=True, materialize_grads=True)
    total = sum((g * weights(g, 0.9)).sum() for g in first)
    second = [torch.zeros_like(x) for x in inputs]
    if total.requires_grad:
        second = torch.autograd.grad(total, inputs, allow_unused=True, materialize_grads=True)
    for i, x in enumerate(inputs):
        out[f"{name}.x.{i}"] = x
        out[f"{name}.first.{i}"] = first[i]
        out[f"{name}.second.{i}"] = second[i]


x, p = randn(2, 3), rand(2, 3)
for name in ["exp", "sin", "cos", "erf", "square", "abs", "sigmoid", "tanh", "sign", "floor"]:
    case(name, getattr(torch, name), x)
for name in ["log", "sqrt", "reciprocal"]:
    case(name, getattr(torch, name), p)
case("relu", F.relu, x)
case("leaky_relu", lambda x: F.leaky_relu(x, 0.2), x)
case("elu", lambda x: F.elu(x, 0.7), x)
case("gelu", F.gelu, x)
case("silu", F.silu, x)
case("clamp", lambda x: torch.clamp(x.exp(), 0.5, 1.5), x)
case("cube", lambda x: x**3, x)
case("pow4", lambda x: x**4, x)
case("pow2.5", lambda x: x**2.5, p)
case("rpow", lambda x: 2.0**x, x)
case("rsub_rdiv", lambda x: (3.0 - x) / 2.0 * (2.0 / x) + 1.0, p)
case("max_number", lambda x: torch.maximum(x.exp(), torch.tensor(1.1)), x)
case("min_number", lambda x: torch.minimum(x.exp(), torch.tensor(1.1)), x)

row, column = rand(3), rand(2, 1)
for name in ["add", "sub", "mul", "div", "pow"]:
    case(name, getattr(torch, name), p, row)
case("mul_column", torch.mul, column, row)
case("maximum", torch.maximum, x.exp(), row)
case("minimum", torch.minimum, x.exp(), row)
case("where", lambda a, b: torch.where(a > 1, a * b, b.exp()), p, row)
case("same", lambda x: x * x.exp() + x / x**2, p)

y = randn(2, 3, 4)
case("sum", lambda x: x.exp().sum((0, 2)), y)
case("mean", lambda x: (x**2).mean(1, keepdim=True), y)
case("var", lambda x: x.exp().var(1), y)
case("std", lambda x: x.exp().std(2), y)
case("norm", lambda x: x.norm(dim=1), y)
case("max", lambda x: (x**3).max(1).values, y)
case("min", lambda x: (x**3).min(2).values, y)
case("max_all", lambda x: (x**3).max(), y)
case("cumsum", lambda x: x.exp().cumsum(1), y)
case("flip", lambda x: x.exp().flip((0, 2)), y)
case("gather", lambda x: x.exp().gather(2, torch.tensor([0, 3, 3]).expand(2, 3, 3)), y)
case("index_select", lambda x: x.exp().index_select(1, torch.tensor([2, 0, 2])), y)
case("cat", lambda a, b: torch.cat([a.exp(), b * a, b], 1), x, p)
case("views", lambda x: x.exp().transpose(0, 2).narrow(0, 1, 2).reshape(2, -1)[1].exp(), y)
case("permute", lambda x: x.exp().permute(2, 0, 1).unsqueeze(1).expand(4, 2, 2, 3).exp(), y)

case("matmul", torch.matmul, randn(2, 3), randn(3, 4))
case("matmul_batch", torch.matmul, randn(5, 2, 3), randn(3, 4))
case("linear", lambda x, w, b: F.linear(x, w, b).tanh(), randn(5, 2, 3), randn(4, 3), randn(4))
case("softmax", lambda x: x.softmax(-1), y)
case("softmax_columns", lambda x: x.softmax(0), randn(3, 9))
case("log_softmax", lambda x: x.log_softmax(1), y)
case("log_softmax_columns", lambda x: x.log_softmax(0), randn(3, 9))
case("conv2d", lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2), randn(2, 4, 5, 6), randn(6, 2, 3, 2), randn(6))
case("conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1), randn(2, 3, 4, 3), randn(3, 2, 3, 3))
case("conv1d", lambda x, w: F.conv1d(x, w, dilation=2), randn(2, 3, 7), randn(2, 3, 2))
case("avg_pool2d", lambda x: F.avg_pool2d(x.exp(), 2), randn(1, 2, 4, 5))
case("max_pool2d", lambda x: F.max_pool2d(x.exp(), 2), randn(1, 2, 4, 5))
case("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b), y, rand(4), randn(4))
case("rms_norm", lambda x, w: F.rms_norm(x, (4,), w, 1e-5), y, rand(4))
case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b), randn(2, 4, 3), rand(4), randn(4))
images = randn(3, 2, 4, 5)
case("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True), images, rand(2), randn(2))
mean, var = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
case("batch_norm_eval", lambda x, w, b: F.batch_norm(x, mean, var, w, b), images, rand(2), randn(2))
tokens = torch.tensor([[1, 0, 2], [2, 2, 4]])
case("embedding", lambda w: F.embedding(tokens, w).exp(), randn(5, 2))

logits, classes, of_classes = randn(4, 3), torch.tensor([2, 0, 1, 1]), rand(3)
case("cross_entropy", lambda x: F.cross_entropy(x, classes), logits)
case("cross_entropy_smooth", lambda x: F.cross_entropy(x, classes, of_classes, ignore_index=0, label_smoothing=0.1), logits)
case("cross_entropy_probabilities", lambda x, y: F.cross_entropy(x, y), logits, randn(4, 3).softmax(1))
case("cross_entropy_images", lambda x: F.cross_entropy(x, classes.reshape(2, 2)), randn(2, 3, 2))
out["of_classes"] = of_classes
case("nll_loss", lambda x: F.nll_loss(x.log_softmax(1), classes), logits)
a, b = randn(3, 4), randn(3, 4)
case("mse_loss", lambda a, b: F.mse_loss(a, b), a, b)
case("l1_loss", lambda a, b: F.l1_loss(a.exp(), b), a, b)
case("huber_loss", lambda a, b: F.huber_loss(a, b, delta=0.8), a, b)
case("smooth_l1_loss", lambda a, b: F.smooth_l1_loss(a, b, beta=0.8), a, b)
case("bce_with_logits", lambda a, b: F.binary_cross_entropy_with_logits(a, b), a, b.sigmoid())
case("kl_div", lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1)), a, b)


def network(x, w, b, v):
    return F.cross_entropy(F.gelu(F.linear(x, w, b)) @ v.t(), torch.tensor([0, 2, 1]))


case("network", network, randn(3, 4), randn(5, 4), randn(5), randn(3, 5))


# The gradient penalty of WGAN-GP, whose gradients with respect to the weights are second derivatives.
def penalty(x, w, b, v):
    score = F.linear(F.leaky_relu(F.linear(x, w, b), 0.2), v).sum()
    (slope,) = torch.autograd.grad(score, x, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


inputs = [randn(4, 3), randn(5, 3), randn(5), randn(1, 5)]
inputs = [x.requires_grad_(True) for x in inputs]
value = penalty(*inputs)
gradients = torch.autograd.grad(value, inputs, allow_unused=True, materialize_grads=True)
out["penalty.value"] = value
for i in range(4):
    out[f"penalty.x.{i}"], out[f"penalty.gradient.{i}"] = inputs[i], gradients[i]


def recurrent(function, x, w, u, b, c, *state):
    """Returns the outputs of all steps and the last states, one after the other."""
    params = [w, u, b, c]
    before = state[0].unsqueeze(1) if len(state[0]) == 2 else state[0]
    before = tuple(before) if len(before) == 2 else before
    y, *last = function(x, before, params, True, 1, 0.0, True, False, False)
    return torch.cat([y, *last])


def padded_gru(lengths, x, w, u, b, c, state):
    """Goes from the last step to the first. Padding leaves the state unchanged, and has the output 0."""
    h, outputs = state[0], []
    for t in reversed(range(len(x))):
        (a, d, e), (f, g, i) = F.linear(x[t], w, b).chunk(3, 1), F.linear(h, u, c).chunk(3, 1)
        z = (d + g).sigmoid()
        new = (1 - z) * torch.tanh(e + (a + f).sigmoid() * i) + z * h
        valid = (t < lengths).unsqueeze(1)
        outputs.insert(0, torch.where(valid, new, 0.0))
        h = torch.where(valid, new, h)
    return torch.stack([*outputs, h])


def heads(x):
    """Returns the attention of two heads to themselves, from their projections."""
    q, k, v = (part.reshape(2, 4, 2, 3).transpose(1, 2) for part in x.chunk(3, 2))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 4, 6)


for name, gates, states in [("rnn_tanh", 1, 1), ("rnn_relu", 1, 1), ("lstm", 4, 2), ("gru", 3, 1)]:
    sizes = [(4, 2, 3), (gates * 3, 3), (gates * 3, 3), (gates * 3,), (gates * 3,), (states, 2, 3)]
    function = getattr(torch._VF, name)
    case(name, lambda *x: recurrent(function, *x), *(randn(*size) for size in sizes))
sizes = [(4, 2, 3), (9, 3), (9, 3), (9,), (9,), (1, 2, 3)]
case("gru_padded", lambda *x: padded_gru(torch.tensor([4, 2]), *x), *(randn(*size) for size in sizes))
with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    q, k, v = randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 4)
    case("attention", F.scaled_dot_product_attention, q, k, v)
    hidden = torch.tensor([[1, 1, 0, 1, 1], [1, 0, 1, 1, 0]], dtype=torch.bool).unsqueeze(1)
    case("attention_masked", lambda *x: F.scaled_dot_product_attention(*x, attn_mask=hidden), q, k, v)
    case("attention_heads", heads, randn(2, 4, 18))

tensors = {key: value.detach().clone().contiguous() for key, value in out.items()}
save_file(tensors, Path(__file__).parent / "second.safetensors")
print(len({key.split(".x.")[0] for key in tensors if ".x." in key}), "cases")
