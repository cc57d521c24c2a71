"""Writes random cases for functions, layers, losses, optimisers and schedules, with PyTorch's results in
double precision.

    pip install torch==2.15.0 numpy==2.4.6 safetensors==0.8.0
    python tests/reference/cases.py                         # the stored cases
    python tests/reference/cases.py --seed 7 --out new.safetensors
    TAPER_CASES=new.safetensors cargo test -p taper --lib reference::cases

A case is one line: the operation, PyTorch's function of the inputs, the inputs, the settings. It is compared by
the arm of that name in src/reference/cases. Its values follow each other in one tensor: inputs, the parameters
of a layer, outputs, then the gradients of sum(y * r) over all outputs y with r[i] = 0.6 + sin(0.7 i). In double
precision the results must agree to the digits that are stored. In single precision the tolerance of a result is the
largest of four: eight times PyTorch's own error, four times the largest relative error of PyTorch in the case, 32
units in the last place of the result's largest value, and 2 units in the last place of the largest value of the case.
"""

import argparse
import math
import random
from pathlib import Path

import torch
from torch.nn import functional as F

import layer_cases
import training_cases
from case import case, cases, randn, save


def activations(rng):
    for _ in range(8):
        x = randn(*(rng.randint(1, 6) for _ in range(rng.randint(1, 3))), scale=3.0)
        slope, alpha = rng.uniform(0.001, 0.5), rng.uniform(0.2, 2.0)
        case("relu", F.relu, [x])
        case("sigmoid", torch.sigmoid, [x])
        case("tanh", torch.tanh, [x])
        case("gelu", F.gelu, [x])
        case("silu", F.silu, [x])
        case("leaky_relu", lambda x: F.leaky_relu(x, slope), [x], [slope])
        case("elu", lambda x: F.elu(x, alpha), [x], [alpha])
    for _ in range(20):
        shape = [rng.randint(1, 7) for _ in range(rng.randint(1, 4))]
        x, dim = randn(*shape, scale=4.0, shift=rng.choice([0, 50])), rng.randrange(len(shape))
        case("softmax", lambda x: F.softmax(x, dim), [x], [dim])
        case("log_softmax", lambda x: F.log_softmax(x, dim), [x], [dim])


def linear(rng):
    for _ in range(30):
        ins, outs = rng.randint(1, 20), rng.randint(1, 9)
        inputs = [randn(*(rng.randint(1, 5) for _ in range(rng.randint(0, 2))), ins), randn(outs, ins)]
        case("linear", F.linear, inputs + [randn(outs)] * rng.randint(0, 1))


def convolutions(rng):
    while sum(c["op"] == "conv2d" for c in cases) < 80:
        groups = rng.choice([1, 1, 2])
        ins, outs = groups * rng.randint(1, 2), groups * rng.randint(1, 3)
        kernel, size = [rng.randint(1, 3) for _ in range(2)], [rng.randint(1, 7) for _ in range(2)]
        stride, padding, dilation = ([rng.randint(low, high) for _ in range(2)] for low, high in [(1, 3), (0, 2), (1, 2)])
        if any(size[i] + 2 * padding[i] < dilation[i] * (kernel[i] - 1) + 1 for i in range(2)):
            continue
        inputs = [randn(rng.randint(1, 2), ins, *size), randn(outs, ins // groups, *kernel)]
        inputs += [randn(outs)] * rng.randint(0, 1)
        f = lambda *x: F.conv2d(*x, **({} if len(x) == 3 else {"bias": None}), stride=stride, padding=padding,
                                dilation=dilation, groups=groups)
        case("conv2d", f, inputs, [*stride, *padding, *dilation, groups])


def sequences(rng):
    while sum(c["op"] == "conv1d" for c in cases) < 30:
        groups = rng.choice([1, 1, 2])
        ins, outs, kernel, size = groups * rng.randint(1, 2), groups * rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 7)
        stride, padding, dilation = (rng.randint(low, high) for low, high in [(1, 3), (0, 2), (1, 2)])
        if size + 2 * padding < dilation * (kernel - 1) + 1:
            continue
        inputs = [randn(rng.randint(1, 2), ins, size), randn(outs, ins // groups, kernel)]
        inputs += [randn(outs)] * rng.randint(0, 1)
        f = lambda *x: F.conv1d(*x, **({} if len(x) == 3 else {"bias": None}), stride=stride, padding=padding,
                                dilation=dilation, groups=groups)
        case("conv1d", f, inputs, [stride, padding, dilation, groups])
    for _ in range(10):
        tokens = torch.randint(5, [rng.randint(1, 4) for _ in range(rng.randint(1, 3))])
        case("embedding", F.embedding, [tokens, randn(5, rng.randint(1, 4))], kinds="ig")


def tensors(rng):
    for _ in range(12):
        shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
        dim = rng.randrange(len(shape))
        x = randn(*shape, shift=rng.choice([0, 50]))
        case("exp", torch.exp, [randn(*shape)])
        case("log", torch.log, [torch.rand(shape) + 0.1])
        case("sum", lambda x: x.sum(dim), [x], [dim])
        case("mean", lambda x: x.mean(dim), [x], [dim])
        case("max", lambda x: x.max(dim).values, [x], [dim])
        case("min", lambda x: x.min(dim).values, [x], [dim])
        case("argmax", lambda x: x.argmax(dim), [x], [dim], "f")
        case("argmin", lambda x: x.argmin(dim), [x], [dim], "f")
        inputs = []
        for _ in range(rng.randint(1, 7)):
            shape[dim] = rng.randint(1, 6)
            inputs.append(randn(*shape))
        case("cat", lambda *x: torch.cat(x, dim), inputs, [dim])
    for _ in range(30):
        rows, depth, columns = (rng.randint(1, 14) for _ in range(3))
        batch = [rng.randint(1, 3) for _ in range(rng.randint(0, 2))]
        case("matmul", torch.matmul, [randn(*batch, rows, depth), randn(*batch, depth, columns)])


def pooling(rng):
    for _ in range(30):
        kernel = [rng.randint(1, 4) for _ in range(2)]
        stride, padding = [rng.randint(1, 4) for _ in range(2)], [rng.randint(0, k // 2) for k in kernel]
        x = randn(rng.randint(1, 2), rng.randint(1, 3), *(rng.randint(k, 9) for k in kernel))
        settings = [*kernel, *stride, *padding]
        case("max_pool2d", lambda x: F.max_pool2d(x, kernel, stride, padding), [x], settings)
        case("avg_pool2d", lambda x: F.avg_pool2d(x, kernel, stride, padding), [x], settings)
    for _ in range(20):
        size = [rng.randint(1, 5) for _ in range(2)]
        x = randn(rng.randint(1, 2), rng.randint(1, 3), rng.randint(1, 9), rng.randint(1, 9))
        case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, size), [x], size)


def norms(rng):
    for _ in range(30):
        features, eps, shift = rng.randint(2, 40), 10 ** rng.uniform(-6, -2), rng.choice([0, 0, 3, 1000])
        x = randn(rng.randint(1, 4), features, shift=shift)
        w, b = randn(features), randn(features)
        case("layer_norm", lambda x, w, b: F.layer_norm(x, (features,), w, b, eps), [x, w, b], [eps])
        case("rms_norm", lambda x, w: F.rms_norm(x, (features,), w, eps), [x, w], [eps])
        groups = rng.randint(1, 3)
        channels = groups * rng.randint(1, 3)
        x = randn(rng.randint(1, 3), channels, rng.randint(2, 6), shift=shift)
        w, b = randn(channels), randn(channels)
        case("group_norm", lambda x, w, b: F.group_norm(x, groups, w, b, eps), [x, w, b], [groups, eps])
    for _ in range(30):
        channels, eps, momentum = rng.randint(1, 4), 10 ** rng.uniform(-6, -2), rng.uniform(0.01, 0.9)
        size, shift = rng.choice([[], [4], [1, 3], [4, 5]]), rng.choice([0, 0, 3, 1000])
        inputs = [randn(rng.randint(2, 4), channels, *size, shift=shift), randn(channels), randn(channels)]

        def f(x, w, b, training):
            mean, var = torch.zeros_like(w).detach(), torch.ones_like(w).detach()
            y = F.batch_norm(x, mean, var, w, b, training, momentum, eps)
            return (y, mean, var) if training else y

        case("batch_norm", lambda *x: f(*x, True), inputs, [eps, momentum])
        case("batch_norm_eval", lambda *x: f(*x, False), inputs, [eps])


REDUCTIONS = ["mean", "sum", "none"]


def losses(rng):
    for i in range(12):
        shape, reduction = [rng.randint(1, 6) for _ in range(rng.randint(1, 3))], i % 3
        how, setting = {"reduction": REDUCTIONS[reduction]}, rng.uniform(0.3, 2.0)
        x, y, p = randn(*shape, scale=2.0), randn(*shape), torch.rand(shape)
        case("mse_loss", lambda x, y: F.mse_loss(x, y, **how), [x, y], [reduction])
        case("l1_loss", lambda x, y: F.l1_loss(x, y, **how), [x, y], [reduction])
        case("huber_loss", lambda x, y: F.huber_loss(x, y, delta=setting, **how), [x, y], [reduction, setting])
        case("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y, beta=setting, **how), [x, y], [reduction, setting])
        case("bce_with_logits", lambda x, p: F.binary_cross_entropy_with_logits(x, p, **how), [x * 4, p], [reduction], "gf")
        w = torch.rand(shape[-1:]) * 4
        case("bce_with_logits", lambda x, p, w: F.binary_cross_entropy_with_logits(x, p, pos_weight=w, **how), [x * 4, p, w],
             [reduction], "gff")
        case("kl_div", lambda x, p: F.kl_div(x, p, **how), [x, p], [reduction], "gf")
        case("kl_div", lambda x, p: F.kl_div(x, p, reduction="batchmean"), [x, p], [3], "gf")
    for i in range(90):
        classes, batch, reduction = rng.randint(1, 6), rng.randint(1, 5), i % 3
        places = [rng.randint(1, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
        x, y = randn(batch, classes, *places, scale=4.0), torch.randint(classes, (batch, *places))
        smoothing, ignored, weighted = rng.choice([0.0, 0.1, 0.5]), rng.choice([None, -100, 0]), rng.random() < 0.5
        if ignored == -100:
            y.view(-1)[0] = ignored
        if ignored is not None and (y == ignored).all():
            y.view(-1)[0] = classes - 1
            ignored = None if classes == 1 else ignored
        how = {"reduction": REDUCTIONS[reduction]} | ({} if ignored is None else {"ignore_index": ignored})
        w = [torch.rand(classes) + 0.1] * weighted
        settings = [reduction, smoothing, math.nan if ignored is None else ignored]
        settings = [s if s == s else -1e9 for s in settings]
        kinds = "gi" + "f" * weighted
        case("cross_entropy", lambda x, y, w=None: F.cross_entropy(x, y, w, label_smoothing=smoothing, **how),
             [x, y, *w], settings, kinds)
        if i % 2:
            case("nll_loss", lambda x, y, w=None: F.nll_loss(x, y, w, **how), [x, y, *w], [reduction, 0, settings[2]], kinds)
        if i % 3 == 0:
            p = torch.rand(batch, classes, *places)
            how = {"reduction": REDUCTIONS[i // 3 % 3]}
            case("cross_entropy", lambda x, p, w=None: F.cross_entropy(x, p, w, label_smoothing=smoothing, **how),
                 [x, p, *w], [i // 3 % 3, smoothing, -1e9], "gf" + "f" * weighted)


def main():
    here = Path(__file__).parent
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--out", type=Path, default=here / "cases.safetensors")
    options = options.parse_args()
    torch.set_num_threads(1)
    functions = [activations, linear, convolutions, sequences, tensors, pooling, norms, losses]
    for generate in functions + layer_cases.ALL + training_cases.ALL:
        # Each has generators of its own, so that the cases of the others stay the same.
        torch.manual_seed(options.seed)
        generate(random.Random(options.seed))
    save(options.out)


main()
